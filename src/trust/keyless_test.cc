#include "trust/keyless.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"
#include "encoding/json.h"
#include "testing/sigstore.h"

namespace mist::trust {
namespace {

using encoding::Value;
using testing::CertificateRequest;
using testing::IssuedCertificate;
using testing::Sigstore;

const WallTime kIssued{std::chrono::seconds(1'700'000'000)};
const WallTime kSigned = kIssued + std::chrono::minutes(2);
const crypto::Digest kSignedManifest = crypto::sha256("manifest");

// Making keys and certificates takes longer than all tests of one part.
const Sigstore& ours() {
  static const Sigstore sigstore(1);
  return sigstore;
}
const Sigstore& others() {
  static const Sigstore sigstore(50);
  return sigstore;
}

TrustRoot root_of(const Value& document) {
  const Result<TrustRoot> root = TrustRoot::parse(encoding::to_json(document), "trusted_root.json");
  EXPECT_TRUE(root.ok()) << root.error().to_line();
  return *root;
}

std::string payload() {
  return oci::SigningPayload{.repository = {"reg.example", "team/shop"}, .digest = kSignedManifest}.to_json();
}
std::string statement() {
  return encoding::to_json(Value::object(
      {{"_type", "https://in-toto.io/Statement/v1"},
       {"predicateType", "https://sigstore.dev/cosign/sign/v1"},
       {"subject",
        Value::array({Value::object({{"digest", Value::object({{"sha256", kSignedManifest.hex()}})}})})}}));
}

oci::SignatureClaim layer_claim(const oci::Annotations& annotations) {
  oci::Descriptor layer = oci::descriptor_of(oci::kSimpleSigningType, payload());
  layer.annotations = annotations;
  return oci::simple_signing_claim(layer, payload());
}
oci::SignatureClaim layer_claim(const CertificateRequest& request = {}, WallTime at = kSigned,
                                const Sigstore& by = ours()) {
  return layer_claim(by.sign_layer(payload(), by.issue(request), at));
}
oci::SignatureClaim bundled(const Value& bundle) { return oci::bundle_claim(encoding::to_json(bundle)); }
oci::SignatureClaim bundled(const CertificateRequest& request = {}) {
  return bundled(ours().sign_statement(statement(), ours().issue(request), kSigned));
}

std::vector<std::string> certificates_of(const Value& root, std::string_view authorities) {
  std::vector<std::string> chain;
  for (const Value& each : root.find(authorities)->as_array())
    for (const Value& certificate : each.at_path({"certChain", "certificates"})->as_array())
      EXPECT_TRUE(base64_decode(certificate.string_at("rawBytes"), chain.emplace_back()));
  return chain;
}
// The trust root whose authority names no certificate but its root.
Value with_root_alone(Value root, std::string_view authorities) {
  Value& authority = root[authorities].as_array()[0];
  const Value last = authority["certChain"]["certificates"].as_array().back();
  authority["certChain"].set("certificates", Value::array({last}));
  return root;
}

// The error; empty: it proves an identity.
std::string refusal(const oci::SignatureClaim& claim,
                    const TrustRoot& root = root_of(ours().trusted_root())) {
  EXPECT_EQ(claim.damage, "");
  const Result<KeylessProof> proof = verify_keyless(claim, root);
  return proof ? std::string() : proof.error().to_line();
}
std::string refusal(oci::SignatureClaim claim, const std::function<void(oci::KeylessClaim&)>& change) {
  change(*claim.keyless);
  return refusal(claim);
}

TEST(Keyless, ALayerOfCosignsProvesAnIdentity) {
  const auto proof = verify_keyless(layer_claim(), root_of(ours().trusted_root()));
  ASSERT_TRUE(proof.ok()) << proof.error().to_line();
  EXPECT_EQ(proof->identity, (Identity{"https://accounts.example", "release@team.example"}));
  EXPECT_EQ(proof->at, kSigned);
  EXPECT_EQ(proof->kind, crypto::KeyKind::EcdsaP256);
}

TEST(Keyless, ABundleProvesAnIdentity) {
  const auto proof =
      verify_keyless(bundled({.subject = "URI:https://ci.example/team/shop/release.yml@refs/tags/1"}),
                     root_of(ours().trusted_root()));
  ASSERT_TRUE(proof.ok()) << proof.error().to_line();
  EXPECT_EQ(proof->identity.str(),
            "https://accounts.example https://ci.example/team/shop/release.yml@refs/tags/1");
}

TEST(Keyless, AnEntryOfIntotoIsOneOfTheEnvelopeToo) {
  const IssuedCertificate by = ours().issue({});
  Value bundle = ours().sign_statement(statement(), by, kSigned);
  std::string signature;
  ASSERT_TRUE(base64_decode(
      bundle.at_path({"dsseEnvelope", "signatures"})->as_array().front().string_at("sig"), signature));
  bundle["verificationMaterial"].set(
      "tlogEntries", Value::array({ours().entry(Sigstore::intoto(statement(), signature, by), kSigned)}));
  EXPECT_EQ(refusal(bundled(bundle)), "");
  bundle["verificationMaterial"].set(
      "tlogEntries", Value::array({ours().entry(Sigstore::intoto("other", signature, by), kSigned)}));
  EXPECT_EQ(refusal(bundled(bundle)), "its log entry is about other bytes");
  // That of a bare message would say nothing about the envelope.
  bundle["verificationMaterial"].set(
      "tlogEntries",
      Value::array({ours().entry(
          Sigstore::hashedrekord(testing::envelope_message(statement()), signature, by), kSigned)}));
  EXPECT_EQ(refusal(bundled(bundle)),
            "its log entry is of a kind that is not for envelopes (it is hashedrekord 0.0.1)");
}

TEST(Keyless, AnEntryOfRekor2IsOfMessagesAndEnvelopesWithATimestamp) {
  const TrustRoot root = root_of(ours().trusted_root(Sigstore::Parts::All));
  const IssuedCertificate by = ours().issue({.promise = CertificateRequest::Promise::Good});
  const Value signed_bundle = ours().sign_statement(statement(), by, kSigned);
  const std::string signature = bundled(signed_bundle).signature;
  const auto with_entry = [&](const std::string& body) {
    Value bundle = signed_bundle;
    Value entry = ours().entry(body, kSigned);
    entry.erase("inclusionPromise");
    entry.set("integratedTime", "0");
    bundle["verificationMaterial"].set("tlogEntries", Value::array({std::move(entry)}));
    oci::SignatureClaim claim = bundled(bundle);
    claim.keyless->timestamps = {ours().timestamp(signature, kSigned)};
    return refusal(claim, root);
  };
  const std::string message = testing::envelope_message(statement());
  EXPECT_EQ(with_entry(Sigstore::hashedrekord_2(message, signature, by.der)), "");
  EXPECT_EQ(with_entry(Sigstore::hashedrekord_2(statement(), signature, by.der)),
            "its log entry is about other bytes");
  EXPECT_EQ(with_entry(Sigstore::hashedrekord_2(message, "x", by.der)),
            "its log entry is about another signature");
  EXPECT_EQ(with_entry(Sigstore::hashedrekord_2(message, signature, "x")),
            "its log entry is about another certificate");
  EXPECT_EQ(with_entry(R"({"kind":"hashedrekord","apiVersion":"0.0.2","spec":{}})"),
            "its log entry is about other bytes");
  EXPECT_EQ(with_entry(R"({"kind":"dsse","apiVersion":"0.0.2","spec":{}})"),
            "its log entry is of a kind that is not for envelopes (it is dsse 0.0.2)");
}

TEST(Keyless, ACertificateAloneSaysWhoseItIs) {
  const auto owner = [](const CertificateRequest& request, const Sigstore& by) {
    const auto certificate = crypto::SigningCertificate::parse(by.issue(request).der);
    EXPECT_TRUE(certificate.ok());
    const auto identity =
        verify_certificate(*certificate, {}, root_of(ours().trusted_root(Sigstore::Parts::All)), kIssued);
    return identity ? identity->str() : identity.error().to_line();
  };
  using Promise = CertificateRequest::Promise;
  EXPECT_EQ(owner({.promise = Promise::Good}, ours()), "https://accounts.example release@team.example");
  EXPECT_EQ(owner({}, ours()), "its certificate has no promise of a log of certificates");
  EXPECT_EQ(owner({.usage = "clientAuth", .promise = Promise::Good}, ours()),
            "its certificate is not for signing code");
  EXPECT_TRUE(owner({.promise = Promise::Good}, others())
                  .starts_with("its certificate is of no authority of the trust root ("));
}

TEST(Keyless, TheCertificateMustHaveBeenValidWhenTheLogSawIt) {
  EXPECT_EQ(refusal(layer_claim({}, kIssued)), "");
  EXPECT_EQ(refusal(layer_claim({}, kIssued + std::chrono::seconds(599))), "");
  EXPECT_EQ(refusal(layer_claim({}, kIssued + std::chrono::minutes(11))),
            "its certificate was not valid at 2023-11-14T22:24:20Z, when it was made (it was from "
            "2023-11-14T22:13:20Z to 2023-11-14T22:23:20Z)");
  EXPECT_NE(refusal(layer_claim({}, kIssued - std::chrono::seconds(1))), "");
}

TEST(Keyless, TheCertificateMustBeOfTheAuthority) {
  Value mixed = ours().trusted_root();
  mixed.set("certificateAuthorities", *others().trusted_root().find("certificateAuthorities"));
  EXPECT_EQ(refusal(layer_claim(), root_of(mixed)),
            "its certificate is of no authority of the trust root (certificate signature failure)");
  // A chain that the signature brings along leads nowhere by itself.
  oci::SignatureClaim claim = layer_claim();
  claim.keyless->chain = certificates_of(others().trusted_root(), "certificateAuthorities");
  EXPECT_EQ(refusal(claim), "");
  Value ended = ours().trusted_root();
  ended["certificateAuthorities"].as_array()[0].set(
      "validFor", Value::object({{"start", "2020-01-01T00:00:00Z"}, {"end", "2021-01-01T00:00:00Z"}}));
  EXPECT_EQ(refusal(layer_claim(), root_of(ended)),
            "its certificate is of no authority of the trust root (an authority was not trusted at "
            "2023-11-14T22:15:20Z)");
}

TEST(Keyless, AnIssuerThatTheAuthorityNoLongerHasDoesNotComeBackInTheChain) {
  oci::SignatureClaim claim = layer_claim();
  claim.keyless->chain = certificates_of(ours().trusted_root(), "certificateAuthorities");
  Value renewed = ours().trusted_root();
  renewed.set("certificateAuthorities",
              *ours().trusted_root(Sigstore::Parts::Renewed).find("certificateAuthorities"));
  EXPECT_TRUE(
      refusal(claim, root_of(renewed)).starts_with("its certificate is of no authority of the trust root ("));
  // Of an authority that only names its root, the chain says who issued it.
  EXPECT_EQ(refusal(claim, root_of(with_root_alone(ours().trusted_root(), "certificateAuthorities"))), "");
}

TEST(Keyless, TheCertificateMustSayWhoseItIsAndWhatFor) {
  EXPECT_EQ(refusal(layer_claim({.usage = "clientAuth"})), "its certificate is not for signing code");
  EXPECT_EQ(refusal(layer_claim({.usage = ""})), "its certificate is not for signing code");
  EXPECT_EQ(refusal(layer_claim({.issuer_form = CertificateRequest::Issuer::Raw})), "");
  EXPECT_EQ(refusal(layer_claim({.issuer_form = CertificateRequest::Issuer::None})),
            "its certificate doesn't say where its owner logged in (the extension 1.3.6.1.4.1.57264.1.8 is "
            "missing)");
  EXPECT_EQ(refusal(layer_claim({.subject = "DNS:team.example"})),
            "its certificate doesn't name exactly one owner (it has 0 URIs and e-mail addresses)");
  EXPECT_EQ(refusal(layer_claim({.subject = "email:a@team.example,email:b@team.example"})),
            "its certificate doesn't name exactly one owner (it has 2 URIs and e-mail addresses)");
  EXPECT_EQ(refusal(layer_claim({.issuer = "https://accounts.example x"})),
            "its certificate names its owner with characters that no identity has");
}

TEST(Keyless, TheSignatureMustBeOfTheCertificatesKey) {
  oci::SignatureClaim claim = layer_claim();
  claim.message += " ";
  EXPECT_EQ(refusal(claim), "it is not valid for the key of its certificate");
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.certificate = "x"; }),
            "its certificate can't be read (it is no X.509 certificate)");
}

TEST(Keyless, TheEntryMustBeOfALogOfTheTrustRoot) {
  Value mixed = ours().trusted_root();
  mixed.set("tlogs", *others().trusted_root().find("tlogs"));
  EXPECT_TRUE(refusal(layer_claim(), root_of(mixed))
                  .starts_with("its log entry is of a log that the trust root doesn't have (the log is "));
  // The id of our log before the key of another one.
  mixed["tlogs"].as_array()[0].set("logId",
                                   *ours().trusted_root().find("tlogs")->as_array()[0].find("logId"));
  EXPECT_EQ(refusal(layer_claim(), root_of(mixed)), "the log's promise for its entry is not valid");
  Value ended = ours().trusted_root();
  ended["tlogs"].as_array()[0]["publicKey"].set(
      "validFor", Value::object({{"start", "2020-01-01T00:00:00Z"}, {"end", "2021-01-01T00:00:00Z"}}));
  EXPECT_EQ(refusal(layer_claim(), root_of(ended)),
            "its log was not trusted at 2023-11-14T22:15:20Z (the trust root says so)");
}

TEST(Keyless, ThePromiseHoldsForThisEntryAlone) {
  const std::string refused = "the log's promise for its entry is not valid";
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.entries[0].promise[9] ^= 1; }), refused);
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.entries[0].integrated_time += 1; }), refused);
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.entries[0].index += 1; }), refused);
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.entries[0].body += " "; }), refused);
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.entries.clear(); }),
            "it has no entry of a transparency log");
  EXPECT_EQ(refusal(layer_claim(), [](auto& keyless) { keyless.entries[0].promise.clear(); }),
            "its log entry has neither a promise nor a proof of the log");
  // The time beside an entry that is only proved to be there is anybody's.
  EXPECT_EQ(refusal(bundled(), [](auto& keyless) { keyless.entries[0].promise.clear(); }),
            "nothing proves when it was made (it has neither a promise of the log nor a timestamp)");
}

