#include "render/deployed_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::render {
namespace {

using ::testing::HasSubstr;

crypto::Digest digest(std::string_view bytes) { return crypto::sha256(bytes); }

std::string at(std::string_view reference, std::string_view bytes) {
  return fmt::format("{}@{}", reference, digest(bytes).str());
}

/// The release runs `deployed`; `wanted` is asked for, which gives that reference and those bytes today.
Status check(std::string_view deployed, std::string_view deployed_bytes, std::string_view wanted,
             std::string_view resolved, std::string_view bytes, std::string engine = {}) {
  const release::PackageInfo package{.reference = std::string(deployed),
                                     .name = "shop",
                                     .version = "1.4.0",
                                     .digest = digest(deployed_bytes).str(),
                                     .engine = std::move(engine)};
  const registry::Fetched fetched{.content = registry::PackageModule(std::string(bytes)),
                                  .digest = digest(bytes),
                                  .resolved = *registry::PackageRef::parse(resolved),
                                  .origin = {}};
  return check_deployed_version(package, *registry::PackageRef::parse(wanted), fetched);
}

TEST(DeployedVersion, HasTheBytesThatItWasDeployedWith) {
  const std::string tag = "oci://r.example/shop:1.4.0";
  const Status moved = check(at(tag, "m1"), "one", tag, at(tag, "m2"), "two");
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(moved.error().message, HasSubstr(tag + " isn't what it was when it was deployed"));
  EXPECT_THAT(moved.error().because, HasSubstr(digest("one").str()));
  EXPECT_THAT(moved.error().because, HasSubstr(digest("two").str()));
  EXPECT_THAT(moved.error().hint, HasSubstr(at(tag, "m2")));
  EXPECT_FALSE(check(at(tag, "m1"), "one", "oci://r.example/shop:^1.4", at(tag, "m2"), "two").ok());
  const Status named = check("team/shop:1.4.0", "one", "team/shop:1.4.0", "team/shop:1.4.0", "two");
  ASSERT_FALSE(named.ok());
  EXPECT_THAT(named.error().hint, HasSubstr(at("team/shop:1.4.0", "two")));
}

TEST(DeployedVersion, MayBePushedAgainAsItWas) {
  const std::string tag = "oci://r.example/shop:1.4.0";
  EXPECT_TRUE(check(at(tag, "m1"), "one", tag, at(tag, "m1"), "one").ok());
  EXPECT_TRUE(check(at(tag, "m1"), "one", tag, at(tag, "m2"), "one").ok()) << "another manifest";
  EXPECT_TRUE(check("team/shop:1.4.0", "one", "team/shop:1.4.0", "team/shop:1.4.0", "one").ok());
}

TEST(DeployedVersion, IsNoOther) {
  const std::string tag = "oci://r.example/shop:1.4.0";
  for (const std::string& next :
       {std::string("oci://r.example/shop:1.5.0"), std::string("oci://r.example/web:1.4.0"),
        std::string("oci://s.example/shop:1.4.0")})
    EXPECT_TRUE(check(at(tag, "m1"), "one", next, at(next, "m2"), "two").ok()) << next;
  EXPECT_TRUE(check("team/shop:1.4.0", "one", "team/shop:1.5.0", "team/shop:1.5.0", "two").ok());
  EXPECT_TRUE(check("/srv/shop", "one", tag, at(tag, "m2"), "two").ok());
}

TEST(DeployedVersion, IsNoneWhereTheBytesMayChange) {
  for (const std::string_view tag : {"latest", "1.4", "main"}) {
    const std::string moving = fmt::format("oci://r.example/shop:{}", tag);
    EXPECT_TRUE(check(at(moving, "m1"), "one", moving, at(moving, "m2"), "two").ok()) << tag;
  }
  const std::string git = "git+https://git.example/shop";
  EXPECT_TRUE(check(git + "?ref=v1.4.0", "one", git + "?ref=v1.4.0", git + "?ref=v1.4.0", "two").ok());
}

TEST(DeployedVersion, IsWhatAReferenceWithADigestSays) {
  const std::string tag = "oci://r.example/shop:1.4.0";
  EXPECT_TRUE(check(at(tag, "m1"), "one", at(tag, "m2"), at(tag, "m2"), "two").ok());
  const std::string named = at("team/shop:1.4.0", "two");
  EXPECT_TRUE(check("team/shop:1.4.0", "one", named, named, "two").ok());
}

// The recorded digest covers what its remote bases had then.
TEST(DeployedVersion, OfAKustomizationIsKnownByItsManifest) {
  const std::string tag = "oci://r.example/shop:1.4.0";
  EXPECT_TRUE(check(at(tag, "m1"), "with bases", tag, at(tag, "m1"), "one", "kustomize").ok());
  const Status moved = check(at(tag, "m1"), "with bases", tag, at(tag, "m2"), "two", "kustomize");
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().because, HasSubstr(digest("m1").str()));
  EXPECT_TRUE(
      check("team/shop:1.4.0", "with bases", "team/shop:1.4.0", "team/shop:1.4.0", "one", "kustomize").ok());
}

}  // namespace
}  // namespace mist::render
