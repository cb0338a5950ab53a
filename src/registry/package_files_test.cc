#include "registry/package_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::registry {
namespace {

using ::testing::HasSubstr;

PackageTree tree(const std::vector<PackageFile>& files) {
  TreeBuilder builder("a test");
  for (const PackageFile& file : files) EXPECT_TRUE(builder.add(file.path, file.bytes).ok());
  auto result = std::move(builder).finish();
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(PackageTree, DecodesWhatItEncodes) {
  const PackageTree original = tree({{"b", "two\n"}, {"a/c", std::string("\0\xff", 2)}, {"empty", ""}});
  EXPECT_EQ(original.files.front().path, "a/c");
  const auto decoded = PackageTree::decode(original.encode());
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_line();
  EXPECT_EQ(*decoded, original);
}

TEST(TreeBuilder, NoPathIsAFileAndADirectory) {
  TreeBuilder builder("oci://reg.example/shop:1.0.0");
  for (const char* const path : {"a/b/c", "a-b", "a/b", "z"}) EXPECT_TRUE(builder.add(path, "x").ok());
  const auto refused = std::move(builder).finish();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
  EXPECT_EQ(refused.error().message, "oci://reg.example/shop:1.0.0 has both a file a/b and a file a/b/c");
}

TEST(PackageTree, HasAFormatThatStays) {
  EXPECT_EQ(tree({{"b", "2"}, {"a", "11"}}).encode(), "mistletoe-tree-v1\n1 2\na111 1\nb2");
}

TEST(PackageTree, RefusesEveryOtherText) {
  const std::string good = tree({{"a", "1"}, {"b", "22"}}).encode();
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto decoded = PackageTree::decode(good.substr(0, length));
    // The only shorter text that is one ends after the first file.
    if (decoded) {
      EXPECT_EQ(decoded->encode(), good.substr(0, length));
    }
  }
  const std::string head = "mistletoe-tree-v1\n";
  for (const std::string& text :
       {head, head + "01 1\na1", head + "1 1\nb11 1\na1", head + "1 1\na11 1\na1", head + "2 1\n..x",
        head + "1 99\na1", head + "-1 1\na1", head + "18446744073709551615 1\na1", head + "1 1\na1junk",
        head + "4 0\n.git"})
    EXPECT_FALSE(PackageTree::decode(text).ok()) << text;
}

TEST(TreeBuilder, KeepsItsBounds) {
  TreeBuilder builder("the chart");
  EXPECT_EQ(builder.add("../x", "").error().kind, ErrorKind::Invalid);
  EXPECT_EQ(builder.add("/x", "").error().kind, ErrorKind::Invalid);
  ASSERT_TRUE(builder.add("big", std::string(kMaxPackageBytes, 'x')).ok());
  EXPECT_EQ(builder.room(), 0u);
  EXPECT_THAT(builder.add("more", "y").error().message, HasSubstr("the chart is larger than 64 MiB"));
  TreeBuilder many("m");
  for (std::size_t i = 0; i < kMaxPackageFiles; ++i) ASSERT_TRUE(many.add(fmt::format("{}", i), "").ok());
  EXPECT_THAT(many.add("x", "").error().message, HasSubstr("more than 10000 files"));
}

TEST(TreeBuilder, WantsFilesAndEachOnce) {
  EXPECT_EQ(TreeBuilder("x").finish().error().kind, ErrorKind::Invalid);
  TreeBuilder twice("x");
  ASSERT_TRUE(twice.add("a", "1").ok());
  ASSERT_TRUE(twice.add("a", "2").ok());
  EXPECT_EQ(std::move(twice).finish().error().kind, ErrorKind::Invalid);
}

TEST(DigestOf, IsOfTheBytesOrTheTree) {
  EXPECT_EQ(digest_of(PackageModule{"abc"}), crypto::sha256("abc"));
  const PackageTree files = tree({{"a", "1"}});
  EXPECT_EQ(digest_of(files), crypto::sha256(files.encode()));
}

}  // namespace
}  // namespace mist::registry
