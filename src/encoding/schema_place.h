#pragma once
// Which value a violated JSON Schema is about, for whoever knows where that value was written. Pure; any
// thread.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/schema.h"

namespace mist::encoding {

/// A fact of an error whose `because` has a line for each of these JSON pointers (RFC 6901): the value that
/// the line is about, or around what is missing.
struct ValueFaults {
  std::vector<std::string> pointers;
  std::vector<char> text_wanted = {};  ///< of each: SchemaIssue::text_wanted
  bool of_chart = false;               ///< of a chart's schema, which --skip-schema-validation goes without
};

/// Of issues that Schema::validate() found.
ValueFaults faults_of(std::span<const SchemaIssue> issues);

/// "/a~1b/0" of "a/b" and "0".
std::string to_pointer(std::span<const std::string> tokens);
/// As `--set` would write it: "image.tag".
std::string set_path_of(std::string_view pointer);

}  // namespace mist::encoding
