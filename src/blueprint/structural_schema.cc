#include "blueprint/structural_schema.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "blueprint/go_pattern.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kKeepsUnknown = "x-kubernetes-preserve-unknown-fields",
                           kEitherType = "x-kubernetes-int-or-string", kRules = "x-kubernetes-validations",
                           kListKind = "x-kubernetes-list-type", kMapKeys = "x-kubernetes-list-map-keys",
                           kBefore = "oldSelf";
constexpr std::array<std::string_view, 4> kCombined{"allOf", "anyOf", "oneOf", "not"};
// Identifiers that CEL reserves; a field of that name is written __name__ (KEP-2876).
constexpr std::array<std::string_view, 21> kCelWords{
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

struct FieldStep {
  std::string name;
  bool is_nullable = false;
};
using FieldSteps = std::vector<FieldStep>;

// `rest`, from the record that has `field`.
FieldSteps steps_through(const Value::Member& field, const FieldSteps& rest) {
  FieldSteps steps{{field.key, field.value.is_true_at("nullable")}};
  steps.insert(steps.end(), rest.begin(), rest.end());
  return steps;
}

const Value::Array& rules_of(const Value& schema) {
  static const Value::Array kNone;
  const Value* rules = schema.find(kRules);
  return rules != nullptr && rules->is_array() ? rules->as_array() : kNone;
}

Value* fields_of(Value& schema) {
  Value* fields = schema.find("properties");
  return fields != nullptr && fields->is_object() ? fields : nullptr;
}

const Value* fields_of(const Value& schema) {
  const Value* fields = schema.find("properties");
  return fields != nullptr && fields->is_object() ? fields : nullptr;
}

bool is_required(const Value& schema, const std::string& name) {
  const Value* all = schema.find("required");
  return all != nullptr && all->is_array() &&
         std::ranges::find(all->as_array(), Value(name)) != all->as_array().end();
}

bool is_always_there(const Value& schema, const Value::Member& field) {
  return is_required(schema, field.key) || field.value.find("default") != nullptr;
}

void give_types(Value& schema) {
  const std::string type(schema.string_at("type"));
  const bool has_fields =
      schema.find("properties") != nullptr || schema.find("additionalProperties") != nullptr;
  if ((type.empty() && !schema.is_true_at(kEitherType)) || (type == "object" && !has_fields))
    schema.set(kKeepsUnknown, true);
  if (type == "array" && schema.find("items") == nullptr)
    schema.set("items", Value::object({{kKeepsUnknown, true}}));
  // Its words are all that the schema takes, and null is none of them.
  if (Value* words = schema.find("enum"); words != nullptr && schema.is_true_at("nullable"))
    words->push_back(nullptr);
}

// Of fields with names, and of each field; and of what is a number or a text, and anything.
void choose_keywords(Value& schema, const std::string& path, std::vector<SchemaPlace>& unasked) {
  if (schema.is_true_at(kEitherType)) schema.erase(kKeepsUnknown);
  if (schema.find("properties") == nullptr || !schema.erase("additionalProperties")) return;
  unasked.push_back({path, "a contract of each of its fields, beside that of fields with names"});
}

std::string_view cel_escape(char c) {
  switch (c) {
    case '.':
      return "__dot__";
    case '-':
      return "__dash__";
    case '/':
      return "__slash__";
    default:
      return {};
  }
}

// As rules name a field (KEP-2876); empty: no rule can.
std::string cel_name(std::string_view name) {
  if (std::ranges::find(kCelWords, name) != kCelWords.end()) return fmt::format("__{}__", name);
  std::string escaped;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool is_digit = c >= '0' && c <= '9';
    if (name.substr(i, 2) == "__") {
      escaped += "__underscores__";
      ++i;
    } else if (const std::string_view word = cel_escape(c); !word.empty()) {
      escaped += word;
    } else if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (is_digit && i > 0)) {
      escaped += c;
    } else {
      return {};
    }
  }
  return escaped;
}

// "has(self.a) && dyn(self.a) != null && has(self.a.b)"; empty: no rule can say it. CEL compares only what
// may be null by its type with null, and a schema that says nullable doesn't tell it that.
std::string has_all(std::string_view from, const FieldSteps& path) {
  std::string words, place(from);
  for (const FieldStep& each : path) {
    const std::string name = cel_name(each.name);
    if (name.empty()) return {};
    place += "." + name;
    words += fmt::format("{}has({})", words.empty() ? "" : " && ", place);
    if (each.is_nullable) words += fmt::format(" && dyn({}) != null", place);
  }
  return words;
}

std::string as_path(const FieldSteps& path) {
  std::string words;
  for (const FieldStep& each : path) words += (words.empty() ? "" : ".") + each.name;
  return words;
}

bool is_unchanged(const Value& schema) {
  const Value::Array& rules = rules_of(schema);
  return std::ranges::any_of(rules,
                             [](const Value& rule) { return rule.string_at("rule") == kUnchangedRule; });
}

