#pragma once
// YAML in a test, as a value; a failure of the test if it isn't any.

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "encoding/yaml.h"

namespace mist::testing {

inline encoding::Value yaml(std::string_view text) {
  auto value = encoding::parse_yaml(text);
  EXPECT_TRUE(value.ok()) << value.error().to_line() << "\n" << text;
  return std::move(value).value_or({});
}

}  // namespace mist::testing
