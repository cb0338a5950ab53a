#include "trust/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/temp_dir.h"
#include "trust/memory.h"

namespace mist::trust {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFingerprint = "5E615389B53CA37F0EE60BD3843BBF981FC18762";
const crypto::Digest kDigest = crypto::sha256("archive");

std::string answer(std::string_view change = {}) {
  return fmt::format(
      R"({{"signer": {{"keyId": "843BBF981FC18762", "fingerprint": "{}", "identities": ["Ann <ann@team.example>"],
      "algorithm": "RSA 4096", "signedAt": 1700000000}}, "metadata": {{"name": "web", "version": "1.0.0"}},
      "files": {{"web-1.0.0.tgz": "{}"}}{}}})",
      kFingerprint, kDigest.str(), change);
}

Proof proof_of(const std::string& text,
               const ChartArchive& archive = {.name = "web", .version = "1.0.0", .digest = kDigest}) {
  const Result<CheckedProvenance> checked = checked_provenance(*encoding::parse_json(text));
  EXPECT_TRUE(checked.ok());
  return prove_provenance(*checked, archive,
                          {.file = "team.gpg", .bytes = "", .digest = crypto::sha256("ring")});
}

TEST(Provenance, ProvesItsSigner) {
  const Proof proof = proof_of(answer());
  EXPECT_EQ(proof.objection, "");
  EXPECT_EQ(proof.form, oci::SignatureForm::Helm);
  EXPECT_EQ(proof.keys, std::vector<std::string>{std::string("openpgp:") + kFingerprint});
  EXPECT_EQ(proof.user, "Ann <ann@team.example>");
  EXPECT_EQ(proof.algorithm, "RSA 4096");
  EXPECT_EQ(proof.signed_at, WallTime(std::chrono::seconds(1700000000)));
  EXPECT_EQ(proof.root, crypto::sha256("ring").str());
}

TEST(Provenance, IsForOneArchiveOfOneChart) {
  const auto objection = [](const ChartArchive& archive) { return proof_of(answer(), archive).objection; };
  EXPECT_THAT(objection({.name = "web", .version = "1.0.0", .digest = crypto::sha256("other")}),
              HasSubstr("it is for another archive"));
  // The digest's line could be copied from another chart's.
  EXPECT_EQ(objection({.name = "db", .version = "1.0.0", .digest = kDigest}),
            "it was made for the chart web 1.0.0, and this is db 1.0.0");
  EXPECT_EQ(objection({.name = "web", .version = "1.0.1", .digest = kDigest}),
            "it was made for the chart web 1.0.0, and this is web 1.0.1");
}

TEST(Provenance, NamesTheFile) {
  std::string other = answer();
  other.replace(other.find("web-1.0.0.tgz"), 13, "mine.tgz");
  EXPECT_EQ(proof_of(other).objection, "it names no file web-1.0.0.tgz");
  EXPECT_EQ(
      proof_of(other, {.name = "web", .version = "1.0.0", .digest = kDigest, .file = "mine.tgz"}).objection,
      "");
  // An old archive that got the name of a new version.
  EXPECT_EQ(
      proof_of(answer(), {.name = "web", .version = "1.0.0", .digest = kDigest, .file = "web-2.0.0.tgz"})
          .objection,
      "it names no file web-2.0.0.tgz");
}

TEST(Provenance, AFaultIsSaidInWords) {
  const Proof expired = proof_of(answer(R"(, "fault": "expiredKey")"));
  EXPECT_EQ(expired.objection, "its key has expired");
  const Proof unknown =
      proof_of(R"({"fault": "unknownKey", "signer": {"keyId": "843BBF981FC18762", "signedAt": 1700000000}})");
  EXPECT_EQ(unknown.objection, "it is of no key of the keyring (it names the key 843BBF981FC18762)");
  EXPECT_TRUE(unknown.keys.empty());
  EXPECT_EQ(proof_of(R"({"fault": "damaged", "detail": "no\nlines"})").objection,
            "its signature can't be read: no\\nlines");
  EXPECT_THAT(proof_of(R"({"fault": "new"})").objection, HasSubstr("it isn't valid (new)"));
  // Of an engine that answers nonsense.
  EXPECT_FALSE(proof_of("{}").objection.empty());
  EXPECT_FALSE(checked_provenance(encoding::Value()).ok());
}

TEST(Provenance, IsKeptWithItsArchive) {
  const mist::testing::TempDir temp;
  HostFileSystem files;
  const Memory memory(files, temp.path());
  const Subject subject{"shop/web:1.0.0", crypto::sha256("tree")};
  EXPECT_FALSE(memory.provenance_of(subject)->has_value());
  ASSERT_TRUE(
      memory.keep_provenance(subject, {"-----\ntext", {.name = "web", .version = "1.0.0", .digest = kDigest}})
          .ok());
  const auto kept = memory.provenance_of(subject);
  ASSERT_TRUE(kept.ok() && kept->has_value());
  EXPECT_EQ((*kept)->text, "-----\ntext");
  EXPECT_EQ((*kept)->archive.version, "1.0.0");
  EXPECT_EQ((*kept)->archive.digest, kDigest);
  EXPECT_FALSE(memory.provenance_of({"shop/web:1.0.1", subject.manifest})->has_value());
  // A proof comes back as it was.
  const std::vector<Proof> proofs{proof_of(answer())};
  ASSERT_TRUE(memory.record(subject, proofs).ok());
  EXPECT_EQ(**memory.proofs_of(subject), proofs);
}

}  // namespace
}  // namespace mist::trust
