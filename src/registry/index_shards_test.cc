#include "registry/index_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fnv.h"
#include "crypto/digest.h"

namespace mist::registry {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kFirst = "{\"apiVersion\":\"mistletoe.dev/v1alpha1\",\"kind\":\"PackageIndex\"}\n";

std::string index_of(int packages, std::string_view newest = "1.0.0") {
  std::string text(kFirst);
  for (int i = 100; i < 100 + packages; ++i)
    text += fmt::format("{{\"path\":\"team/p{}\",\"version\":\"{}\"}}\n", i, i == 123 ? newest : "1.0.0");
  return text;
}

TEST(IndexShards, TogetherAreTheIndexAgain) {
  const std::string index = index_of(200);
  const std::vector<std::string> shards = index_shards(index);
  ASSERT_EQ(shards.size(), kIndexShards);
  EXPECT_THAT(shards, Each(StartsWith(std::string(kFirst))));
  EXPECT_THAT(shards[fnv1a("team/p123") % kIndexShards], HasSubstr("team/p123"))
      << "as in the index artifacts of registries";
  const auto joined = joined_index(shards);
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(*joined, index);
}

TEST(IndexShards, AChangedPackageChangesOneOfThem) {
  const std::vector<std::string> before = index_shards(index_of(200));
  const std::vector<std::string> after = index_shards(index_of(200, "2.0.0"));
  int changed = 0;
  for (std::size_t i = 0; i < kIndexShards; ++i) changed += before[i] == after[i] ? 0 : 1;
  EXPECT_EQ(changed, 1);
}

TEST(IndexShards, OfTwoIndexesAreRefused) {
  std::vector<std::string> shards = index_shards(index_of(20));
  shards[3] = "{\"kind\":\"Other\"}\n";
  EXPECT_FALSE(joined_index(shards).ok());
  shards[3].clear();
  EXPECT_FALSE(joined_index(shards).ok());
}

TEST(ShardList, IsReadAsItWasWritten) {
  const std::string digest = crypto::sha256("x").str();
  const ShardList list{.digest = digest, .shards = std::vector<std::string>(kIndexShards, digest)};
  const auto read = ShardList::parse(list.to_text());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->digest, digest);
  EXPECT_EQ(read->shards, list.shards);
  ShardList wrong = list;
  wrong.shards.pop_back();
  EXPECT_FALSE(ShardList::parse(wrong.to_text()).ok()) << "too few";
  wrong = list;
  wrong.shards[2] = "../../etc/passwd";
  EXPECT_FALSE(ShardList::parse(wrong.to_text()).ok()) << "no digest";
  EXPECT_FALSE(ShardList::parse("{}").ok());
  EXPECT_FALSE(ShardList::parse("<html>").ok());
}

}  // namespace
}  // namespace mist::registry
