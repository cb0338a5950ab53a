#include "catalog/input_form.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::size_t kMostFields = 100;
constexpr std::size_t kMostChoices = 100;
constexpr std::size_t kLongestAnswer = 4000;
constexpr int kDeepest = 4, kDeepestSecret = 16;

InputType type_of(const Value& schema) {
  const std::string_view type = schema.string_at("type");
  if (const Value* const choices = schema.find("enum");
      choices != nullptr && choices->is_array() && choices->size() <= kMostChoices)
    return InputType::Choice;
  if (type == "string") return InputType::Text;
  if (type == "integer") return InputType::Integer;
  if (type == "number") return InputType::Number;
  if (type == "boolean") return InputType::Boolean;
  return InputType::Json;
}

std::optional<double> bound_at(const Value& schema, std::string_view key) {
  const Value* const found = schema.find(key);
  return found != nullptr && found->is_number() ? std::optional(found->as_double()) : std::nullopt;
}

bool asks_for(const Value& schema, std::string_view key) {
  const Value* const list = schema.find("required");
  return list != nullptr && list->is_array() && std::ranges::any_of(list->as_array(), [&](const Value& each) {
           return each.is_string() && each.as_string() == key;
         });
}

bool is_secret(const Value& schema) {
  return schema.string_at("format") == "password" || schema.is_true_at("writeOnly");
}

// Itself, or in what it is made of: what is typed there stands in the page's address.
bool holds_secrets(const Value& schema, int depth = 0) {
  if (is_secret(schema)) return true;
  if (depth == kDeepestSecret) return false;
  for (const std::string_view part : {"items", "additionalProperties"})
    if (const Value* const inner = schema.find(part);
        inner != nullptr && inner->is_object() && holds_secrets(*inner, depth + 1))
      return true;
  const Value* const members = schema.find("properties");
  return members != nullptr && members->is_object() &&
         std::ranges::any_of(members->as_object(), [&](const Value::Member& each) {
           return each.value.is_object() && holds_secrets(each.value, depth + 1);
         });
}

void add_fields(const Value& schema, const std::vector<std::string>& path, bool needed,
                std::vector<InputField>& fields) {
  const Value* const members = schema.find("properties");
  if (members == nullptr || !members->is_object()) return;
  for (const auto& [key, member] : members->as_object()) {
    if (fields.size() == kMostFields) return;
    std::vector<std::string> below = path;
    below.push_back(key);
    const bool is_needed = needed && asks_for(schema, key);
    const Value* const inner = member.find("properties");
    if (inner != nullptr && inner->is_object() && !inner->empty() &&
        below.size() < static_cast<std::size_t>(kDeepest)) {
      add_fields(member, below, is_needed, fields);
      continue;
    }
    InputField field{.path = below,
                     .name = join(below, "."),
                     .type = type_of(member),
                     .description = std::string(member.string_at("description")),
                     .least = bound_at(member, "minimum"),
                     .most = bound_at(member, "maximum"),
                     .is_secret = holds_secrets(member)};
    if (field.type == InputType::Choice) field.choices = member.find("enum")->as_array();
    if (const Value* const fallback = member.find("default")) field.fallback = *fallback;
    field.is_needed = is_needed && field.fallback.is_null();
    fields.push_back(std::move(field));
  }
}

struct Taken {
  Value value = {};
  std::string fault = {};
};

Taken answered_number(const InputField& field, const std::string& text) {
  const std::string_view kind = field.type == InputType::Integer ? "a whole number" : "a number";
  auto parsed = encoding::parse_json(text, {.max_depth = 1, .max_values = 1});
  const bool good =
      parsed.ok() && (field.type == InputType::Integer ? parsed->is_int() : parsed->is_number());
  if (!good) return {.fault = fmt::format("must be {}", kind)};
  const double number = parsed->as_double();
  if (field.least && number < *field.least)
    return {.fault = fmt::format("must be at least {}", *field.least)};
  if (field.most && number > *field.most) return {.fault = fmt::format("must be at most {}", *field.most)};
  return {.value = *std::move(parsed)};
}

Taken take(const InputField& field, const std::string& text) {
  if (text.size() > kLongestAnswer) return {.fault = fmt::format("has more than {} bytes", kLongestAnswer)};
  switch (field.type) {
    case InputType::Text:
      return {.value = Value(text)};
    case InputType::Integer:
    case InputType::Number:
      return answered_number(field, text);
    case InputType::Boolean:
      if (text != "true" && text != "false") return {.fault = "must be true or false"};
      return {.value = Value(text == "true")};
    case InputType::Choice: {
      const auto found = std::ranges::find_if(
          field.choices, [&](const Value& each) { return encoding::to_json(each) == text; });
      if (found == field.choices.end()) return {.fault = "must be one of the choices"};
      return {.value = *found};
    }
    case InputType::Json: {
      auto parsed = encoding::parse_json(text, {.strict = true, .max_depth = 20, .max_values = 1000});
      if (!parsed.ok()) return {.fault = "must be JSON, such as [\"a\", \"b\"]"};
      return {.value = *std::move(parsed)};
    }
  }
  return {};
}

