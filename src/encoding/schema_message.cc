#include "encoding/schema_message.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/cut_text.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/schema.h"
#include "encoding/set_path.h"

namespace mist::encoding {
namespace {

std::string unescape(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size())
      out += token[++i] == '1' ? '/' : '~';
    else
      out += token[i];
  }
  return out;
}

std::vector<std::string> tokens_of(std::string_view pointer) {
  std::vector<std::string> out;
  if (pointer.empty()) return out;
  for (const std::string_view token : split(pointer.substr(1), '/')) out.push_back(unescape(token));
  return out;
}

const Value* child(const Value& value, const std::string& token) {
  if (!value.is_array()) return value.find(token);
  std::size_t index = 0;
  const char* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, index);
  if (read.ec != std::errc() || read.ptr != end || index >= value.as_array().size()) return nullptr;
  return &value.as_array()[index];
}

constexpr std::size_t kLongestShown = 60;  // bytes of a value in a message

/// A value of the schema as a message quotes it: short, and harmless on a terminal.
std::string quoted(const Value& value) { return cut_text(escape_controls(to_json(value)), kLongestShown); }

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

/// The same of a checked value. It may be a secret, and a piece of one isn't found where secrets are hidden
/// in texts: so it is shown whole or not at all.
std::string shown_value(const Value& value, ShowValue show) {
  if (show == ShowValue::No) return "***";
  std::string text = escape_controls(to_json(value));
  if (text.size() <= kLongestShown) return text;
  if (value.is_string()) return fmt::format("a text of {} characters", characters_of(value.as_string()));
  return fmt::format("a long {}", kind_name(value.kind()));
}

/// "string \"three\"", "an object": kind and, where it is short, the value.
std::string described(const Value& value, ShowValue show) {
  switch (value.kind()) {
    case Value::Kind::Null:
      return "null";
    case Value::Kind::Array:
      return "an array";
    case Value::Kind::Object:
      return "an object";
    case Value::Kind::Bool:
    case Value::Kind::Int:
    case Value::Kind::UInt:
    case Value::Kind::Double:
    case Value::Kind::String:
      break;
  }
  const std::string_view kind = kind_name(value.kind());
  if (show == ShowValue::No) return std::string(kind);
  const std::string text = shown_value(value, show);
  return value.is_string() && !text.starts_with('"') ? text : fmt::format("{} {}", kind, text);
}

std::string listed(const Value& values, std::string_view last) {
  if (!values.is_array()) return values.is_string() ? values.as_string() : quoted(values);
  std::string out;
  const auto& items = values.as_array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) out += i + 1 == items.size() ? fmt::format(" {} ", last) : ", ";
    out += items[i].is_string() && last == "or " ? items[i].as_string() : quoted(items[i]);
  }
  return out;
}

std::string types(const Value& wanted) {
  if (wanted.is_string()) return wanted.as_string();
  std::vector<std::string> names;
  if (wanted.is_array())
    for (const Value& name : wanted.as_array())
      names.push_back(name.is_string() ? name.as_string() : quoted(name));
  return join(names, " or ");
}

/// The first text between two of `quote` in what the validator says.
std::string_view first_quoted(std::string_view text, char quote) {
  const std::size_t start = text.find(quote);
  if (start == std::string_view::npos) return {};
  const std::size_t end = text.find(quote, start + 1);
  return end == std::string_view::npos ? std::string_view() : text.substr(start + 1, end - start - 1);
}

// Nothing: what is wrong isn't a name alone.
std::vector<SchemaMessage> unknown_members(const Value& object_schema, const Value& instance) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string_view> known;
  const Value* const properties = object_schema.find("properties");
  const MemberFinder declared(properties);
  if (properties != nullptr && properties->is_object())
    for (const Value::Member& member : properties->as_object()) known.push_back(member.key);
  std::vector<SchemaMessage> messages;
  std::size_t unknown = 0;
  if (!instance.is_object()) return messages;
  if (const Value* patterns = object_schema.find("patternProperties");
      patterns != nullptr && !patterns->empty())
    return messages;
  for (const Value::Member& member : instance.as_object()) {
    if (declared.contains(member.key)) continue;
    if (++unknown > kMost) continue;
    std::string text = fmt::format("there is no \"{}\"", escape_controls(member.key));
    if (const std::string_view near = nearest(member.key, known); !near.empty())
      text += fmt::format(", did you mean \"{}\"?", near);
    messages.push_back({std::move(text), member.key});
  }
  if (unknown > kMost) messages.back().text += fmt::format("; and {} more", unknown - kMost);
  return messages;
}

