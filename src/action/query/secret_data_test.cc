#include "action/query/secret_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/yaml.h"

namespace mist::action {
namespace {

using encoding::Value;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecretData, IsInEachFieldThatHoldsItOrHasItInside) {
  for (const std::string_view path :
       {"", ".data", ".data.key", ".data[\"tls.key\"]", ".stringData", ".metadata", ".metadata.annotations",
        ".metadata.annotations[\"kubectl.kubernetes.io/last-applied-configuration\"]"})
    EXPECT_TRUE(holds_secret_data(apimachinery::kSecret, path)) << path;
  for (const std::string_view path :
       {".type", ".database", ".metadata.labels", ".metadata.annotations.note", ".metadata.annotationsMore"})
    EXPECT_FALSE(holds_secret_data(apimachinery::kSecret, path)) << path;
  EXPECT_FALSE(holds_secret_data({"", "ConfigMap"}, ".data.key"));
  EXPECT_FALSE(holds_secret_data({"vault.example", "Secret"}, ".data.key"));
}

TEST(SecretData, OneStateIsMaskedWholly) {
  Value secret = testing::yaml(
      "{kind: Secret, data: {a: aGlkZGVu}, stringData: {b: hidden}, type: Opaque, metadata: {annotations: "
      "{kubectl.kubernetes.io/last-applied-configuration: 'hidden aGlkZGVu', note: seen}}}");
  const Value whole = secret;
  mask_secret_data({"", "ConfigMap"}, secret);
  EXPECT_EQ(secret, whole);
  mask_secret_data(apimachinery::kSecret, secret);
  const std::string text = encoding::to_yaml(secret);
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, Not(HasSubstr("aGlkZGVu")));
  EXPECT_THAT(text, HasSubstr("a: '***'"));
  EXPECT_THAT(text, HasSubstr("note: seen"));
  EXPECT_THAT(text, HasSubstr("type: Opaque"));
}

TEST(SecretData, DataThatIsNoMappingIsMaskedToo) {
  Value before = testing::yaml("{data: hidden}"), after = testing::yaml("{data: [hidden, too]}");
  mask_secret_data(apimachinery::kSecret, before, after);
  EXPECT_EQ(before, testing::yaml("{data: '*** (before)'}"));
  EXPECT_EQ(after, testing::yaml("{data: '*** (after)'}"));
}

}  // namespace
}  // namespace mist::action
