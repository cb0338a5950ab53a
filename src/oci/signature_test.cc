#include "oci/signature.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace mist::oci {
namespace {

const crypto::Digest kManifest = crypto::sha256("manifest");
const std::string kPayload = fmt::format(
    R"({{"critical":{{"identity":{{"docker-reference":"reg.example/team/shop"}},"image":{{"docker-manifest-digest":"{}"}},"type":"cosign container image signature"}},"optional":null}})",
    kManifest.str());

Descriptor layer_of(std::string_view payload, std::string_view signature = "c2ln") {
  Descriptor layer = descriptor_of(kSimpleSigningType, payload);
  layer.annotations.emplace("dev.cosignproject.cosign/signature", signature);
  return layer;
}
std::string damage_of(std::string_view payload, std::string_view signature = "c2ln") {
  return simple_signing_claim(layer_of(payload, signature), payload).damage;
}
std::string with(std::string text, std::string_view what, std::string_view by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(SimpleSigning, WritesWhatCosignWrites) {
  const SigningPayload payload{.repository = *Repository::parse("oci://reg.example/team/shop"),
                               .digest = kManifest};
  EXPECT_EQ(payload.to_json(), kPayload);
}

TEST(SimpleSigning, ReadsBackWhatItSigned) {
  const SigningPayload payload{.repository = *Repository::parse("oci://reg.example:5000/team/shop"),
                               .digest = kManifest,
                               .signed_at = WallTime(std::chrono::seconds(1700000000)),
                               .annotations = {{"build", "7"}}};
  const std::string text = payload.to_json();
  const SignatureClaim claim = simple_signing_claim(layer_of(text), text);
  EXPECT_EQ(claim.damage, "");
  EXPECT_EQ(claim.message, text);
  EXPECT_EQ(claim.signature, "sig");
  EXPECT_EQ(claim.digest, kManifest);
  EXPECT_EQ(claim.repository, "reg.example:5000/team/shop");
  EXPECT_EQ(claim.signed_at, payload.signed_at);
  EXPECT_EQ(claim.annotations.at("build"), "7");
}

TEST(SimpleSigning, TakesTagsAndDockerHubsOtherNameAway) {
  const auto repository = [](std::string_view reference) {
    const std::string text = with(kPayload, "reg.example/team/shop", reference);
    return simple_signing_claim(layer_of(text), text).repository;
  };
  EXPECT_EQ(repository("reg.example:5000/team/shop:1.4.0"), "reg.example:5000/team/shop");
  EXPECT_EQ(repository("reg.example/shop@sha256:00"), "reg.example/shop");
  EXPECT_EQ(repository("index.docker.io/library/x"), "docker.io/library/x");
  EXPECT_EQ(repository("reg.example:443/team/shop"), "reg.example/team/shop");
  EXPECT_EQ(repository("no repository"), "no repository");
}

TEST(SimpleSigning, ReadsTimesOfCosignsAnnotations) {
  const auto time = [](std::string_view optional) {
    const std::string text = with(kPayload, "null", optional);
    return simple_signing_claim(layer_of(text), text).signed_at;
  };
  const WallTime then{std::chrono::seconds(1700000000)};
  EXPECT_EQ(time(R"({"timestamp":1700000000})"), then);
  EXPECT_EQ(time(R"({"timestamp":"1700000000"})"), then);
  EXPECT_EQ(time(R"({"timestamp":"2023-11-14T22:13:20Z"})"), then);
  for (const std::string_view bad :
       {R"({"timestamp":-1})", R"({"timestamp":9223372036854775807})", R"({"timestamp":"soon"})", "{}", "7"})
    EXPECT_EQ(time(bad), std::nullopt) << bad;
}

TEST(SimpleSigning, SaysWhatIsDamaged) {
  EXPECT_EQ(damage_of(kPayload), "");
  EXPECT_EQ(damage_of(kPayload, "%%%"), "it has no signature in base64");
  EXPECT_EQ(damage_of(kPayload, ""), "it has no signature in base64");
  EXPECT_EQ(damage_of("{"), "its payload is not a JSON object");
  EXPECT_EQ(damage_of("[]"), "its payload is not a JSON object");
  EXPECT_NE(damage_of(with(kPayload, "cosign container image signature", "other")), "");
  EXPECT_NE(damage_of(with(kPayload, kManifest.str(), "sha512:00")), "");
  // A member twice: two readers may take different ones.
  EXPECT_NE(damage_of(with(kPayload, R"("type")", R"("type":"x","type")")), "");
  EXPECT_NE(damage_of(std::string(100'000, '[')), "");
}

TEST(SignatureManifest, AddsASignatureAndKeepsTheOthers) {
  const Artifact first = signature_artifact(std::nullopt, kPayload, "one", "PEM");
  const auto document = parse_document(first.manifest, kManifestType, "it");
  ASSERT_TRUE(document.ok()) << document.error().to_line();
  const Artifact second = signature_artifact(std::get<Manifest>(*document), kPayload + " ", "two", "PEM");
  const auto both = parse_document(second.manifest, kManifestType, "it");
  ASSERT_TRUE(both.ok()) << both.error().to_line();
  const std::vector<Descriptor> layers = signature_layers(std::get<Manifest>(*both));
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(simple_signing_claim(layers[0], kPayload).signature, "one");
  EXPECT_EQ(simple_signing_claim(layers[1], kPayload + " ").signature, "two");
  EXPECT_EQ(signature_tag(kManifest), "sha256-" + kManifest.hex() + ".sig");
  // The config names every layer, as cosign wants it.
  EXPECT_NE(second.blobs.front().bytes.find(layers[0].digest.str()), std::string::npos);
}

std::string bundle_with(std::string_view statement, std::string_view more = "") {
  return fmt::format(
      R"({{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"{}"}}{}}},"dsseEnvelope":{{"payload":"{}","payloadType":"application/vnd.in-toto+json","signatures":[{{"sig":"c2ln"}}]}}}})",
      base64_encode(std::string(32, 'h')), more, base64_encode(statement));
}
const std::string kStatement = fmt::format(
    R"({{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{}"}},"annotations":{{"timestamp":"1700000000"}}}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{{}}}})",
    kManifest.hex());

