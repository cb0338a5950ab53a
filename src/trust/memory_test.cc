#include "trust/memory.h"

#include <gtest/gtest.h>

#include "base/local_fault.h"
#include "testing/temp_dir.h"

namespace mist::trust {
namespace {

class TrustMemory : public ::testing::Test {
 protected:
  // The only record that is there.
  Path record(const std::string& folder) {
    const auto entries = files.list(temp.path() / folder);
    return temp.path() / folder / entries->front().name;
  }
  mist::testing::TempDir temp;
  HostFileSystem files;
  Memory memory{files, temp.path()};
  const std::string package = "oci://reg.example/team/shop";
  const Subject subject{package, crypto::sha256("manifest")};
};

TEST_F(TrustMemory, KnowsPackagesByTheirKeys) {
  EXPECT_TRUE(memory.keys_of(package)->empty());
  ASSERT_TRUE(memory.remember(package, {"sha256:a", "sha256:b"}, LearnedBy::Use).ok());
  EXPECT_EQ(*memory.keys_of(package), (std::set<std::string>{"sha256:a", "sha256:b"}));
  EXPECT_TRUE(memory.keys_of("oci://reg.example/team/other")->empty());
  ASSERT_TRUE(memory.remember(package, {}, LearnedBy::Use).ok());
  EXPECT_TRUE(memory.keys_of(package)->empty());
}

TEST_F(TrustMemory, KnowsOfWhichKeysOneMadeASignature) {
  EXPECT_TRUE(memory.candidates_of(package)->empty());
  const Candidates candidates{{"sha256:a", "sha256:b"}, {"sha256:c", "sha256:not-remembered"}};
  ASSERT_TRUE(
      memory.remember(package, {"sha256:a", "sha256:b", "sha256:c"}, LearnedBy::Use, candidates).ok());
  EXPECT_EQ(*memory.candidates_of(package), (Candidates{{"sha256:a", "sha256:b"}}));
  ASSERT_TRUE(memory.remember(package, {"sha256:a"}, LearnedBy::Use, candidates).ok());
  EXPECT_TRUE(memory.candidates_of(package)->empty());
}

TEST_F(TrustMemory, KeepsWhatWasProved) {
  EXPECT_EQ(*memory.proofs_of(subject), std::nullopt);
  const std::vector<Proof> proofs{{.form = oci::SignatureForm::Bundle,
                                   .keys = {"sha256:a"},
                                   .algorithm = "Ed25519",
                                   .name = {},
                                   .signed_at = WallTime(std::chrono::seconds(1700000000)),
                                   .objection = {},
                                   .made_for = "oci://origin.example/team/shop"},
                                  {.form = oci::SignatureForm::Cosign,
                                   .keys = {},
                                   .algorithm = {},
                                   .name = {},
                                   .signed_at = {},
                                   .objection = "it is damaged"},
                                  {.form = oci::SignatureForm::Bundle,
                                   .keys = {},
                                   .algorithm = "ECDSA P-256",
                                   .name = {},
                                   .signed_at = WallTime(std::chrono::seconds(1700000000)),
                                   .objection = {},
                                   .made_for = {},
                                   .identity = Identity{"https://accounts.example", "a@team.example"},
                                   .root = "sha256:c"}};
  ASSERT_TRUE(memory.record(subject, proofs).ok());
  EXPECT_EQ(*memory.proofs_of(subject), std::optional(proofs));
  EXPECT_EQ(*memory.proofs_of({package, crypto::sha256("other")}), std::nullopt);
}

TEST_F(TrustMemory, RefusesARecordThatWasAltered) {
  ASSERT_TRUE(memory.remember(package, {"sha256:a"}, LearnedBy::Verifying).ok());
  const Path path = record("packages");
  std::string text = *files.read(path);
  text.replace(text.find("sha256:a"), 8, "sha256:b");
  ASSERT_TRUE(files.write(path, text).ok());
  EXPECT_EQ(memory.keys_of(package).error().kind, ErrorKind::Conflict);
  EXPECT_NE(memory.keys_of(package).error().detail<LocalFault>(), nullptr);
  ASSERT_TRUE(files.write(path, "{").ok());
  EXPECT_EQ(memory.keys_of(package).error().kind, ErrorKind::Conflict);
}

TEST_F(TrustMemory, RefusesTheRecordOfAnotherPackage) {
  ASSERT_TRUE(memory.remember(package, {"sha256:a"}, LearnedBy::Verifying).ok());
  const Path mine = record("packages");
  const std::string text = *files.read(mine);
  ASSERT_TRUE(files.remove(mine).ok());
  ASSERT_TRUE(memory.remember("oci://reg.example/team/other", {"sha256:b"}, LearnedBy::Use).ok());
  ASSERT_TRUE(files.write(record("packages"), text).ok());
  EXPECT_EQ(memory.keys_of("oci://reg.example/team/other").error().kind, ErrorKind::Conflict);
}

}  // namespace
}  // namespace mist::trust
