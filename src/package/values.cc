#include "package/values.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/json_escapes.h"
#include "encoding/set_path.h"
#include "encoding/yaml.h"

namespace mist::package {
namespace {

constexpr std::string_view kSeparator = "---";

// "a: 1, b: x" is YAML, "a.b=c: d" is not: what comes first decides.
bool is_yaml_form(std::string_view text) {
  const auto equals = text.find('=');
  const auto colon = text.find(": ");
  if (trim(text).starts_with('{')) return true;
  return colon != std::string_view::npos && (equals == std::string_view::npos || colon < equals);
}

// Charts are used with files that Helm takes, in which the last of two keys wins: it is told, and goes on.
encoding::YamlOptions lenient_yaml(const std::string& origin, EventSink* events) {
  encoding::YamlOptions options;
  options.file = origin;
  options.on_warning = [events](const SourceLocation& where, const std::string& what) {
    if (events != nullptr)
      events->warn(fmt::format("{}:{}: {}", escape_controls(where.file), where.line, escape_controls(what)));
  };
  return options;
}

encoding::YamlOptions strict_yaml(const std::string& origin, EventSink* events) {
  encoding::YamlOptions options = lenient_yaml(origin, events);
  options.strict = true;  // a key twice in values is a mistake that nobody wants to search for in the cluster
  return options;
}

Result<Value> as_mapping(Value value, const std::string& origin) {
  if (value.is_null()) return Value::object();
  if (!value.is_object())
    return error(ErrorKind::Invalid, "the values of {} must be a mapping, not of kind {}", origin,
                 encoding::kind_name(value.kind()));
  return value;
}

Result<Value> mapping_of(std::string_view text, const std::string& origin, EventSink* events) {
  MIST_TRY(Value value, encoding::parse_yaml(text, strict_yaml(origin, events))
                            .in(fmt::format("while reading the values of {}", origin)));
  return as_mapping(std::move(value), origin);
}

// Where the JSON value at the beginning of `text` ends: at a comma or the end, outside of brackets and
// strings.
std::size_t json_end(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth > 0) --depth;
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return text.size();
}

// The first `=` that no backslash hides.
std::size_t assignment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '=')
      return i;
  }
  return std::string_view::npos;
}

Status apply_json(Value& values, std::string_view text, Numbers numbers) {
  const auto parse = [&](std::string_view json, std::string_view of) -> Result<Value> {
    MIST_TRY(Value value, encoding::parse_json(json, {.file = fmt::format("--set-json {}", of)})
                              .in(fmt::format("while reading --set-json {}", of)));
    if (numbers == Numbers::AsHelm) make_floats(value);
    return value;
  };
  if (trim(text).starts_with('{')) {
    MIST_TRY(const Value object, parse(trim(text), "{…}"));
    encoding::merge_keeping_nulls(values, object);
    return {};
  }
  while (!trim(text).empty()) {
    const std::size_t equals = assignment(text);
    if (equals == std::string_view::npos)
      return error(ErrorKind::Invalid, "--set-json needs the form KEY=JSON, it has \"{}\"",
                   escape_controls(text.substr(0, 100)));
    const std::string_view key = trim(text.substr(0, equals));
    MIST_TRY(const auto path, encoding::parse_set_path(key).in("while reading --set-json"));
    text.remove_prefix(equals + 1);
    const std::string_view json = text.substr(0, json_end(text));
    // As in Helm, nothing is null.
    Value value;
    if (!trim(json).empty()) {
      MIST_TRY(value, parse(json, escape_controls(key)));
    }
    MIST_TRY_VOID(encoding::set_at(values, path, std::move(value)).in("while reading --set-json"));
    text.remove_prefix(std::min(text.size(), json.size() + 1));
  }
  return {};
}

Status apply_literal(Value& values, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return error(ErrorKind::Invalid, "--set-literal needs the form KEY=TEXT, it has \"{}\"",
                 escape_controls(text.substr(0, 100)));
  // Nothing is special in this flag, so a backslash in a key is one.
  std::string key;
  for (const char c : text.substr(0, equals)) {
    if (c == '\\' || c == ',') key += '\\';
    key += c;
  }
  MIST_TRY(const auto path, encoding::parse_set_path(key).in("while reading --set-literal"));
  return encoding::set_at(values, path, Value(text.substr(equals + 1))).in("while reading --set-literal");
}