TEST(Keyless, TheInclusionProofLeadsToASignedCheckpoint) {
  const std::string elsewhere = "the proof of its log entry leads to another tree";
  const auto changed = [](const std::function<void(oci::InclusionProof&)>& change) {
    return refusal(bundled(), [&](auto& keyless) { change(*keyless.entries[0].inclusion); });
  };
  EXPECT_EQ(changed([](auto&) {}), "");
  EXPECT_EQ(changed([](auto& proof) { proof.hashes[1][0] ^= 1; }), elsewhere);
  EXPECT_EQ(changed([](auto& proof) { proof.hashes.pop_back(); }), elsewhere);
  EXPECT_EQ(changed([](auto& proof) { proof.hashes.push_back(proof.hashes[0]); }), elsewhere);
  EXPECT_EQ(changed([](auto& proof) { proof.index = 3; }), elsewhere);
  EXPECT_EQ(changed([](auto& proof) { proof.index = 5; }), elsewhere);
  EXPECT_EQ(changed([](auto& proof) { proof.root[0] ^= 1; }), elsewhere);
  EXPECT_EQ(changed([](auto& proof) { proof.checkpoint.clear(); }),
            "the checkpoint of its log entry can't be read");
  EXPECT_EQ(changed([](auto& proof) { proof.checkpoint[0] = 'L'; }),
            "the checkpoint of its log entry is not signed by the log");
  EXPECT_EQ(changed([](auto& proof) {
              proof.checkpoint =
                  others().entry("x", kSigned).string_at({"inclusionProof", "checkpoint", "envelope"});
            }),
            "the checkpoint of its log entry is of another tree");
}

