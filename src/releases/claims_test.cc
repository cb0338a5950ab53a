#include "releases/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::releases {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Key kFirstKey{"shop", "first"}, kSecondKey{"shop", "second"}, kOutsideKey{"apps", "outside"};

// About the release shop/web.
Value claim_of(const Key& key, int second, std::string_view release = "web") {
  return testing::yaml(
      fmt::format("{{metadata: {{namespace: {}, name: {}, creationTimestamp: '2026-01-01T00:00:0{}Z'}}, "
                  "spec: {{releaseName: {}, "
                  "targetNamespace: shop}}}}",
                  key.first, key.second, second, release));
}

TEST(Claims, TheOldestOfTheReleasesOwnNamespaceComesFirst) {
  Claims claims;
  claims.note(kOutsideKey, claim_of(kOutsideKey, 1));
  claims.note(kSecondKey, claim_of(kSecondKey, 3));
  claims.note(kFirstKey, claim_of(kFirstKey, 2));
  EXPECT_EQ(claims.elder(claim_of(kFirstKey, 2)), std::nullopt);
  EXPECT_EQ(claims.elder(claim_of(kSecondKey, 3)), kFirstKey);
  EXPECT_EQ(claims.elder(claim_of(kOutsideKey, 1)), kFirstKey);
  EXPECT_THAT(claims.rivals(kFirstKey), ElementsAre(kOutsideKey, kSecondKey));
  claims.note(kFirstKey, std::nullopt);
  EXPECT_EQ(claims.elder(claim_of(kSecondKey, 3)), std::nullopt);
  EXPECT_THAT(claims.rivals(kFirstKey), IsEmpty());
}

TEST(Claims, KeepsNothingOfAReleaseThatNobodyIsAbout) {
  Claims claims;
  claims.note(kFirstKey, claim_of(kFirstKey, 1));
  claims.note(kSecondKey, claim_of(kSecondKey, 2));
  claims.note(kFirstKey, claim_of(kFirstKey, 1, "other"));
  EXPECT_EQ(claims.releases(), 2U);
  claims.note(kSecondKey, std::nullopt);
  EXPECT_EQ(claims.releases(), 1U);
  EXPECT_EQ(claims.elder(claim_of(kSecondKey, 2)), std::nullopt);
  claims.note(kFirstKey, std::nullopt);
  claims.note(kFirstKey, std::nullopt);
  EXPECT_EQ(claims.releases(), 0U);
}

}  // namespace
}  // namespace mist::releases
