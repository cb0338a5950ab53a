#include "render/signers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace mist::render {
namespace {

using release::PackageSigners;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

package::Source signed_by(std::string reference, std::set<std::string> signers, bool verified = false) {
  package::Source source;
  source.reference = std::move(reference);
  source.signers = package::KnownSigners{std::move(signers), verified};
  return source;
}

void call(package::Source& caller, const std::string& name, package::Source called) {
  caller.dependencies.emplace(name, std::make_shared<const package::ResolvedPackage>(
                                        package::ResolvedPackage{name, std::move(called)}));
}

release::PackageInfo recorded(std::vector<PackageSigners> signers) {
  release::PackageInfo info;
  info.signers = std::move(signers);
  return info;
}

constexpr const char* kShop = "oci://reg.example/team/shop";

TEST(SignersOfRecord, ArePackagesOfOciRegistriesWithThoseTheyCall) {
  package::Source shop = signed_by("oci://reg.example/team/shop:1.0.0", {"a", "b"});
  call(shop, "db", signed_by("oci://reg.example/team/db:2.0.0", {"c"}));
  call(shop, "web", signed_by("oci://reg.example/team/web:2.0.0", {}));
  call(shop, "git", signed_by("team/plain:1.0.0", {"d"}));
  EXPECT_THAT(
      signers_for_record(shop, nullptr),
      ElementsAre(PackageSigners{"oci://reg.example/team/db", {"c"}}, PackageSigners{kShop, {"a", "b"}}));
  shop.signers.reset();
  shop.dependencies.clear();
  EXPECT_THAT(signers_for_record(shop, nullptr), IsEmpty()) << "the policy holds it to nobody";
}

TEST(SignersOfRecord, OfTwoVersionsOfOnePackageThoseCountThatSignedBoth) {
  package::Source shop = signed_by("oci://reg.example/team/shop:1.0.0", {"a"});
  call(shop, "one", signed_by("oci://reg.example/team/db:1.0.0", {"b", "c"}));
  call(shop, "two", signed_by("oci://reg.example/team/db:2.0.0", {"c", "d"}));
  EXPECT_EQ(signers_for_record(shop, nullptr).front(), (PackageSigners{"oci://reg.example/team/db", {"c"}}));
}

TEST(SignersOfRecord, StayAsTheyWereAndAreNeverMore) {
  const release::PackageInfo before = recorded({{kShop, {"a", "b"}}});
  const auto now = [&](std::set<std::string> signers, bool verified = false) {
    const auto all = signers_for_record(
        signed_by("oci://reg.example/team/shop:1.1.0", std::move(signers), verified), &before);
    return all.empty() ? std::vector<std::string>() : all.front().signers;
  };
  EXPECT_THAT(now({"a", "evil"}), ElementsAre("a"));
  EXPECT_THAT(now({}), ElementsAre("a", "b")) << "nobody was asked, as the bytes were named";
  EXPECT_THAT(now({"new"}), ElementsAre("new")) << "they were named by their digest";
  EXPECT_THAT(now({"a", "new"}, true), ElementsAre("a", "new")) << "somebody verified them";
}

TEST(SignersOfRecord, HoldWhatFollows) {
  const release::PackageInfo deployed = recorded({{"oci://reg.example/team/db", {"c"}}, {kShop, {"a"}}});
  const auto failure = [&](const package::Source& source) {
    const Status checked = check_signers(deployed, source);
    return checked ? std::string() : checked.error().to_line();
  };
  package::Source shop = signed_by("oci://reg.example/team/shop:1.1.0", {"a"});
  EXPECT_EQ(failure(shop), "");
  call(shop, "db", signed_by("oci://reg.example/team/db:2.0.0", {"evil"}));
  EXPECT_THAT(failure(shop), HasSubstr("oci://reg.example/team/db is signed by"));
  EXPECT_THAT(failure(signed_by("oci://reg.example/team/shop:1.1.0", {"evil"})),
              HasSubstr("what the release runs of it is signed by"));
  EXPECT_THAT(failure(signed_by("oci://reg.example/team/shop:1.1.0", {})),
              HasSubstr("is not known to be signed"));
  EXPECT_EQ(failure(signed_by("oci://reg.example/team/shop:1.1.0", {"new"}, true)), "") << "it was verified";
  EXPECT_EQ(failure(signed_by("oci://reg.example/other/shop:1.1.0", {"new"})), "") << "another package";
  package::Source unheld = signed_by("oci://reg.example/team/shop:1.1.0", {"new"});
  unheld.signers.reset();
  EXPECT_EQ(failure(unheld), "") << "a rule of the policy counts";
}

}  // namespace
}  // namespace mist::render