TEST(Keyless, TheEntryMustBeAboutThisSignature) {
  const IssuedCertificate by = ours().issue({});
  const IssuedCertificate other = ours().issue({.subject = "email:other@team.example"});
  oci::Annotations annotations = ours().sign_layer(payload(), by, kSigned);
  const auto with_entry_of = [&](const oci::Annotations& there) {
    annotations["dev.sigstore.cosign/bundle"] = there.at("dev.sigstore.cosign/bundle");
    return refusal(layer_claim(annotations));
  };
  EXPECT_EQ(with_entry_of(ours().sign_layer("other bytes", by, kSigned)),
            "its log entry is about other bytes");
  EXPECT_EQ(with_entry_of(ours().sign_layer(payload(), by, kSigned)),
            "its log entry is about another signature");
  // The same signature, since both have one key.
  oci::Annotations exchanged = ours().sign_layer(payload(), other, kSigned);
  exchanged["dev.sigstore.cosign/certificate"] = by.pem;
  EXPECT_EQ(refusal(layer_claim(exchanged)), "its log entry is about another certificate");

  Value bundle = ours().sign_statement(statement(), by, kSigned);
  const auto with_body = [&](const std::string& body) {
    bundle["verificationMaterial"].set("tlogEntries", Value::array({ours().entry(body, kSigned)}));
    return refusal(bundled(bundle));
  };
  EXPECT_EQ(with_body(Sigstore::dsse("other", "x", by)), "its log entry is about other bytes");
  EXPECT_EQ(with_body(Sigstore::dsse(statement(), "x", by)), "its log entry is about another signature");
  EXPECT_EQ(with_body("{}"), "its log entry is of a kind that is not for envelopes (it is  )");
  EXPECT_EQ(with_body("["), "the body of its log entry is not a JSON object");
}