void put(Value& values, const std::vector<std::string>& path, Value value) {
  Value* place = &values;
  for (const std::string& key : path) {
    if (!place->is_object()) *place = Value::object();
    place = &(*place)[key];
  }
  *place = std::move(value);
}

std::string answer_to(const InputField& field, const FormAnswers& answers) {
  const auto found = answers.find(field.name);
  // Browsers end each line of a textarea with CR LF.
  return found == answers.end() ? std::string() : with_line_feeds(found->second);
}

// As a person would type it.
std::string typed(const Value& value) {
  return value.is_string() ? value.as_string() : value.is_null() ? std::string() : encoding::to_json(value);
}

Markup option(std::string_view value, std::string_view words, bool chosen) {
  return markup("<option value=\"{}\"{}>{}</option>", FormValue{value},
                chosen ? markup(" selected") : Markup(), words);
}

Markup select(const InputField& field, const std::string& answer, const Markup& attributes) {
  Markup options =
      option("", field.fallback.is_null() ? std::string("not set") : "default: " + typed(field.fallback),
             answer.empty());
  if (field.type == InputType::Boolean) {
    for (const std::string_view each : {"true", "false"}) options += option(each, each, answer == each);
  } else {
    for (const Value& each : field.choices) {
      const std::string value = encoding::to_json(each);
      options += option(value, typed(each), answer == value);
    }
  }
  return markup("<select{}>{}</select>", attributes, options);
}

Markup control(const InputField& field, const std::string& answer, const Markup& attributes) {
  const std::string fallback = typed(field.fallback);
  const std::string hint = fallback.empty() ? "" : "default: " + fallback;
  switch (field.type) {
    case InputType::Boolean:
    case InputType::Choice:
      return select(field, answer, attributes);
    case InputType::Json:
      return markup("<textarea rows=\"2\" placeholder=\"{}\"{}>\n{}</textarea>", hint, attributes,
                    FormValue{answer});
    case InputType::Integer:
    case InputType::Number:
      return markup("<input type=\"text\" inputmode=\"{}\" value=\"{}\" placeholder=\"{}\"{}>",
                    field.type == InputType::Integer ? "numeric" : "decimal", FormValue{answer}, hint,
                    attributes);
    case InputType::Text:
      return markup("<input type=\"text\" value=\"{}\" placeholder=\"{}\"{}>", FormValue{answer}, hint,
                    attributes);
  }
  return {};
}

}  // namespace

std::vector<InputField> input_fields(const Value& schema) {
  std::vector<InputField> fields;
  add_fields(schema, {}, true, fields);
  return fields;
}

FilledInputs fill_inputs(const std::vector<InputField>& fields, const FormAnswers& answers) {
  FilledInputs filled;
  for (const InputField& field : fields) {
    const std::string answer = answer_to(field, answers);
    if (answer.empty() || field.is_secret) {
      if (field.is_needed) filled.open.push_back(field.name);
      continue;
    }
    Taken taken = take(field, answer);
    if (!taken.fault.empty()) {
      filled.faults.emplace(field.name, std::move(taken.fault));
      continue;
    }
    put(filled.values, field.path, std::move(taken.value));
    ++filled.count;
  }
  return filled;
}

Value with_placeholders(const std::vector<InputField>& fields, Value values) {
  for (const InputField& field : fields)
    if (field.is_secret && field.is_needed && field.type == InputType::Text)
      put(values, field.path, Value(fmt::format("(secret {})", field.name)));
  return values;
}

Markup input_markup(const std::vector<InputField>& fields, const FormAnswers& answers,
                    const FilledInputs& filled) {
  Markup out;
  std::size_t number = 0;
  for (const InputField& field : fields) {
    const std::string id = fmt::format("input-{}", ++number);
    const auto fault = filled.faults.find(field.name);
    const Markup needed = field.is_needed ? markup(" <span class=\"soft\">required</span>") : Markup();
    if (field.is_secret) {
      out += markup(
          "<div class=\"field\"><b><code>{}</code></b>{}{}<p>It is a secret: give it in a file of your own, "
          "not "
          "here.</p></div>\n",
          field.name, needed, field.description.empty() ? Markup() : markup("<p>{}</p>", field.description));
      continue;
    }
    const Markup attributes =
        markup(" id=\"{}\" name=\"{}\" aria-describedby=\"{}-about\" autocomplete=\"off\"{}", id,
               FormValue{field.name}, id,
               fault == filled.faults.end() ? Markup() : markup(" aria-invalid=\"true\""));
    out += markup(
        "<div class=\"field\"><label for=\"{}\"><code>{}</code>{}</label>{}<p "
        "id=\"{}-about\">{}{}</p></div>\n",
        id, field.name, needed, control(field, answer_to(field, answers), attributes), id,
        fault == filled.faults.end() ? Markup() : markup("<b class=\"failed\">It {}.</b> ", fault->second),
        field.description);
  }
  return out;
}

}  // namespace mist::catalog