// The documents of a file as Helm's loader finds them (LoadValues, with apimachinery's YAMLReader): a line
// that begins with "---" ends one, and only a comment may follow that; what comes after "..." is not
// looked at. So a directive, which needs such a line behind it, stands alone.
Result<std::vector<Value>> documents_as_helm(std::string_view text, const encoding::YamlOptions& options) {
  std::vector<Value> documents;
  std::string piece;  // with as many lines before it as in the file
  std::uint32_t number = 0;
  bool begun = false;  // it has more than comments
  const auto end_piece = [&]() -> Status {
    MIST_TRY(Value document, encoding::parse_first_yaml(piece, options));
    documents.push_back(std::move(document));
    piece.assign(number, '\n');
    begun = false;
    return {};
  };
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    text.remove_prefix(line.size());
    ++number;
    if (!line.starts_with(kSeparator)) {
      if (line.starts_with('%') && !begun)
        return error(ErrorKind::Invalid, "Helm reads no directives in values files")
            .at({.file = options.file, .line = number, .column = 1, .excerpt = std::string(trim(line))})
            .with_hint("remove this line");
      begun = begun || !(trim(line).empty() || trim(line).starts_with('#'));
      piece += line;
      continue;
    }
    const std::string_view behind = trim(line.substr(kSeparator.size()));
    if (!behind.empty() && !behind.starts_with('#'))
      return error(ErrorKind::Invalid, "something follows the \"---\" that ends a document")
          .at({.file = options.file, .line = number, .column = 4, .excerpt = std::string(trim(line))})
          .with_hint("put it into the next line");
    MIST_TRY_VOID(end_piece());
  }
  MIST_TRY_VOID(end_piece());
  return documents;
}

Status apply_file(Value& values, const ValuesInput& input, Numbers numbers, EventSink* events) {
  const std::string origin = input.text == "-" ? "standard input" : input.text;
  if (numbers == Numbers::AsWritten) {
    MIST_TRY(const Value more, mapping_of(encoding::with_yaml_escapes(input.content), origin, events));
    encoding::merge_keeping_nulls(values, more);
    return {};
  }
  // Helm merges the documents of a file like as many files.
  MIST_TRY(std::vector<Value> documents, documents_as_helm(input.content, lenient_yaml(origin, events))
                                             .in(fmt::format("while reading the values of {}", origin)));
  for (Value& document : documents) {
    MIST_TRY(Value more, as_mapping(std::move(document), origin));
    make_floats(more);
    encoding::merge_keeping_nulls(values, more);
  }
  return {};
}

Status apply_one(Value& values, const ValuesInput& input, Numbers numbers, EventSink* events) {
  const auto lists = numbers == Numbers::AsHelm ? encoding::SetLists::AsHelm : encoding::SetLists::AsMeant;
  switch (input.flag) {
    case ValuesFlag::File:
      return apply_file(values, input, numbers, events);
    case ValuesFlag::Set:
      if (is_yaml_form(input.text)) {
        const std::string text(trim(input.text));
        MIST_TRY(const Value more,
                 mapping_of(text.starts_with('{') ? text : "{" + text + "}", "--set", events));
        encoding::merge_keeping_nulls(values, more);
        return {};
      }
      return encoding::apply_set(values, input.text, encoding::SetValues::Typed, lists)
          .in(fmt::format("while reading --set {}",
                          escape_controls(input.text.substr(0, input.text.find('=')))));
    case ValuesFlag::SetString:
      return encoding::apply_set(values, input.text, encoding::SetValues::Strings, lists)
          .in("while reading --set-string");
    case ValuesFlag::SetFile: {
      MIST_TRY(const auto path, encoding::parse_set_path(input.text).in("while reading --set-file"));
      return encoding::set_at(values, path, Value(input.content)).in("while reading --set-file");
    }
    case ValuesFlag::SetJson:
      return apply_json(values, input.text, numbers);
    case ValuesFlag::SetLiteral:
      return apply_literal(values, input.text);
  }
  return {};
}

// Errors of --set know their column, but not what it is a column of.
Status named(Status status, const ValuesInput& input) {
  if (status.ok() || !status.error().where || !status.error().where->file.empty()) return status;
  status.error().where->file = flag_name(input.flag);
  return status;
}

}  // namespace

std::string_view flag_name(ValuesFlag flag) {
  switch (flag) {
    case ValuesFlag::Set:
      return "--set";
    case ValuesFlag::SetString:
      return "--set-string";
    case ValuesFlag::SetFile:
      return "--set-file";
    case ValuesFlag::SetJson:
      return "--set-json";
    case ValuesFlag::SetLiteral:
      return "--set-literal";
    case ValuesFlag::File:
      break;
  }
  return "-f";
}

Result<Value> merge_values(std::span<const ValuesInput> inputs, Numbers numbers, EventSink* events) {
  Value values = Value::object();
  for (const ValuesFlag kind : kMergeOrder) {
    for (const ValuesInput& input : inputs) {
      if (input.flag == kind) MIST_TRY_VOID(named(apply_one(values, input, numbers, events), input));
    }
  }
  return values;
}

bool same_values(Value one, Value other) {
  one.sort_keys();
  other.sort_keys();
  return encoding::to_json(one) == encoding::to_json(other);
}

void make_floats(Value& value) {
  const encoding::Position position = value.position();
  if (value.is_int()) {
    value = Value(static_cast<double>(value.as_int()));
    value.set_position(position);
  } else if (value.kind() == Value::Kind::UInt) {
    value = Value(static_cast<double>(value.as_uint()));
    value.set_position(position);
  } else if (value.is_array()) {
    for (Value& item : value.as_array()) make_floats(item);
  } else if (value.is_object()) {
    for (Value::Member& member : value.as_object()) make_floats(member.value);
  }
}

}  // namespace mist::package