TEST(Keyless, ALogOfCertificatesMustHavePromisedIt) {
  const TrustRoot root = root_of(ours().trusted_root(Sigstore::Parts::All));
  using Promise = CertificateRequest::Promise;
  EXPECT_EQ(refusal(layer_claim({.promise = Promise::Good}), root), "");
  EXPECT_EQ(refusal(layer_claim(), root), "its certificate has no promise of a log of certificates");
  EXPECT_EQ(refusal(layer_claim({.promise = Promise::Wrong}), root),
            "no promise in its certificate is of a log of certificates in the trust root");
  Value mixed = ours().trusted_root(Sigstore::Parts::All);
  mixed.set("ctlogs", *others().trusted_root(Sigstore::Parts::All).find("ctlogs"));
  EXPECT_EQ(refusal(layer_claim({.promise = Promise::Good}), root_of(mixed)),
            "no promise in its certificate is of a log of certificates in the trust root");
}

TEST(Keyless, ALogOfCertificatesCountsForItsTimeAlone) {
  const oci::SignatureClaim claim = layer_claim({.promise = CertificateRequest::Promise::Good});
  const auto from_to = [&](std::string_view start, std::string_view end) {
    Value root = ours().trusted_root(Sigstore::Parts::All);
    root["ctlogs"].as_array()[0]["publicKey"].set("validFor",
                                                  Value::object({{"start", start}, {"end", end}}));
    return refusal(claim, root_of(root));
  };
  const std::string refused =
      "no promise in its certificate is of a log of certificates in the trust root (a log was not trusted at "
      "2023-11-14T22:13:20Z)";
  EXPECT_EQ(from_to("2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"), "");
  EXPECT_EQ(from_to("2023-11-14T22:13:21Z", "2024-01-01T00:00:00Z"), refused);
  EXPECT_EQ(from_to("2020-01-01T00:00:00Z", "2023-11-14T22:13:19Z"), refused);
  // A promise says whatever time the holder of the log's key wants.
  const oci::SignatureClaim backdated =
      layer_claim({.promise = CertificateRequest::Promise::Good, .promised_before = std::chrono::hours(1)});
  Value root = ours().trusted_root(Sigstore::Parts::All);
  EXPECT_EQ(refusal(backdated, root_of(root)), "");
  root["ctlogs"].as_array()[0]["publicKey"].set(
      "validFor", Value::object({{"start", "2020-01-01T00:00:00Z"}, {"end", "2023-11-14T22:00:00Z"}}));
  EXPECT_EQ(refusal(backdated, root_of(root)), refused);
}

