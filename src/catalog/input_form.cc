#include "catalog/input_form.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "catalog/schema_parts.h"
#include "encoding/json.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::size_t kMostFields = 100;
// Of all fields: a reference brings the same long texts to each of them.
constexpr std::size_t kMostFieldBytes = std::size_t{512} << 10;
constexpr std::size_t kMostCounted = 1000;  // references make any number of inputs of a small schema
constexpr std::size_t kMostChoices = 100;
constexpr std::size_t kLongestAnswer = 4000;
constexpr std::size_t kDeepest = 4;

std::string_view text_at(const SchemaParts& parts, std::string_view keyword) {
  const Value* const found = parts.find(keyword);
  return found != nullptr && found->is_string() ? std::string_view(found->as_string()) : std::string_view();
}

InputType type_of(const SchemaParts& parts) {
  if (const Value* const choices = parts.find("enum");
      choices != nullptr && choices->is_array() && choices->size() <= kMostChoices)
    return InputType::Choice;
  const std::string_view type = text_at(parts, "type");
  if (type == "string") return InputType::Text;
  if (type == "integer") return InputType::Integer;
  if (type == "number") return InputType::Number;
  if (type == "boolean") return InputType::Boolean;
  return InputType::Json;
}

std::optional<double> bound_at(const SchemaParts& parts, std::string_view keyword) {
  const Value* const found = parts.find(keyword);
  return found != nullptr && found->is_number() ? std::optional(found->as_double()) : std::nullopt;
}

bool has_members(const SchemaParts& parts) {
  return std::ranges::any_of(parts.sure, [](const Value* part) {
    const Value* const members = part->find("properties");
    return members != nullptr && members->is_object() && !members->empty();
  });
}

// Of its texts on the page, about.
std::size_t length_of(const InputField& field) {
  std::size_t length = 2 * field.name.size() + field.description.size();
  if (!field.fallback.is_null()) length += encoding::to_json(field.fallback).size();
  for (const Value& each : field.choices) length += 2 * encoding::to_json(each).size();
  return length;
}

class FormReader {
 public:
  explicit FormReader(const PackageFacts& facts) : schema_(facts.inputs), takes_name_(facts.takes_name) {}

  InputForm read() {
    read_members(schema_.root(), {}, true);
    return std::move(form_);
  }

 private:
  void read_members(const SchemaParts& object, const std::vector<std::string>& path, bool needed) {
    std::unordered_set<std::string_view> seen;
    for (const Value* const part : object.sure) {
      const Value* const members = part->find("properties");
      if (members == nullptr || !members->is_object()) continue;
      for (const Value::Member& each : members->as_object()) {
        if (form_.has_more) return;
        const bool is_release_name = path.empty() && each.key == "name" && !takes_name_;
        if (!is_release_name && seen.insert(each.key).second) read_member(object, each.key, path, needed);
      }
    }
  }

  void read_member(const SchemaParts& object, const std::string& key, std::vector<std::string> path,
                   bool needed) {
    const SchemaParts parts = schema_.member(object, key);
    path.push_back(key);
    needed = needed && schema_.requires_member(object, key);
    if (has_members(parts) && path.size() < kDeepest)
      read_members(parts, path, needed);
    else
      add(parts, path, needed);
  }

  void add(const SchemaParts& parts, const std::vector<std::string>& path, bool needed) {
    if (!is_full_) {
      InputField field = field_of(parts, path, needed);
      bytes_ += length_of(field);
      is_full_ = form_.fields.size() == kMostFields || bytes_ > kMostFieldBytes;
      if (!is_full_) form_.fields.push_back(std::move(field));
    }
    if (!is_full_) return;
    if (form_.left_out < kMostCounted)
      ++form_.left_out;
    else
      form_.has_more = true;
  }

  InputField field_of(const SchemaParts& parts, const std::vector<std::string>& path, bool needed) const {
    InputField field{.path = path,
                     .name = join(path, "."),
                     .type = type_of(parts),
                     .description = std::string(text_at(parts, "description")),
                     .least = bound_at(parts, "minimum"),
                     .most = bound_at(parts, "maximum"),
                     .is_secret = schema_.holds_secrets(parts)};
    if (field.type == InputType::Choice) field.choices = parts.find("enum")->as_array();
    if (const Value* const fallback = parts.find("default")) field.fallback = *fallback;
    field.is_needed = needed && field.fallback.is_null();
    return field;
  }

  InputSchema schema_;
  bool takes_name_;
  InputForm form_;
  std::size_t bytes_ = 0;  // of the fields
  bool is_full_ = false;
};

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

InputForm input_form(const PackageFacts& facts) { return FormReader(facts).read(); }

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