struct Bound {
  std::string_view keyword;
  std::string_view words;  ///< {0}: the limit
  enum class Shows : std::uint8_t { Value, Length, Items, Members } shows;
};
constexpr Bound kBounds[] = {
    {"minimum", "must be at least {}", Bound::Shows::Value},
    {"maximum", "must be at most {}", Bound::Shows::Value},
    {"exclusiveMinimum", "must be more than {}", Bound::Shows::Value},
    {"exclusiveMaximum", "must be less than {}", Bound::Shows::Value},
    {"multipleOf", "must be a multiple of {}", Bound::Shows::Value},
    {"const", "must be {}", Bound::Shows::Value},
    {"pattern", "must match the pattern {}", Bound::Shows::Value},
    {"format", "must have the format {}", Bound::Shows::Value},
    {"minLength", "must have at least {} characters", Bound::Shows::Length},
    {"maxLength", "must have at most {} characters", Bound::Shows::Length},
    {"minItems", "must have at least {} items", Bound::Shows::Items},
    {"maxItems", "must have at most {} items", Bound::Shows::Items},
    {"minProperties", "must have at least {} members", Bound::Shows::Members},
    {"maxProperties", "must have at most {} members", Bound::Shows::Members},
};

std::string shows(Bound::Shows what, const Value& instance, ShowValue show) {
  switch (what) {
    case Bound::Shows::Value:
    case Bound::Shows::Length:
      return fmt::format("is {}", shown_value(instance, show));
    case Bound::Shows::Items:
    case Bound::Shows::Members:
      return fmt::format("has {}", instance.size());
  }
  return {};
}

// Without the value, which may be large.
std::string alternatives(std::string_view keyword, const Value& parts, const Value& instance,
                         ShowValue show) {
  if (!parts.is_array()) return {};
  std::vector<std::string> wanted;
  std::vector<std::string> needed;
  for (const Value& part : parts.as_array()) {
    if (const Value* const type = part.find("type")) wanted.push_back(types(*type));
    const Value* const names = part.find("required");
    if (part.size() == 1 && names != nullptr && names->is_array()) needed.push_back(listed(*names, "and"));
  }
  const std::string_view how_many = keyword == "oneOf" ? "exactly one" : "at least one";
  if (needed.size() == parts.size())
    return fmt::format("must have {} of: {}", how_many, join(needed, ", or "));
  if (wanted.size() == parts.size() && std::ranges::find(wanted, kind_name(instance.kind())) == wanted.end())
    return fmt::format("must be {}, is {}", join(wanted, " or "), described(instance, show));
  return fmt::format("must fit {} of the {} alternatives of its schema ({}), and doesn't", how_many,
                     parts.size(), keyword);
}

/// Empty: nothing better than the validator's own words.
std::string explain(std::string_view keyword, const Value* limit, const Value& instance,
                    std::string_view validator_says, ShowValue show) {
  if (limit == nullptr) return {};
  if (keyword == "type") return fmt::format("must be {}, is {}", types(*limit), described(instance, show));
  if (keyword == "enum") return must_be_among(*limit, instance, show);
  if (keyword == "required")
    return fmt::format("\"{}\" is missing", escape_controls(first_quoted(validator_says, '"')));
  if (keyword == "uniqueItems") return "two items are equal";
  if (keyword == "oneOf" || keyword == "anyOf") return alternatives(keyword, *limit, instance, show);
  if (keyword == "not")
    return fmt::format("is {}, which its schema forbids (not)", described(instance, show));
  const auto* bound = std::ranges::find(kBounds, keyword, &Bound::keyword);
  if (bound == std::ranges::end(kBounds)) return {};
  std::string words =
      fmt::format(fmt::runtime(bound->words),
                  limit->is_string() && keyword == "format" ? limit->as_string() : quoted(*limit));
  const bool counts = bound->shows != Bound::Shows::Value;
  if (counts && *limit == Value(1)) words.pop_back();  // of "1 items"
  return fmt::format("{}, {}", words, shows(bound->shows, instance, show));
}

// The validator's own words, unless they hold a value that isn't shown, or a piece of one.
std::string in_its_words(std::string_view keyword, std::string_view validator_says, ShowValue show) {
  if (!keyword.empty() && (show == ShowValue::No || validator_says.ends_with("…")))
    return fmt::format("doesn't fit \"{}\" of its schema", escape_controls(keyword));
  return escape_controls(validator_says);
}

bool wants_text(const Value* schema, const Value& instance) {
  const Value* const type = schema == nullptr ? nullptr : schema->find("type");
  if (type == nullptr || !(instance.is_number() || instance.is_bool())) return false;
  const Value text("string");
  return *type == text ||
         (type->is_array() && std::ranges::find(type->as_array(), text) != type->as_array().end());
}

