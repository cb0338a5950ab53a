#include "sigstore/signer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "crypto/keys.h"
#include "crypto/signing_certificate.h"
#include "oci/attestation.h"

namespace mist::sigstore {
namespace {

crypto::PrivateKey new_key(Random& random) {
  std::optional<crypto::KeyPair> pair;
  while (!pair) {
    std::array<std::byte, crypto::kKeyBytes> scalar{};
    random.fill(scalar);
    pair = crypto::p256_key(scalar);
  }
  Result<crypto::PrivateKey> key = crypto::PrivateKey::parse(pair->private_pem);
  MIST_CHECK(key.ok());
  return *std::move(key);
}

// Before anything is sent, since an entry in a log stays there for ever.
Status can_prove_time(const ChosenServices& services, const trust::TrustRoot& root) {
  const auto log = std::ranges::find_if(services.logs, [](const Service& each) { return each.version > 1; });
  if (log == services.logs.end() || (!services.timestamps.empty() && !root.timestamp_authorities.empty()))
    return {};
  return error(ErrorKind::Invalid, "nothing would prove when it was signed")
      .with_because(
          fmt::format("the transparency log {} is of version 2, whose entries have no time, and {}", log->url,
                      services.timestamps.empty() ? "the signing configuration has no timestamp authority"
                                                  : "the trust root has no timestamp authority"))
      .with_hint(services.timestamps.empty()
                     ? "name one in tsaUrls"
                     : "get the trusted_root.json that belongs to the signing configuration");
}

}  // namespace

Result<KeylessSigner> KeylessSigner::open(Dependencies dependencies, ChosenServices services,
                                          std::shared_ptr<const trust::TrustRoot> root,
                                          const IdentityToken& token, const Context& context) {
  MIST_TRY_VOID(can_prove_time(services, *root));
  crypto::PrivateKey key = new_key(dependencies.random);
  const Service& authority = services.authority;
  MIST_TRY(IssuedChain issued,
           SigningServices(dependencies.transport).certificate(authority, token, key, context));
  const auto accepted = [&]() -> Result<trust::Identity> {
    MIST_TRY(const crypto::SigningCertificate certificate,
             crypto::SigningCertificate::parse(issued.certificate));
    if (certificate.key != key.public_key())
      return error(ErrorKind::Invalid, "its certificate is for another key");
    return trust::verify_certificate(certificate, issued.between, *root, certificate.not_before);
  };
  Result<trust::Identity> identity = accepted();
  if (!identity) {
    const bool is_beside = !issued.has_promise_inside && !root->certificate_logs.empty();
    return error(ErrorKind::Invalid, "the certificate of {} can't be used", authority.url)
        .with_because(identity.error().to_line())
        .with_hint(is_beside
                       ? "it must hold the promise of a log of certificates inside: the trust root has "
                         "such logs, and a promise beside it is not verified"
                       : "the trust root (trusted_root.json) and the signing configuration must be of the "
                         "same Sigstore");
  }
  return KeylessSigner(dependencies, std::move(services), std::move(root), std::move(key),
                       *std::move(identity), std::move(issued));
}

Error KeylessSigner::unaccepted(const Error& why) const {
  std::string clocks;
  const auto certificate = crypto::SigningCertificate::parse(issued_.certificate);
  if (certificate)
    clocks = fmt::format("the certificate is valid from {} to {}, and this machine's clock shows {}",
                         format_time(certificate->not_before), format_time(certificate->not_after),
                         format_time(dependencies_.clock.now()));
  return error(ErrorKind::Invalid,
               "the signature that was made can't be verified, so it is not sent to the registry")
      .with_because(why.to_line())
      .with_hint(
          fmt::format("the trust root must be of the Sigstore that signed, and the clocks of its services "
                      "must agree: {}",
                      clocks));
}

Result<std::string> KeylessSigner::sign(std::string_view statement, const Context& context) const {
  const SigningServices ask(dependencies_.transport);
  const std::string message = oci::statement_message(statement);
  const SignedStatement is{.statement = std::string(statement),
                           .signature = key_.sign(message),
                           .certificate = issued_.certificate};
  oci::KeylessMaterial material{.certificate = issued_.certificate, .entries = {}, .timestamps = {}};
  // First what is private: an entry in a log stays there for ever.
  for (const Service& each : services_.timestamps) {
    MIST_TRY(std::string token, ask.timestamp(each, is.signature, context));
    material.timestamps.push_back(std::move(token));
  }
  for (const Service& each : services_.logs) {
    MIST_TRY(encoding::Value entry, ask.log(each, is, context));
    material.entries.push_back(std::move(entry));
  }
  std::string bundle = oci::keyless_bundle(statement, is.signature, material);
  const oci::Attestation read = oci::read_bundle(bundle);
  const auto verified = [&]() -> Status {
    if (!read.claim.damage.empty()) return error(ErrorKind::Invalid, "{}", read.claim.damage);
    MIST_CHECK(message == read.claim.message && read.claim.keyless.has_value());
    MIST_TRY([[maybe_unused]] const trust::KeylessProof proof, trust::verify_keyless(read.claim, *root_));
    return {};
  };
  if (Status status = verified(); !status) return unaccepted(status.error());
  return bundle;
}

}  // namespace mist::sigstore
