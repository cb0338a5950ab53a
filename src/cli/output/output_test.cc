#include "cli/output/output.h"

#include <gtest/gtest.h>

#include "encoding/json.h"
#include "testing/fake_machine.h"

namespace mist::cli {
namespace {

using encoding::Value;

TEST(PrintValue, ATerminalObeysNothingOfIt) {
  const Value value = Value::object({{"notes", "a\u009b31mb\x7f\u202ec"}});
  testing::FakeOutput out;
  print_value(out, OutputFormat::Json, value);
  EXPECT_EQ(out.take(), "{\n  \"notes\": \"a\u009b31mb\x7f\u202ec\"\n}\n") << "a program gets every byte";
  out.terminal = true;
  print_value(out, OutputFormat::Json, value);
  const std::string json = out.take();
  EXPECT_EQ(json, "{\n  \"notes\": \"a\\u009b31mb\\u007f\\u202ec\"\n}\n");
  EXPECT_EQ(*encoding::parse_json(json), value);
  print_value(out, OutputFormat::Yaml, value);
  const std::string yaml = out.take();
  for (const char* const control : {"\u009b", "\x7f", "\u202e"})
    EXPECT_EQ(yaml.find(control), std::string::npos) << yaml;
}

TEST(JsonLine, ATerminalObeysNothingOfIt) {
  const Value value = Value::object({{"text", "a\u009b31m\u202eb"}});
  testing::FakeOutput out;
  EXPECT_EQ(json_line(out, value), "{\"text\":\"a\u009b31m\u202eb\"}\n") << "a program gets every byte";
  out.terminal = true;
  EXPECT_EQ(json_line(out, value), "{\"text\":\"a\\u009b31m\\u202eb\"}\n");
}

}  // namespace
}  // namespace mist::cli
