// The readers read back the output of the writers, for any value.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "encoding/go_number.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "encoding/yaml_resolve.h"

namespace mist::encoding {
namespace {

rc::Gen<std::string> any_text() {
  // Pieces that mean something to YAML, glued together in any order.
  const auto piece = rc::gen::element<std::string>(
      " ", "  ", "\n", "\n\n", "\t", "\r", "\r\n", ":", ": ", "#", " #", "-", "- ", "---", "...", "?", "? ",
      "[", "]", "{", "}", ",", "&a", "*a", "!", "!!str", "|", ">", "%", "@", "`", "'", "\"", "\\", "\\n",
      "<<", "=", "~", "null", "true", "yes", "on", "n", "0", "1", "0x1", "1e3", "1_0", ".5", ".inf",
      "2001-01-01", "1:30", "a", "b", "word", "a long piece of text that makes lines fold ", "é", "日本",
      "😀", "\u0085", "\u2028", "\u2029", "\u00a0", "\ufeff", std::string("\0", 1), "\x01", "\x7f", "\u0080",
      "\ufffe", "\uffff", "\xff", "\xc3");
  const auto glued =
      rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                   [](const std::vector<std::string>& parts) { return to_valid_utf8(join(parts, "")); });
  const auto bytes = rc::gen::map(rc::gen::container<std::string>(rc::gen::character<char>()),
                                  [](const std::string& text) { return to_valid_utf8(text); });
  return rc::gen::oneOf(glued, glued, bytes);
}

/// A number as one of the readers would have made it.
rc::Gen<Value> any_number() {
  const auto bits = rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t raw) {
    double number = 0;
    static_assert(sizeof number == sizeof raw);
    std::memcpy(&number, &raw, sizeof number);
    return std::isfinite(number) ? json_number(number) : Value(-0.0);
  });
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t n) { return Value(n); }),
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t n) { return Value(n); }),
      rc::gen::map(rc::gen::arbitrary<double>(), [](double n) { return json_number(n); }), bits);
}

rc::Gen<Value> any_value(int depth) {
  auto scalar = rc::gen::oneOf(
      rc::gen::just(Value()), rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Value(b); }),
      any_number(), rc::gen::map(any_text(), [](std::string text) { return Value(std::move(text)); }));
  if (depth == 0) return scalar;
  const auto inner = rc::gen::lazy([depth] { return any_value(depth - 1); });
  const auto list = rc::gen::map(rc::gen::container<std::vector<Value>>(inner),
                                 [](std::vector<Value> items) { return Value(std::move(items)); });
  const auto object = rc::gen::map(
      rc::gen::container<std::vector<std::pair<std::string, Value>>>(rc::gen::pair(any_text(), inner)),
      [](std::vector<std::pair<std::string, Value>> members) {
        Value out = Value::object();
        for (auto& [key, value] : members)
          // A simple key has at most 1024 characters, and a longer one isn't printed simply.
          out.set(key, std::move(value));
        return out;
      });
  return rc::gen::resize(6, rc::gen::oneOf(scalar, list, object, object));
}

/// As in yaml_corpus_test.cc: for the Go library to read.
void record(const Value& value, const std::string& text) {
  if (const char* path = std::getenv("MIST_YAML_PRINTED"))
    std::ofstream(path, std::ios::app) << to_json(Value::object({{"yaml", text}, {"json", value}})) << "\n";
}

RC_GTEST_PROP(RoundTrip, YamlReadsWhatItPrints, ()) {
  const Value value = *any_value(3);
  const std::string text = to_yaml(value);
  record(value, text);
  RC_LOG() << text;
  const auto again = parse_yaml(text, {.strict = true});
  if (!again.ok()) RC_FAIL(again.error().to_line());
  RC_ASSERT(to_json(*again) == to_json(value));
  RC_ASSERT(*again == value);
}

RC_GTEST_PROP(RoundTrip, YamlReadsAnyTextThatItPrints, ()) {
  const std::string text = *any_text();
  const Value value = Value::object({{text, Value::array({text, Value::object({{text, text}})})}});
  const auto again = parse_yaml(to_yaml(value), {.strict = true});
  RC_LOG() << to_yaml(value);
  if (!again.ok()) RC_FAIL(again.error().to_line());
  RC_ASSERT(*again == value);
}

RC_GTEST_PROP(RoundTrip, JsonReadsWhatItPrints, ()) {
  const Value value = *any_value(3);
  for (const JsonStyle style : {JsonStyle::Compact, JsonStyle::Pretty}) {
    const auto again = parse_json(to_json(value, style), {.strict = true});
    if (!again.ok()) RC_FAIL(again.error().to_line());
    RC_ASSERT(*again == value);
  }
}

RC_GTEST_PROP(RoundTrip, YamlReadsJson, ()) {
  const Value value = *any_value(2);
  const std::string text = to_json(value);
  const auto as_yaml = parse_yaml(text);
  // YAML allows no bare control characters (DEL, C1) and no keys beyond 1024 characters, takes -0 as 0, and
  // folds U+0085 as a line break.
  if (as_yaml.ok() && text.find("-0") == std::string::npos && text.find("\u0085") == std::string::npos)
    RC_ASSERT(*as_yaml == value);
}

RC_GTEST_PROP(RoundTrip, AnyBytesEndInAValueOrAnError, ()) {
  const std::string text = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  for (const bool strict : {false, true}) {
    if (const auto value = parse_yaml_documents(text, {.strict = strict}); !value.ok())
      RC_ASSERT(!value.error().message.empty());
    if (const auto value = parse_json(text, {.strict = strict}); !value.ok())
      RC_ASSERT(!value.error().message.empty());
  }
}

}  // namespace
}  // namespace mist::encoding
