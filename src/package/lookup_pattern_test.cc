#include "package/lookup_pattern.h"

#include <gtest/gtest.h>

namespace mist::package {
namespace {

using apimachinery::GroupKind;

bool covers(std::string_view pattern, const GroupKind& kind, std::string_view ns, std::string_view name) {
  const auto parsed = LookupPattern::parse(pattern);
  EXPECT_TRUE(parsed.ok()) << pattern;
  return parsed.ok() && parsed->covers(kind, ns, name, "shop");
}

const GroupKind kSecret{"", "Secret"}, kDeployment{"apps", "Deployment"}, kNode{"", "Node"};

TEST(LookupPattern, CoversExactlyWhatItSays) {
  EXPECT_TRUE(covers("shop", kSecret, "shop", "db"));
  EXPECT_FALSE(covers("shop", kSecret, "shops", "db"));
  EXPECT_FALSE(covers("shop", kNode, "", "n1")) << "it is in no namespace";
  EXPECT_TRUE(covers("*", kNode, "", "n1"));
  EXPECT_TRUE(covers(".", kSecret, "shop", "db"));
  EXPECT_FALSE(covers(".", kSecret, "other", "db"));
  EXPECT_TRUE(covers("shop/Deployment", kDeployment, "shop", "web"));
  EXPECT_TRUE(covers("shop/Deployment.apps/web", kDeployment, "shop", "web"));
  EXPECT_FALSE(covers("shop/Deployment.apps/web", kDeployment, "shop", "web2"));
  EXPECT_FALSE(covers("shop/Deployment.apps", GroupKind{"example.com", "Deployment"}, "shop", "web"));
  EXPECT_FALSE(covers("shop/Deployment.apps/web", kDeployment, "shop", ""))
      << "a list is more than one of them";
  EXPECT_FALSE(covers("shop/secret", kSecret, "shop", "db")) << "kinds have their own spelling";
  EXPECT_FALSE(covers("shop/*/db", kSecret, "shop", "other"));
}

TEST(LookupPattern, OfSecretsCoversNothingElse) {
  const auto pattern = LookupPattern::parse_secrets("shop/db");
  ASSERT_TRUE(pattern.ok());
  EXPECT_TRUE(pattern->covers(kSecret, "shop", "db", "x"));
  EXPECT_FALSE(pattern->covers({"", "ConfigMap"}, "shop", "db", "x"));
  EXPECT_FALSE(pattern->covers({"example.com", "Secret"}, "shop", "db", "x"));
  EXPECT_FALSE(pattern->covers(kSecret, "shop", "", "x"));
  EXPECT_TRUE(LookupPattern::parse_secrets("*")->covers(kSecret, "anywhere", "", "x"));
}

TEST(LookupPattern, IsRefusedInAnyOtherForm) {
  for (const std::string& text :
       {std::string(), std::string("/"), std::string("Shop"), std::string("shop/"),
        std::string("shop/Secret/"), std::string("shop/Sec ret"), std::string("shop/Secret/a/b"),
        std::string("shop/Secret/a b"), std::string("sh*p"), std::string("shop/Secret/\x1b"),
        "shop/Secret/" + std::string(2000, 'a')})
    EXPECT_FALSE(LookupPattern::parse(text).ok()) << text.substr(0, 40);
  for (const char* text : {"", "shop/Secret/db", "shop/", "S"})
    EXPECT_FALSE(LookupPattern::parse_secrets(text).ok()) << text;
}

TEST(LookupPattern, WhatIsSuggestedCoversWhatWasAsked) {
  EXPECT_TRUE(covers(lookup_pattern_for(kDeployment, "shop", "web"), kDeployment, "shop", "web"));
  EXPECT_FALSE(covers(lookup_pattern_for(kDeployment, "shop", "web"), kDeployment, "shop", "db"));
  EXPECT_TRUE(covers(lookup_pattern_for(kNode, "", ""), kNode, "", "n1"));
}

}  // namespace
}  // namespace mist::package