TEST(Keyless, ATimestampProvesTheTimeToo) {
  const TrustRoot root = root_of(ours().trusted_root(Sigstore::Parts::All));
  oci::SignatureClaim claim = bundled({.promise = CertificateRequest::Promise::Good});
  claim.keyless->entries[0].promise.clear();
  claim.keyless->timestamps = {ours().timestamp(claim.signature, kSigned)};
  const auto proof = verify_keyless(claim, root);
  ASSERT_TRUE(proof.ok()) << proof.error().to_line();
  EXPECT_EQ(proof->at, kSigned);
  const auto with = [&](std::string token) {
    claim.keyless->timestamps = {std::move(token)};
    return refusal(claim, root);
  };
  EXPECT_TRUE(with(ours().timestamp("another signature", kSigned))
                  .starts_with("its timestamp is of no authority of the trust root ("))
      << with(ours().timestamp("x", kSigned));
  EXPECT_TRUE(with(others().timestamp(claim.signature, kSigned))
                  .starts_with("its timestamp is of no authority of the trust root ("));
  EXPECT_EQ(with("x"), "its timestamp is of no authority of the trust root (it can't be read)");
  EXPECT_TRUE(with(ours().timestamp(claim.signature, kSigned + std::chrono::hours(1)))
                  .starts_with("its certificate was not valid at "));
}

