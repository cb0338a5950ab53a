#include "config/redact.h"

#include <gtest/gtest.h>

namespace mist::config {
namespace {

using encoding::Value;

TEST(Redact, WorksOnWholeDocuments) {
  const Value value = Value::object(
      {{"url", "https://u:p@h"},
       {"accessToken", "abc"},
       {"list", Value::array({Value("https://u:p@h"), Value(1), Value::object({{"password", "x"}})})}});
  const Value expected = Value::object(
      {{"url", "https://***@h"},
       {"accessToken", "***"},
       {"list", Value::array({Value("https://***@h"), Value(1), Value::object({{"password", "***"}})})}});
  EXPECT_EQ(redact(value), expected);
}

}  // namespace
}  // namespace mist::config
