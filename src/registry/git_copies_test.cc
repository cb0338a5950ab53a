// Copies of commits that a mirror gives out: they are held against what proves them, or warned of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "registry/address_copies.h"
#include "registry/oci_fixture.h"
#include "registry/registry.h"
#include "testing/home_fixture.h"

namespace mist::registry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// mirror.example is the only place that is asked for what is at git.example.
class GitCopies : public mist::testing::HomeFixture {
 protected:
  GitCopies() {
    EXPECT_TRUE(files.make_directories(paths.config_file.parent_path(), 0700).ok());
    EXPECT_TRUE(files
                    .write(paths.config_file,
                           "apiVersion: mistletoe.dev/v1alpha1\nkind: MistletoeConfig\nspec:\n  mirrors:\n"
                           "  - {prefix: git.example, places: ['oci://mirror.example/copies'], only: true}\n")
                    .ok());
  }

  // From now on the mirror gives this out for the commit. Its digest.
  crypto::Digest publish(CopyOf what, std::string content) {
    PackageTree tree{{{"kustomization.yaml", "resources: []\n"}, {"map.yaml", std::move(content)}}};
    const PackageContent package(std::move(tree));
    const auto copy = copy_of_package(*AddressName::of("https://git.example/team.git", "deploy"),
                                      {tag_of_ref(what, commit)}, package, {.commit = commit});
    EXPECT_TRUE(copy.ok()) << copy.error().to_line();
    mirror.publish(copy->tags.front(), copy->artifact);
    return digest_of(package);
  }
  // As in another process.
  Registries& open() {
    registries = std::make_unique<Registries>(registries_on(mirror.web));
    return *registries;
  }
  Result<Fetched> fetch(const std::string& more = {}, std::string_view engine = {}) {
    Registries& all = open();
    MIST_TRY(const PackageRef reference, all.parse(named + more));
    return all.fetch(reference, Context(), engine);
  }
  Result<FetchedBase> fetch_base(const std::optional<crypto::Digest>& digest = {}) {
    return open().fetch_base(
        {.url = "https://git.example/team.git", .ref = commit, .path = "deploy", .digest = digest},
        Context());
  }
  std::vector<std::string> warnings() {
    std::vector<std::string> texts;
    for (const std::string& each : events.messages) texts.push_back(each);
    events.messages.clear();
    return texts;
  }

  const std::string commit = std::string(40, 'a');
  const std::string named = "git+https://git.example/team.git//deploy?ref=" + commit;
  testing::MemoryRegistry mirror;
  std::unique_ptr<Registries> registries;
};

TEST_F(GitCopies, APackageOfACommitIsWarnedOfUntilADigestProvesIt) {
  const crypto::Digest digest = publish(CopyOf::Package, "right");
  const auto first = fetch();
  ASSERT_TRUE(first.ok()) << first.error().to_line();
  const std::string exact = fmt::format("{}@{}", named, digest.str());
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr("nothing proves"), HasSubstr("mirror.example"),
                                            HasSubstr(commit), HasSubstr(exact))));
  // It is pinned now, for every engine.
  ASSERT_TRUE(fetch().ok());
  ASSERT_TRUE(fetch({}, "yaml").ok());
  EXPECT_THAT(warnings(), IsEmpty());
  publish(CopyOf::Package, "evil");
  ASSERT_TRUE(files.remove_all(paths.cache).ok());
  const auto changed = fetch();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Conflict);
}

TEST_F(GitCopies, ADigestOverrulesACopyThatNothingProved) {
  publish(CopyOf::Package, "evil");
  ASSERT_TRUE(fetch().ok());
  const crypto::Digest digest = publish(CopyOf::Package, "right");
  const auto right = fetch("@" + digest.str());
  ASSERT_TRUE(right.ok()) << right.error().to_line();
  EXPECT_EQ(right->digest, digest);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("nothing proves"), HasSubstr("don't trust that mirror")));
  // From now on it is the known one.
  const auto again = fetch();
  ASSERT_TRUE(again.ok()) << again.error().to_line();
  EXPECT_EQ(again->digest, digest);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(GitCopies, APackageOfACommitAndADigestIsHeldAgainstIt) {
  const crypto::Digest digest = publish(CopyOf::Package, "right");
  ASSERT_TRUE(fetch("@" + digest.str()).ok());
  EXPECT_THAT(warnings(), IsEmpty());
  const auto other = fetch("@" + crypto::sha256("other").str());
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::Conflict);
}

TEST_F(GitCopies, ABaseIsHeldAgainstTheDigestOfALock) {
  const crypto::Digest digest = publish(CopyOf::Base, "right");
  const auto right = fetch_base(digest);
  ASSERT_TRUE(right.ok()) << right.error().to_line();
  EXPECT_EQ(right->digest, digest);
  EXPECT_EQ(right->commit, commit);
  EXPECT_THAT(warnings(), IsEmpty());
  publish(CopyOf::Base, "evil");
  const auto evil = fetch_base(digest);
  ASSERT_FALSE(evil.ok());
  EXPECT_EQ(evil.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(evil.error().to_line(), AllOf(HasSubstr("is not what mistletoe.lock has"),
                                            HasSubstr("mirror.example"), HasSubstr(digest.str())));
}

TEST_F(GitCopies, ABaseWithoutADigestIsWarnedOfAndPinnedByItsCommit) {
  publish(CopyOf::Base, "right");
  ASSERT_TRUE(fetch_base().ok());
  EXPECT_THAT(warnings(), ElementsAre(AllOf(HasSubstr("nothing proves"), HasSubstr("mistctl package lock"))));
  ASSERT_TRUE(fetch_base().ok());
  EXPECT_THAT(warnings(), IsEmpty());
  publish(CopyOf::Base, "evil");
  const auto evil = fetch_base();
  ASSERT_FALSE(evil.ok());
  EXPECT_EQ(evil.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(evil.error().hint, HasSubstr("a commit never changes"));
}

}  // namespace
}  // namespace mist::registry