// The fields within `schema` that can't be changed, as far as rules of it can name them.
std::vector<FieldSteps> unchanged_in(const Value& schema) {
  if (is_unchanged(schema)) return {FieldSteps()};
  std::vector<FieldSteps> found;
  const Value* fields = fields_of(schema);
  if (fields == nullptr) return found;
  for (const Value::Member& each : fields->as_object())
    for (const FieldSteps& rest : unchanged_in(each.value)) found.push_back(steps_through(each, rest));
  return found;
}

// The server skips a rule about the value before where there is none, or none any more, or null: a field that
// was removed could be set again. So the record around it, and each around that, has to see to it.
void keep_unchanged(Value& schema, const std::string& path, std::vector<SchemaPlace>& unasked) {
  const Value* fields = fields_of(schema);
  if (fields == nullptr) return;
  Value::Array rules = rules_of(schema);
  const std::size_t before = rules.size();
  for (const Value::Member& each : fields->as_object()) {
    const bool is_nullable = each.value.is_true_at("nullable");
    if (is_always_there(schema, each) && !is_nullable) continue;
    for (const FieldSteps& rest : unchanged_in(each.value)) {
      const FieldSteps place = steps_through(each, rest);
      const std::string was = has_all("oldSelf", place), is = has_all("self", place);
      const bool is_one = place.size() == 1 && !is_nullable;
      if (was.empty()) {
        unasked.push_back(
            {path + "." + as_path(place), "that it can't be removed; the operator can't check that either"});
        continue;
      }
      rules.push_back(Value::object(
          {{"rule", is_one ? fmt::format("!{} || {}", was, is) : fmt::format("!({}) || ({})", was, is)},
           {"message", fmt::format("{} can't be removed once it is set", as_path(place))}}));
    }
  }
  if (rules.size() > before) schema.set(kRules, Value(std::move(rules)));
}

// No rule can go through the entries of before: one that is gone may come again with other values.
void note_unkept_entries(const Value& schema, const std::string& path, std::vector<SchemaPlace>& unasked) {
  const auto note = [&](const Value* entry, std::string_view step) {
    if (entry != nullptr && entry->is_object() && !unchanged_in(*entry).empty())
      unasked.push_back(
          {fmt::format("{}{}", path, step),
           "that an entry can't be removed and added again; the operator can't check that either"});
  };
  note(schema.find("additionalProperties"), ".*");
  if (schema.string_at(kListKind) == "map") note(schema.find("items"), "[]");
}

void fill_default(Value& schema) {
  if (Value* given = schema.find("default"); given != nullptr && given->is_object() && asks_of_empty(schema))
    fill_defaults(schema, *given);
}

// Those within it before it. `is_kept`: something around it can't be changed as a whole.
void structure(Value& schema, const std::string& path, bool is_kept, std::vector<SchemaPlace>& unasked) {
  if (!schema.is_object()) return;
  is_kept = is_kept || is_unchanged(schema);
  give_types(schema);
  choose_keywords(schema, path, unasked);
  if (Value* items = schema.find("items")) structure(*items, path + "[]", is_kept, unasked);
  if (Value* others = schema.find("additionalProperties")) structure(*others, path + ".*", is_kept, unasked);
  if (Value* fields = fields_of(schema))
    for (Value::Member& each : fields->as_object())
      structure(each.value, path + "." + each.key, is_kept, unasked);
  keep_unchanged(schema, path, unasked);
  if (!is_kept) note_unkept_entries(schema, path, unasked);
  fill_default(schema);
}

// Of a record, those in fields that can't be null (apiextensions-apiserver, schema/defaulting/prune.go).
void drop_nulls(const Value& schema, Value& record) {
  const Value* const fields = fields_of(schema);
  const Value* const others = schema.find("additionalProperties");
  std::erase_if(record.as_object(), [&](const Value::Member& each) {
    const Value* of_field = fields == nullptr ? nullptr : fields->find(each.key);
    if (of_field == nullptr && others != nullptr && others->is_object()) of_field = others;
    return each.value.is_null() && of_field != nullptr && !of_field->is_true_at("nullable");
  });
}

class Refusals {
 public:
  // `correlated`: the server can tell which value of before this one was.
  void look_at(const Value& schema, const std::string& path, bool correlated) {
    if (!schema.is_object()) return;
    if (!correlated && std::ranges::any_of(rules_of(schema), [](const Value& rule) {
          return rule.string_at("rule").contains(kBefore);
        }))
      say(path,
          "a rule about the value before, as Unchanged is, can't be within a list without KeyedBy: "
          "nothing says which item was which");
    if (std::ranges::any_of(rules_of(schema),
                            [](const Value& rule) { return trim(rule.string_at("rule")).empty(); }))
      say(path, "a Rule has no cel");
    look_at_pattern(schema, path);
    if (const Value* const others = schema.find("allOf"); others != nullptr && others->is_array())
      for (const Value& each : others->as_array()) look_at_pattern(each, path);
    const std::string_view list = schema.string_at(kListKind);
    if (const Value* items = schema.find("items")) {
      look_at_items(schema, *items, list, path);
      look_at(*items, path + "[]", correlated && list == "map");
    }
    if (const Value* others = schema.find("additionalProperties")) look_at(*others, path + ".*", correlated);
    if (const Value* fields = fields_of(schema))
      for (const Value::Member& each : fields->as_object())
        look_at(each.value, path + "." + each.key, correlated);
  }