TEST(Keyless, ATimestampIsOfTheSignerThatItsAuthorityNames) {
  oci::SignatureClaim claim = bundled({.promise = CertificateRequest::Promise::Good});
  claim.keyless->timestamps = {ours().timestamp(claim.signature, kSigned)};
  const auto with = [&](const Value* authorities) {
    Value root = ours().trusted_root(Sigstore::Parts::All);
    root.set("timestampAuthorities", *authorities);
    return refusal(claim, root_of(root));
  };
  const Value all = ours().trusted_root(Sigstore::Parts::All);
  const Value renewed = ours().trusted_root(Sigstore::Parts::Renewed);
  EXPECT_EQ(with(all.find("timestampAuthorities")), "");
  EXPECT_EQ(with(renewed.find("timestampAuthorities")),
            "its timestamp is of no authority of the trust root (its signer is not the authority's)");
  // One that leaves its signer out takes those that it issued itself.
  const Value alone = with_root_alone(all, "timestampAuthorities");
  EXPECT_EQ(with(alone.find("timestampAuthorities")), "");
  EXPECT_EQ(with(all.find("certificateAuthorities")), "");
}

TEST(Keyless, SaysWhatCannotBeRead) {
  Value bundle = ours().sign_statement(statement(), ours().issue({}), kSigned);
  Value& entry = bundle["verificationMaterial"]["tlogEntries"].as_array()[0];
  const auto with = [&](std::string_view key, Value value) {
    const Value before = *entry.find(key);
    entry.set(key, std::move(value));
    const std::string why = refusal(bundled(bundle));
    entry.set(key, before);
    return why;
  };
  EXPECT_EQ(with("integratedTime", "soon"), "integratedTime of its log entry is no number");
  EXPECT_EQ(with("integratedTime", "9999999999999"), "integratedTime of its log entry is no time");
  EXPECT_EQ(with("logIndex", -1), "logIndex of its log entry is no number");
  EXPECT_EQ(with("canonicalizedBody", "%"), "the body of its log entry is not base64");
  EXPECT_EQ(with("logId", Value::object({{"keyId", "%"}})), "the log's id is not base64");
}

TEST(TrustRootFile, SaysWhichMemberCannotBeUsed) {
  const auto because = [](const Value& document) {
    const auto root = TrustRoot::parse(encoding::to_json(document), "root.json");
    return root ? std::string() : root.error().because;
  };
  EXPECT_EQ(because(ours().trusted_root(Sigstore::Parts::All)), "");
  EXPECT_EQ(because(Value::object()), "mediaType: it is not that of a trust root");
  Value root = ours().trusted_root();
  root.erase("tlogs");
  EXPECT_EQ(because(root), "tlogs: it has none");
  root = ours().trusted_root();
  root.erase("certificateAuthorities");
  EXPECT_EQ(because(root), "certificateAuthorities: it has none");
  root = ours().trusted_root();
  root["tlogs"].as_array()[0]["publicKey"].set("rawBytes", "AAAA");
  EXPECT_TRUE(because(root).starts_with("tlogs[0]: the public key can't be used"));
  root = ours().trusted_root();
  root["tlogs"].as_array()[0]["publicKey"].erase("validFor");
  EXPECT_EQ(because(root), "tlogs[0]: publicKey.validFor has no start");
  root = ours().trusted_root();
  root["certificateAuthorities"].as_array()[0].set("validFor", Value::object({{"start", "today"}}));
  EXPECT_EQ(because(root), "certificateAuthorities[0]: validFor.start is no time");
  EXPECT_FALSE(TrustRoot::parse("{", "root.json").ok());
}

}  // namespace
}  // namespace mist::trust