/// The instance's path as `--set` would write it.
std::string readable_path(const Value& root, const std::vector<std::string>& tokens) {
  std::vector<PathStep> steps;
  const Value* at = &root;
  for (const std::string& token : tokens) {
    std::size_t index = 0;
    if (at != nullptr && at->is_array() &&
        std::from_chars(token.data(), token.data() + token.size(), index).ec == std::errc())
      steps.emplace_back(index);
    else
      steps.emplace_back(token);
    if (at != nullptr) at = child(*at, token);
  }
  return escape_controls(to_string(steps));
}

}  // namespace

const Value* at_pointer(const Value& value, std::string_view pointer) {
  const Value* at = &value;
  for (const std::string& token : tokens_of(pointer)) {
    at = child(*at, token);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::uint32_t line_at(const Value& value, std::string_view instance_path) {
  const Value* at = &value;
  std::uint32_t line = value.position().line;
  for (const std::string& token : tokens_of(instance_path)) {
    at = child(*at, token);
    if (at == nullptr) break;
    if (at->position().line != 0) line = at->position().line;
  }
  return line;
}

const Value* PointerFinder::find(const Value& object, std::string_view key) {
  if (!object.is_object() || object.size() <= MemberFinder::kScanned) return object.find(key);
  return finders_.try_emplace(&object, &object).first->second.find(key);
}

const Value* PointerFinder::at(const Value& value, std::string_view pointer) {
  const Value* at = &value;
  for (const std::string& token : tokens_of(pointer)) {
    at = at->is_object() ? find(*at, token) : child(*at, token);
    if (at == nullptr) return nullptr;
  }
  return at;
}

namespace {

// The part of a local reference behind its "#"; nothing if it isn't local.
std::optional<std::string_view> local_pointer(const Value& node) {
  const std::string_view reference = node.string_at("$ref");
  if (!reference.starts_with('#') || (reference.size() > 1 && reference[1] != '/')) return std::nullopt;
  return reference.substr(1);
}

}  // namespace

const Value* PointerFinder::local_reference(const Value& schema, const Value& node) {
  const auto pointer = local_pointer(node);
  return pointer ? at(schema, *pointer) : nullptr;
}

const Value* local_reference(const Value& schema, const Value& node) {
  const auto pointer = local_pointer(node);
  return pointer ? at_pointer(schema, *pointer) : nullptr;
}

const Value* at_schema_pointer(const Value& schema, std::string_view pointer) {
  const Value* at = &schema;
  for (const std::string& token : tokens_of(pointer)) {
    at = token == "$ref" ? local_reference(schema, *at) : child(*at, token);
    if (at == nullptr) return nullptr;
  }
  return at;
}

ShowValue shows_value(const Value& schema, std::string_view schema_path) {
  const auto hides = [](const Value& part) {
    const Value* const write_only = part.find("writeOnly");
    return (write_only != nullptr && *write_only == Value(true)) || part.string_at("format") == "password";
  };
  const Value* at = &schema;
  if (hides(*at)) return ShowValue::No;
  for (const std::string& token : tokens_of(schema_path)) {
    at = token == "$ref" ? local_reference(schema, *at) : child(*at, token);
    if (at == nullptr) break;
    if (hides(*at)) return ShowValue::No;
  }
  return ShowValue::Yes;
}

std::string must_be_among(const Value& choices, const Value& instance, ShowValue show) {
  return fmt::format("must be {}, is {}", listed(choices, "or"), shown_value(instance, show));
}

std::vector<SchemaMessage> schema_messages(const Value& schema, std::string_view schema_path,
                                           const Value& instance, std::string_view instance_path,
                                           std::string_view validator_says) {
  const std::size_t slash = schema_path.rfind('/');
  std::vector<SchemaMessage> messages;
  const Value* wrong = at_pointer(instance, instance_path);
  const ShowValue show = shows_value(schema, schema_path);
  const std::string_view keyword =
      slash == std::string_view::npos ? std::string_view() : schema_path.substr(slash + 1);
  if (slash != std::string_view::npos && wrong != nullptr) {
    const Value* const owner = at_schema_pointer(schema, schema_path.substr(0, slash));
    if (keyword == "additionalProperties" && owner != nullptr)
      messages = unknown_members(*owner, *wrong);
    else if (std::string words =
                 explain(keyword, at_schema_pointer(schema, schema_path), *wrong, validator_says, show);
             !words.empty())
      messages.push_back({std::move(words), {}, keyword == "type" && wants_text(owner, *wrong)});
  }
  if (messages.empty()) messages.push_back({in_its_words(keyword, validator_says, show)});
  const std::string path = readable_path(instance, tokens_of(instance_path));
  if (!path.empty())
    for (SchemaMessage& each : messages) each.text = fmt::format("{}: {}", path, each.text);
  return messages;
}

}  // namespace mist::encoding
