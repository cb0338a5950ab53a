#include "oci/attestation.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace mist::oci {
namespace {

const crypto::Digest kAttested = crypto::sha256("manifest");
const std::string kProvenance = fmt::format(
    R"({{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{}"}}}}],"predicateType":"https://slsa.dev/provenance/v1","predicate":{{}}}})",
    kAttested.hex());

// Of nobody: as in crypto/signing_test.cc.
constexpr std::string_view kTestKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAQn1OoTjqDbSGx2D
ASm3kOu+HcOXyxdBqx06jeARUWihRANCAAS15PBY4X7XxsDdoxcxPZVizAVfdtsC
inMtTlW/H27ycoRC8hiOS59xvqkWcnpy+fajZ5UlaSEw2eU8ojNah5PZ
-----END PRIVATE KEY-----
)";

TEST(Attestation, ASignedStatementReadsBackAndVerifies) {
  const crypto::PrivateKey key = *crypto::PrivateKey::parse(kTestKey);
  const std::string bundle = signed_bundle(kProvenance, key);
  const Attestation read = read_attestation(bundle);
  const SignatureClaim& claim = read.claim;
  EXPECT_EQ(claim.damage, "");
  EXPECT_EQ(read.predicate, "https://slsa.dev/provenance/v1");
  EXPECT_EQ(claim.digest, kAttested);
  EXPECT_EQ(claim.key_hint, key.public_key().fingerprint());
  EXPECT_TRUE(key.public_key().verify(claim.message, claim.signature));
  // It is no signature of the package.
  EXPECT_EQ(bundle_claim(bundle).damage,
            "it is no signature but an attestation of type https://slsa.dev/provenance/v1");
}

TEST(Attestation, IsAlsoAnEnvelopeOrAStatementAlone) {
  const std::string envelope = fmt::format(
      R"({{"payload":"{}","payloadType":"application/vnd.in-toto+json","signatures":[{{"sig":"c2ln"}}]}})",
      base64_encode(kProvenance));
  EXPECT_EQ(read_attestation(envelope).claim.damage, "");
  EXPECT_EQ(read_attestation(envelope).claim.signature, "sig");
  EXPECT_EQ(read_attestation(kProvenance).claim.damage, "");
  EXPECT_EQ(read_attestation(kProvenance).claim.signature, "");
  for (const char* damaged : {"", "[]", "{}", R"({"payloadType":"text/plain"})"})
    EXPECT_NE(read_attestation(damaged).claim.damage, "") << damaged;
}

}  // namespace
}  // namespace mist::oci