  std::vector<SchemaPlace> found;

 private:
  void say(const std::string& path, std::string what) { found.push_back({path, std::move(what)}); }

  void look_at_pattern(const Value& schema, const std::string& path) {
    const std::string_view pattern = schema.string_at("pattern");
    if (most_repeats(pattern) > kMostRepeats)
      say(path, fmt::format("the pattern {} repeats something more than {} times, which Go's regexp doesn't "
                            "take: use MaxLength",
                            pattern, kMostRepeats));
  }

  void look_at_items(const Value& schema, const Value& items, std::string_view list,
                     const std::string& path) {
    if (list != "set" && list != "map") return;
    const std::string_view name = list == "set" ? "Unique" : "KeyedBy", type = items.string_at("type");
    if (items.is_true_at("nullable")) say(path, fmt::format("items of a list with {} can't be null", name));
    if (list == "set" && (type == "object" || type == "array"))
      say(path, "items of a list with Unique are texts, numbers or booleans; for records there is KeyedBy");
    if (list == "map")
      for (const std::string& key : schema.texts_at(kMapKeys)) look_at_key(items, key, path);
  }

  void look_at_key(const Value& items, const std::string& key, const std::string& path) {
    const Value* const fields = fields_of(items);
    const Value* const field = fields == nullptr ? nullptr : fields->find(key);
    if (field == nullptr)
      return say(path, fmt::format("its items have no field {}, the key of KeyedBy", key));
    const std::string_view type = field->string_at("type");
    if (type == "object" || type == "array")
      say(path, fmt::format("{}, the key of KeyedBy, has to be a text, a number or a boolean", key));
    if (field->is_true_at("nullable")) say(path, fmt::format("{}, the key of KeyedBy, can't be null", key));
    if (!is_required(items, key) && field->find("default") == nullptr)
      say(path, fmt::format("{}, the key of KeyedBy, has to be required or have a default", key));
  }
};

}  // namespace

std::vector<SchemaPlace> make_structural(Value& schema) {
  std::vector<SchemaPlace> unasked;
  structure(schema, "", false, unasked);
  return unasked;
}

std::vector<SchemaPlace> refused_by_server(const Value& schema) {
  Refusals refusals;
  refusals.look_at(schema, "", true);
  return std::move(refusals.found);
}

bool asks_of_empty(const Value& schema) {
  const auto is_about_now = [](const Value& rule) { return !rule.string_at("rule").contains(kBefore); };
  return schema.int_at("minProperties") > 0 || std::ranges::any_of(rules_of(schema), is_about_now) ||
         std::ranges::any_of(kCombined, [&](std::string_view each) { return schema.find(each) != nullptr; });
}

bool keeps_unchanged(const Value& rule) {
  const std::string_view words = rule.string_at("rule");
  return words.starts_with("!has(oldSelf.") || words.starts_with("!(has(oldSelf.");
}

std::optional<UnknownField> unknown_field(const Value& schema, std::span<const std::string> path) {
  const Value* at = &schema;
  for (const std::string& name : path) {
    const Value* const fields = fields_of(*at);
    if (fields == nullptr || at->is_true_at(kKeepsUnknown) || at->find("additionalProperties") != nullptr)
      return std::nullopt;
    const Value* const next = fields->find(name);
    if (next == nullptr) {
      UnknownField unknown{name, {}};
      for (const Value::Member& each : fields->as_object()) unknown.known.push_back(each.key);
      return unknown;
    }
    at = next;
  }
  return std::nullopt;
}

const Value* record_at(const Value& schema, std::string_view keyword) {
  const Value* const found = schema.find(keyword);
  return found != nullptr && found->is_object() ? found : nullptr;
}

void fill_defaults(const Value& schema, Value& value) {
  if (const Value* const items = schema.find("items"); items != nullptr && value.is_array())
    for (Value& each : value.as_array()) fill_defaults(*items, each);
  if (!value.is_object()) return;
  drop_nulls(schema, value);
  if (const Value* const properties = fields_of(schema))
    for (const Value::Member& property : properties->as_object()) {
      if (const Value* const fallback = property.value.find("default");
          fallback != nullptr && !fallback->is_null() && value.find(property.key) == nullptr)
        value.set(property.key, *fallback);
      if (Value* const there = value.find(property.key)) fill_defaults(property.value, *there);
    }
  if (const Value* const others = schema.find("additionalProperties");
      others != nullptr && others->is_object())
    for (Value::Member& member : value.as_object()) fill_defaults(*others, member.value);
}

}  // namespace mist::blueprint
