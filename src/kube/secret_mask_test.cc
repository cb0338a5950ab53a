#include "kube/secret_mask.h"

#include <gtest/gtest.h>

namespace mist::kube {
namespace {

using encoding::Value;

Value secret() {
  return Value::object({{"kind", "Secret"},
                        {"metadata", Value::object({{"name", "key"}})},
                        {"data", Value::object({{"password", "aHVudGVyMg=="}, {"pin", 123456}, {"on", "1"}})},
                        {"stringData", Value::object({{"text", "a \"quoted\" one"}})}});
}

TEST(SecretMask, HidesWhatWasSentInEveryForm) {
  EXPECT_EQ(mask_secret_values("it is aHVudGVyMg== or hunter2", secret()), "it is (hidden) or (hidden)");
  EXPECT_EQ(mask_secret_values("pin 123456, v1", secret()), "pin (hidden), v1");
  EXPECT_EQ(mask_secret_values(R"(got "a \"quoted\" one")", secret()), "got \"(hidden)\"");
}

TEST(SecretMask, HidesWhatTheServerQuotesAsAValue) {
  const Value nothing = Value::object();
  EXPECT_EQ(mask_secret_values(R"(Secret "key" is invalid: data[a b]: Invalid value: "x\"y": bad)", nothing),
            R"(Secret "key" is invalid: data[a b]: Invalid value: (hidden): bad)");
  EXPECT_EQ(mask_secret_values("failed to create typed patch object (n/key; /v1, Kind=Secret): "
                               ".data.password: expected string, got &value.valueUnstructured{Value:7}",
                               nothing),
            "failed to create typed patch object (n/key; /v1, Kind=Secret): "
            ".data.password: expected string, got &value.valueUnstructured{Value:(hidden)}");
  EXPECT_EQ(mask_secret_values("Value:map[string]interface {}{\"a\":\"b\"}}", nothing), "Value:(hidden)}");
  EXPECT_EQ(mask_secret_values("data: Invalid value: 12", nothing), "data: Invalid value: (hidden)");
}

TEST(SecretMask, LeavesNamesWhereTheUserNeedsThem) {
  const std::string text =
      R"(Secret "Bad" is invalid: metadata.name: Invalid value: "Bad": must be lower case)";
  EXPECT_EQ(mask_secret_values(text, Value::object()), text);
  EXPECT_EQ(mask_secret_values("Invalid value: ", Value::object()), "Invalid value: ");
}

TEST(SecretMask, ReachesEveryTextOfAnError) {
  const Error masked = mask_secret_values(error(ErrorKind::Invalid, "no hunter2")
                                              .with_because("b hunter2")
                                              .with_frame("f hunter2")
                                              .with_hint("h hunter2")
                                              .caused_by(error(ErrorKind::Internal, "c hunter2")),
                                          secret());
  EXPECT_EQ(masked.to_line().find("hunter2"), std::string::npos) << masked.to_line();
  EXPECT_EQ(masked.hint, "h (hidden)");
  EXPECT_EQ(masked.cause->message, "c (hidden)");
}

TEST(SecretMask, KnowsSecretsByWhatWasAskedFor) {
  EXPECT_TRUE(about_secrets("Secret shop/key"));
  EXPECT_TRUE(about_secrets("secrets in namespace shop"));
  EXPECT_FALSE(about_secrets("SecretStore shop/key"));
}

}  // namespace
}  // namespace mist::kube
