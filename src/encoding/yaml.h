#pragma once
// YAML in and out, with the grammar that kubectl and Helm have: the reader answers as sigs.k8s.io/yaml's
// YAMLToJSON (strict: YAMLToJSONStrict) does, the writer quotes as its Marshal does. That means YAML 1.1
// scalars (yes/on, 0777, 1_000), merge keys, keys made strings, alias limits; what JSON can't say (.nan,
// .inf) is an error. tests/conformance/yaml compares both with the Go library. Pure functions; any thread.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::encoding {

struct YamlOptions {
  bool strict = false;  ///< duplicate keys are errors; otherwise the last one wins, with a warning
  std::string file{};   ///< what SourceLocation::file says
  std::size_t max_bytes = std::size_t{100} << 20;  ///< a longer text is an error before anything is parsed
  int max_depth = 512;                             ///< of nested collections, aliases expanded
  /// Called for duplicate keys that were dropped, and for keys like `on` that are booleans, while parsing.
  std::function<void(SourceLocation, std::string)> on_warning{};
};

/// One document. Empty text, or only comments, is null; a second document is an error. Every value knows its
/// first character, or a key above it. Errors: Invalid, with file, line, column and the line in `where`.
Result<Value> parse_yaml(std::string_view text, const YamlOptions& options = {});

/// As above, but of several documents the first: what comes after it is not looked at, as in Go.
Result<Value> parse_first_yaml(std::string_view text, const YamlOptions& options = {});

/// All documents of a stream; those without content (only comments) are left out.
Result<std::vector<Value>> parse_yaml_documents(std::string_view text, const YamlOptions& options = {});

struct YamlPrintOptions {
  /// The marks that change the direction of text (Unicode's Bidi_Control) are written as "\u202E": the value
  /// stays, and a reader sees that they are there.
  bool escape_directions = false;
};

/// Block style, two spaces, members in order, a newline at the end; parse_yaml reads back an equal value.
/// Bytes that are no UTF-8 are written as U+FFFD, as to_json does. NaN and infinities, which JSON doesn't
/// have, are written as .nan, .inf and -.inf, which parse_yaml refuses.
std::string to_yaml(const Value& value, const YamlPrintOptions& options = {});

/// A scalar, or an empty list or object, on one line however long it is, without a newline at the end: text
/// that has newlines is quoted.
std::string to_yaml_line(const Value& value);

/// As to_yaml(), with "---" lines between the documents.
std::string to_yaml_documents(std::span<const Value> documents, const YamlPrintOptions& options = {});

}  // namespace mist::encoding
