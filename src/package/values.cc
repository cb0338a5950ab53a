#include "package/values.h"

#include "base/text.h"
#include "encoding/set_path.h"
#include "encoding/yaml.h"

namespace mist::package {
namespace {

// "a: 1, b: x" is YAML, "a.b=c: d" is not: what comes first decides.
bool is_yaml_form(std::string_view text) {
  const auto equals = text.find('=');
  const auto colon = text.find(": ");
  if (trim(text).starts_with('{')) return true;
  return colon != std::string_view::npos && (equals == std::string_view::npos || colon < equals);
}

Result<Value> mapping_of(std::string_view text, const std::string& origin) {
  encoding::YamlOptions options;
  options.strict = true;  // a key twice in values is a mistake that nobody wants to search for in the cluster
  options.file = origin;
  MIST_TRY(Value value,
           encoding::parse_yaml(text, options).in(fmt::format("while reading the values of {}", origin)));
  if (value.is_null()) return Value::object();
  if (!value.is_object())
    return error(ErrorKind::Invalid, "the values of {} must be a mapping, they are a {}", origin,
                 encoding::kind_name(value.kind()));
  return value;
}

Status apply_one(Value& values, const ValuesInput& input) {
  switch (input.flag) {
    case ValuesFlag::File: {
      MIST_TRY(const Value more,
               mapping_of(input.content, input.text == "-" ? "standard input" : input.text));
      // Nulls stay: they remove defaults of the package later on.
      for (const Value::Member& member : more.as_object()) {
        Value* existing = values.find(member.key);
        if (existing != nullptr && !member.value.is_null())
          encoding::merge_into(*existing, member.value);
        else
          values.set(member.key, member.value);
      }
      return {};
    }
    case ValuesFlag::Set:
      if (is_yaml_form(input.text)) {
        const std::string text(trim(input.text));
        MIST_TRY(const Value more, mapping_of(text.starts_with('{') ? text : "{" + text + "}", "--set"));
        encoding::merge_into(values, more);
        return {};
      }
      return encoding::apply_set(values, input.text)
          .in(fmt::format("while reading --set {}",
                          escape_controls(input.text.substr(0, input.text.find('=')))));
    case ValuesFlag::SetString:
      return encoding::apply_set(values, input.text, encoding::SetValues::Strings)
          .in("while reading --set-string");
    case ValuesFlag::SetFile: {
      MIST_TRY(const auto path, encoding::parse_set_path(input.text).in("while reading --set-file"));
      return encoding::set_at(values, path, Value(input.content)).in("while reading --set-file");
    }
  }
  return {};
}

// Errors of --set know their column, but not what it is a column of.
Status named(Status status, const ValuesInput& input) {
  if (status.ok() || !status.error().where || !status.error().where->file.empty()) return status;
  status.error().where->file = input.flag == ValuesFlag::Set         ? "--set"
                               : input.flag == ValuesFlag::SetString ? "--set-string"
                                                                     : "--set-file";
  return status;
}

}  // namespace

Result<Value> merge_values(std::span<const ValuesInput> inputs) {
  Value values = Value::object();
  for (const bool files : {true, false}) {
    for (const ValuesInput& input : inputs) {
      if ((input.flag == ValuesFlag::File) == files) MIST_TRY_VOID(named(apply_one(values, input), input));
    }
  }
  return values;
}

}  // namespace mist::package
