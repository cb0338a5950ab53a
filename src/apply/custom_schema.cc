#include "apply/custom_schema.h"

#include <array>
#include <map>
#include <optional>

#include "base/text.h"
#include "encoding/schema.h"

namespace mist::apply {
namespace {

using apimachinery::GroupKind;

bool flag(const Value& schema, std::string_view name) {
  const Value* found = schema.find(name);
  return found != nullptr && *found == Value(true);
}

// Keywords that mean the same in both dialects, and hold no schemas.
constexpr std::array<std::string_view, 12> kPlain{"enum",          "pattern",  "minLength",   "maxLength",
                                                  "minItems",      "maxItems", "uniqueItems", "minProperties",
                                                  "maxProperties", "required", "multipleOf",  "type"};

// OpenAPI 3.0 as CustomResourceDefinitions have it → JSON Schema 2020-12.
class Translation {
 public:
  static Value of(const Value& schema) {
    if (!schema.is_object()) return Value(true);
    Value result = Value::object();
    for (const std::string_view name : kPlain) {
      if (const Value* value = schema.find(name)) result.set(name, *value);
    }
    bound(schema, result, "minimum", "exclusiveMinimum");
    bound(schema, result, "maximum", "exclusiveMaximum");
    members(schema, result);
    for (const std::string_view name : {"allOf", "anyOf", "oneOf"}) {
      const Value* parts = schema.find(name);
      if (parts == nullptr || !parts->is_array()) continue;
      Value::Array translated;
      for (const Value& part : parts->as_array()) translated.push_back(of(part));
      result.set(name, Value(std::move(translated)));
    }
    if (const Value* other = schema.find("not")) result.set("not", of(*other));
    if (const Value* items = schema.find("items")) result.set("items", of(*items));
    if (flag(schema, "x-kubernetes-int-or-string")) {
      result.erase("type");
      result.erase("anyOf");
      result.set("type", Value::array({"integer", "string"}));
    }
    // Null where a default stands is taken out before the default is filled in.
    if (flag(schema, "nullable") || schema.find("default") != nullptr) allow_null(result);
    return result;
  }

 private:
  static void bound(const Value& schema, Value& result, std::string_view name, std::string_view exclusive) {
    const Value* value = schema.find(name);
    if (value != nullptr) result.set(flag(schema, exclusive) ? exclusive : name, *value);
  }

  static void members(const Value& schema, Value& result) {
    if (const Value* properties = schema.find("properties");
        properties != nullptr && properties->is_object()) {
      Value translated = Value::object();
      for (const Value::Member& member : properties->as_object())
        translated.set(member.key, of(member.value));
      result.set("properties", std::move(translated));
    }
    if (const Value* others = schema.find("additionalProperties"); others != nullptr && others->is_object())
      result.set("additionalProperties", of(*others));
  }

