#include "encoding/yaml_bare_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "encoding/value.h"
#include "encoding/yaml.h"

namespace mist::encoding {
namespace {

// Texts that PyYAML, Ruby's Psych, js-yaml or another reader takes for something else, though go-yaml
// doesn't.
constexpr const char* kOfOtherTypes[] = {
    "=",
    "<<",
    // YAML 1.1's timestamps
    "2024-02-30",
    "2024-13-45",
    "2024-01-01T10:00:00",
    "2024-01-01t1:00:00.",
    "2024-01-01 10:00:00Z",
    "2024-01-01  10:00:00 Z",
    "2024-1-1 10:00:00.25 +2",
    "2024-01-01T10:00:00-02:30",
    "2024-01-01 10:00:00 +0200",
    // digits of another base, too many for an integer of 64 bits, or with a sign
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "-0Xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "0b10101010101010101010101010101010101010101010101010101010101010101",
    "0B10101010101010101010101010101010101010101010101010101010101010101",
    "0o7777777777777777777777777",
    "0x_",
    // numbers that no double holds
    "1.5e+999",
    "123e4567",
    "5e12345",
    "1e999",
    "-.5E999",
    "1_0e999",
    // base 60
    "190:20:30",
    "-1:59",
    "1:30.5",
    // Ruby: numbers with commas, symbols, years before 0
    "80,443",
    "1,000",
    "-1,000.5",
    "1,0e3",
    "0x1,f",
    "0b1,0",
    ":name",
    "::1",
    ":8080",
    "-2024-01-01 10:00:00",
};

TEST(YamlBareText, NoReaderTakesATextForSomethingElse) {
  for (const std::string text : kOfOtherTypes) {
    EXPECT_FALSE(means_itself(text)) << text;
    EXPECT_EQ(to_yaml(Value(text)), fmt::format("\"{}\"\n", text));
    const Value object = Value::object({{text, text}});
    EXPECT_EQ(to_yaml(object), fmt::format("\"{0}\": \"{0}\"\n", text));
    EXPECT_EQ(*parse_yaml(to_yaml(object)), object);
  }
}

TEST(YamlBareText, WhatIsNearlyOneOfTheseStaysBare) {
  for (const std::string text : {"a=b",
                                 "==",
                                 "<<<",
                                 "2024-01",
                                 "24-01-01",
                                 "2024-01-01T",
                                 "2024-01-01T10:00",
                                 "2024-01-01T10:00:00Zulu",
                                 "0xfg",
                                 "0b12",
                                 "0o78",
                                 "0x",
                                 "1e",
                                 "1e+",
                                 "1.2.3",
                                 "1e999x",
                                 "1:60",
                                 "100m",
                                 "1Gi",
                                 ".",
                                 "..",
                                 "+",
                                 "-a",
                                 "1-2",
                                 "v1",
                                 "a,b",
                                 "1,a",
                                 "80,443/tcp",
                                 "a:b",
                                 "10.0.0.0/8"}) {
    EXPECT_TRUE(means_itself(text)) << text;
    EXPECT_EQ(to_yaml(Value(text)), fmt::format("{}\n", text));
  }
}

}  // namespace
}  // namespace mist::encoding
