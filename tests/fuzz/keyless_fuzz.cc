// Keyless signatures: bundles, annotations of layers, certificates, timestamps and trust roots of Sigstore's.
// The first line says which.
#include "trust/keyless.h"

#include <array>

#include "crypto/signing_certificate.h"
#include "encoding/json.h"
#include "targets.h"
#include "testing/sigstore.h"

namespace mist::fuzz {
namespace {

const trust::TrustRoot& fuzz_root() {
  static const trust::TrustRoot root = *trust::TrustRoot::parse(
      encoding::to_json(testing::Sigstore(1).trusted_root(testing::Sigstore::Parts::All)), "root");
  return root;
}

void verify(const oci::SignatureClaim& claim) {
  if (!claim.keyless) return;
  const auto proof = trust::verify_keyless(claim, fuzz_root());
  if (!proof.ok()) return check_error(proof.error());
  if (proof->identity.issuer.find(' ') != std::string::npos || proof->identity.subject.empty())
    fail("an identity that two texts may have", proof->identity.str());
}

}  // namespace

void keyless(std::string_view bytes) {
  Input input(bytes);
  const std::string_view kind = input.line();
  if (kind == "root") {
    const auto root = trust::TrustRoot::parse(input.rest(), "fuzz");
    if (!root.ok()) return check_error(root.error());
    if (root->logs.empty() || root->authorities.empty()) fail("a trust root without a log or authority", "");
  } else if (kind == "bundle") {
    verify(oci::bundle_claim(input.rest()));
  } else if (kind == "layer") {
    oci::Descriptor layer = oci::descriptor_of(oci::kSimpleSigningType, "{}");
    for (const char* const key : {"dev.cosignproject.cosign/signature", "dev.sigstore.cosign/certificate",
                                  "dev.sigstore.cosign/bundle", "dev.sigstore.cosign/chain"})
      layer.annotations.emplace(key, input.until("\n\n"));
    verify(oci::simple_signing_claim(layer, input.rest()));
  } else if (kind == "timestamp") {
    const auto at =
        crypto::check_timestamp(input.rest(), "message", fuzz_root().timestamp_authorities.front().chain);
    if (!at.ok()) check_error(at.error());
  } else {
    const auto certificate = crypto::SigningCertificate::parse(input.rest());
    if (!certificate.ok()) return check_error(certificate.error());
    crypto::certificate_promises(input.rest(), "key");
    const std::array between{certificate->der};
    const auto issuer = crypto::check_chain(certificate->der, between, fuzz_root().authorities.front().chain,
                                            certificate->not_before);
    if (!issuer.ok()) check_error(issuer.error());
  }
}

}  // namespace mist::fuzz
