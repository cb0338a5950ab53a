#include "view/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/yaml.h"

namespace mist::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RecordView, DataOfSecretsIsMaskedWhereverTheyHoldIt) {
  auto object = apimachinery::Object::from_value(testing::yaml(
      "{apiVersion: v1, kind: Secret, metadata: {name: key, annotations: "
      "{kubectl.kubernetes.io/last-applied-configuration: hidden1}}, data: {a: hidden2}, stringData: {b: "
      "hidden3}}"));
  ASSERT_TRUE(object.ok());
  release::Revision revision;
  revision.objects.push_back({.object = *std::move(object), .file = "all.yaml"});
  for (const encoding::Value& shown : {manifest_value(revision, false), record_value({}, {revision}, false)})
    EXPECT_THAT(encoding::to_json(shown), Not(HasSubstr("hidden")));
  for (const encoding::Value& shown : {manifest_value(revision, true), record_value({}, {revision}, true)})
    EXPECT_THAT(encoding::to_json(shown), HasSubstr("hidden1"));
}

}  // namespace
}  // namespace mist::view