TEST(Bundle, SaysWhatWasSigned) {
  const SignatureClaim claim = bundle_claim(bundle_with(kStatement));
  EXPECT_EQ(claim.damage, "");
  EXPECT_EQ(claim.message,
            fmt::format("DSSEv1 28 application/vnd.in-toto+json {} {}", kStatement.size(), kStatement));
  EXPECT_EQ(claim.signature, "sig");
  EXPECT_EQ(claim.digest, kManifest);
  EXPECT_EQ(claim.repository, "");
  ASSERT_TRUE(claim.key_hint);
  EXPECT_EQ(claim.key_hint->hex().substr(0, 4), "6868");
  EXPECT_EQ(claim.signed_at, WallTime(std::chrono::seconds(1700000000)));
}

TEST(Bundle, AnAttestationIsNoSignature) {
  const SignatureClaim claim = bundle_claim(
      bundle_with(with(kStatement, "https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1")));
  EXPECT_EQ(claim.damage, "it is no signature but an attestation of type https://slsa.dev/provenance/v1");
}

TEST(Bundle, SaysWhatIsDamaged) {
  for (const std::string& bundle :
       {std::string("{"), std::string("[]"), std::string("{}"),
        with(bundle_with(kStatement), "in-toto", "other"),
        with(bundle_with(kStatement), R"([{"sig":"c2ln"}])", R"([{"sig":"c2ln"},{"sig":"c2ln"}])"),
        with(bundle_with(kStatement), R"([{"sig":"c2ln"}])", "[]"), bundle_with("no JSON"), bundle_with("[]"),
        bundle_with(with(kStatement, R"("subject":[)", R"("subject":[{},)")),
        bundle_with(with(kStatement, kManifest.hex(), "00"))})
    EXPECT_NE(bundle_claim(bundle).damage, "") << bundle;
  EXPECT_TRUE(bundle_claim(bundle_with(kStatement, R"(,"certificate":{"rawBytes":""})")).keyless.has_value());
}

}  // namespace
}  // namespace mist::oci