  static void allow_null(Value& result) {
    const Value* type = result.find("type");
    if (type == nullptr) return;
    Value::Array types = type->is_array() ? type->as_array() : Value::Array{*type};
    types.emplace_back("null");
    result.set("type", Value(std::move(types)));
    if (Value* choices = result.find("enum"); choices != nullptr && choices->is_array())
      choices->push_back(Value());
  }
};

// Fills in what is missing and has a default, as the server does before it looks.
void fill_in(const Value& schema, Value& value) {
  if (const Value* properties = schema.find("properties");
      properties != nullptr && properties->is_object() && value.is_object()) {
    for (const Value::Member& member : properties->as_object()) {
      const Value* fallback = member.value.find("default");
      if (value.find(member.key) == nullptr && fallback != nullptr) value.set(member.key, *fallback);
      if (Value* inner = value.find(member.key)) fill_in(member.value, *inner);
    }
  }
  if (const Value* others = schema.find("additionalProperties");
      others != nullptr && others->is_object() && value.is_object()) {
    for (Value::Member& member : value.as_object()) fill_in(*others, member.value);
  }
  if (const Value* items = schema.find("items"); items != nullptr && value.is_array()) {
    for (Value& item : value.as_array()) fill_in(*items, item);
  }
}

// One value that isn't as it must be.
struct Issue {
  std::string message;
  std::uint32_t line = 0;
};

constexpr std::size_t kMost = 20;

// Fields that no schema knows: server-side apply refuses them.
void find_unknown(const Value& schema, const Value& value, const std::string& path, bool root,
                  std::vector<Issue>& issues) {
  if (issues.size() >= kMost) return;
  if (value.is_array()) {
    const Value* items = schema.find("items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.size(); ++i)
      find_unknown(*items, value.as_array()[i], fmt::format("{}[{}]", path, i), false, issues);
    return;
  }
  if (!value.is_object()) return;
  const Value* properties = schema.find("properties");
  const Value* others = schema.find("additionalProperties");
  const bool free =
      flag(schema, "x-kubernetes-preserve-unknown-fields") || (others != nullptr && *others == Value(true));
  const bool whole_object = root || flag(schema, "x-kubernetes-embedded-resource");
  for (const Value::Member& member : value.as_object()) {
    if (whole_object && (member.key == "apiVersion" || member.key == "kind" || member.key == "metadata"))
      continue;
    const std::string below = path.empty() ? member.key : path + "." + member.key;
    const Value* known = properties == nullptr ? nullptr : properties->find(member.key);
    if (known == nullptr && others != nullptr && others->is_object()) known = others;
    if (known != nullptr) {
      find_unknown(*known, member.value, below, false, issues);
      continue;
    }
    if (free) continue;
    std::vector<std::string_view> candidates;
    if (properties != nullptr && properties->is_object()) {
      for (const Value::Member& each : properties->as_object()) candidates.push_back(each.key);
    }
    const std::string_view close = nearest(member.key, candidates);
    issues.push_back({fmt::format("{}: the schema has no such field{}", below,
                                  close.empty() ? "" : fmt::format(" (did you mean {}?)", close)),
                      member.value.position().line});
  }
}

// One version of a definition.
struct Version {
  const Value* schema = nullptr;
  bool own_status = false;  // written by controllers through a subresource
  std::optional<encoding::Schema> compiled;
};

struct Definition {
  std::string name;
  std::map<std::string, Version, std::less<>> versions;
};

std::map<GroupKind, Definition> definitions(const std::vector<DesiredObject>& desired) {
  std::map<GroupKind, Definition> result;
  for (const DesiredObject& object : desired) {
    if (object.key.group_kind != apimachinery::kCustomResourceDefinition) continue;
    const Value& crd = object.rendered.object.value();
    const Value* versions = crd.at_path({"spec", "versions"});
    if (versions == nullptr || !versions->is_array()) continue;
    Definition definition{object.key.name, {}};
    for (const Value& each : versions->as_array()) {
      Version version;
      version.schema = each.at_path({"schema", "openAPIV3Schema"});
      version.own_status = each.at_path({"subresources", "status"}) != nullptr;
      if (version.schema != nullptr && version.schema->is_object()) {
        auto compiled = encoding::Schema::compile(Translation::of(*version.schema));
        // A schema that can't be understood here is for the server to judge.
        if (compiled.ok()) version.compiled.emplace(*std::move(compiled));
      }
      definition.versions.emplace(std::string(each.string_at("name")), std::move(version));
    }
    result.insert_or_assign(apimachinery::defined_kind(crd), std::move(definition));
  }
  return result;
}

std::vector<Issue> issues_of(const Definition& definition, const DesiredObject& object) {
  const std::string& wanted = object.rendered.object.gvk().version;
  const auto version = definition.versions.find(wanted);
  if (version == definition.versions.end())
    return {{fmt::format("the definition {} of this release has no version {}", definition.name, wanted),
             object.rendered.line}};
  std::vector<Issue> issues;
  if (!version->second.compiled) return issues;
  Value value = object.rendered.object.value();
  if (version->second.own_status) value.erase("status");
  find_unknown(*version->second.schema, value, "", true, issues);
  Value filled = value;
  fill_in(*version->second.schema, filled);
  for (const encoding::SchemaIssue& issue : version->second.compiled->validate(filled)) {
    if (issues.size() >= kMost) break;
    issues.push_back({issue.message, encoding::line_at(value, issue.instance_path)});
  }
  return issues;
}

}  // namespace

Status check_custom_resources(const std::vector<DesiredObject>& desired) {
  const std::map<GroupKind, Definition> kinds = definitions(desired);
  if (kinds.empty()) return {};
  std::optional<Error> failure;
  std::size_t count = 0;
  for (const DesiredObject& object : desired) {
    const auto kind = kinds.find(object.key.group_kind);
    if (kind == kinds.end()) continue;
    for (const Issue& issue : issues_of(kind->second, object)) {
      ++count;
      const std::uint32_t line = issue.line == 0 ? object.rendered.line : issue.line;
      if (!failure) {
        failure = error(ErrorKind::Invalid, "{} is not as its definition wants it: {}", object.key.display(),
                        issue.message);
        failure->where = SourceLocation{object.rendered.file, line, 0, {}};
        failure->hint = fmt::format("the schema is in CustomResourceDefinition {}", kind->second.name);
      } else if (count <= kMost) {
        failure->frames.push_back(fmt::format("also: {}: {} ({}:{})", object.key.display(), issue.message,
                                              object.rendered.file, line));
      }
    }
  }
  if (!failure) return {};
  if (count > kMost) failure->frames.push_back(fmt::format("and {} more", count - kMost));
  return *std::move(failure);
}

}  // namespace mist::apply
