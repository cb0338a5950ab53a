#include "package/looked_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::package {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::yaml;

std::vector<std::string> texts(const std::map<std::string, SecretString>& values) {
  std::vector<std::string> all;
  for (const auto& [name, value] : values) all.push_back(value.reveal());
  return all;
}

encoding::Value secret(std::string_view value) {
  return yaml(fmt::format(
      "{{apiVersion: v1, kind: Secret, metadata: {{name: db, namespace: shop}}, data: {{k: {}}}}}",
      base64_encode(value)));
}

TEST(LookedUp, ATextIsHiddenInEachOfItsFormsOnce) {
  std::map<std::string, SecretString> hidden;
  hide_text(hidden, "say \"it\"");
  hide_text(hidden, "say \"it\"");
  hide_text(hidden, "on");
  EXPECT_THAT(texts(hidden), ::testing::UnorderedElementsAre("say \"it\"", R"(say \"it\")"));
}

TEST(LookedUp, AreValuesOfSecretsAsTheyMayStandInTexts) {
  const auto values =
      texts(values_of_secrets(secret("first line of it\n-----BEGIN KEY-----\nsay \"secret thing\"\nx\n")));
  EXPECT_THAT(values, Contains("first line of it"));
  EXPECT_THAT(values, Contains("say \"secret thing\""));
  EXPECT_THAT(values, Not(Contains("-----BEGIN KEY-----"))) << "every key begins so";
  EXPECT_THAT(values, Not(Contains("x")));
  EXPECT_THAT(values, Contains(R"(first line of it\n-----BEGIN KEY-----\nsay \"secret thing\"\nx\n)"))
      << "in JSON";
  EXPECT_EQ(values_of_secrets(secret("s3cret")).begin()->first, "shop/db k");
}

TEST(LookedUp, AreThoseOfListsAndOfTextsThatAreNoBase64) {
  const auto list = yaml(
      "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a}, data: {k: '%%'}}, {metadata: {name: "
      "b}, "
      "stringData: {k: plain}}, {data: 5}]}");
  EXPECT_THAT(texts(values_of_secrets(list)), ::testing::UnorderedElementsAre("%%", "plain"));
}

TEST(LookedUp, AreNoneOfAnythingElse) {
  for (const char* text : {"null", "5", "{apiVersion: v1, kind: ConfigMap, data: {k: v}}",
                           "{apiVersion: example.com/v1, kind: Secret, data: {k: v}}",
                           "{apiVersion: v1, kind: SecretList, items: 5}"})
    EXPECT_THAT(values_of_secrets(yaml(text)), IsEmpty()) << text;
}

TEST(LookedUp, ShortOnesStandInWordsByChance) {
  EXPECT_THAT(looked_up_in_texts(values_of_secrets(secret("on"))), IsEmpty());
  EXPECT_EQ(looked_up_in_texts(values_of_secrets(secret("four"))).size(), 1U);
}

}  // namespace
}  // namespace mist::package
