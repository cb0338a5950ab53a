#include "render/public_exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/yaml.h"

namespace mist::render {
namespace {

using encoding::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::yaml;

HiddenValues secrets(std::initializer_list<std::string_view> texts) {
  std::map<std::string, SecretString> values;
  for (const std::string_view text : texts) values.emplace(text, SecretString(std::string(text)));
  HiddenValues result;
  result.add(values);
  return result;
}

TEST(PublicExports, WhatDependsOnNoSecretIsShown) {
  const Value exports = yaml("{host: db, port: 5432, tls: true, users: [{name: a}], none: null}");
  const PublicExports shown = public_exports(exports, &exports, {});
  EXPECT_EQ(shown.values, yaml("{host: db, port: 5432, tls: true, users: [{name: a}]}"));
  EXPECT_THAT(shown.hidden, IsEmpty());
  EXPECT_TRUE(public_exports(Value(), nullptr, {}).values.is_null());
}

TEST(PublicExports, SecretsAreLeftOutWhereverTheyStand) {
  const PublicExports shown = public_exports(
      yaml("{host: db, url: 'u:s3cret@db', code: czNjcmV0, users: [{name: a, password: s3cret}]}"), nullptr,
      secrets({"s3cret"}));
  EXPECT_EQ(shown.values, yaml("{host: db, users: [{name: a}]}"));
  EXPECT_THAT(shown.hidden, ElementsAre(".url", ".code", ".users[0].password"));
}

TEST(PublicExports, WhatIsAnotherWithOtherSecretsIsLeftOut) {
  const Value one = yaml("{host: db, fingerprint: 1a2b, name: x}");
  const Value other = yaml("{host: db, fingerprint: 9f8e, name: x}");
  const PublicExports shown = public_exports(one, &other, {});
  EXPECT_EQ(shown.values, yaml("{host: db, name: x}"));
  EXPECT_THAT(shown.hidden, ElementsAre(".fingerprint"));
}

TEST(PublicExports, NoPathAndNoPlaceInAListSaysAnythingOfASecret) {
  // A list without one of its items would have others in their places.
  EXPECT_THAT(public_exports(yaml("{all: [a, s3cret, b]}"), nullptr, secrets({"s3cret"})).hidden,
              ElementsAre(".all"));
  EXPECT_THAT(public_exports(yaml("{all: {s3cret: b}}"), nullptr, secrets({"s3cret"})).hidden,
              ElementsAre(".all"));
  const Value drawn = yaml("{keys: {x7: 1}}"), other = yaml("{keys: {b9: 1}}");
  EXPECT_THAT(public_exports(drawn, &other, {}).hidden, ElementsAre(".keys"));
  const Value text("s3cret");
  EXPECT_THAT(public_exports(text, nullptr, secrets({"s3cret"})).hidden, ElementsAre("."));
  EXPECT_TRUE(public_exports(text, nullptr, secrets({"s3cret"})).values.is_null());
}

TEST(PublicExports, OtherSecretsHaveTheSameForm) {
  const Value other =
      with_other_secrets(yaml("{a: pAss-99, b: [free, 4321], c: x1}"), secrets({"pAss-99", "4321", "x1"}));
  EXPECT_EQ(other, yaml("{a: xXxx-77, b: [free, 4322], c: y7}"));
}

}  // namespace
}  // namespace mist::render
