#include "apimachinery/object_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "apimachinery/quantity.h"
#include "base/text.h"
#include "encoding/member_finder.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;

constexpr std::size_t kMostOfAnObject = 100;
constexpr int kDeepestValue = 128;
constexpr std::string_view kStatus = "status";

bool is_set(const Value& schema, std::string_view name) {
  const Value* const found = schema.find(name);
  return found != nullptr && *found == Value(true);
}

std::string path_below(const std::string& path, const std::string& key) {
  if (key.find_first_of("./[") != std::string::npos) return fmt::format("{}[{}]", path, key);
  return path.empty() ? key : path + "." + key;
}

std::string_view with_article(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Null:
      return "null";
    case Value::Kind::Bool:
      return "a boolean";
    case Value::Kind::Int:
    case Value::Kind::UInt:
      return "an integer";
    case Value::Kind::Double:
      return "a number";
    case Value::Kind::String:
      return "a string";
    case Value::Kind::Array:
      return "a list";
    case Value::Kind::Object:
      return "a map";
  }
  return "something else";
}

// The types of a schema, and what may stand where they are asked for. Server-side apply takes any number for
// an integer; whether it has a fraction is found out later.
struct SchemaType {
  std::string_view name;
  std::string_view words;
  bool (*fits)(const Value& value);
};
constexpr std::array<SchemaType, 6> kSchemaTypes{{
    {"array", "a list", [](const Value& value) { return value.is_array(); }},
    {"boolean", "a boolean", [](const Value& value) { return value.is_bool(); }},
    {"integer", "an integer", [](const Value& value) { return value.is_number(); }},
    {"number", "a number", [](const Value& value) { return value.is_number(); }},
    {"object", "a map", [](const Value& value) { return value.is_object(); }},
    {"string", "a string", [](const Value& value) { return value.is_string(); }},
}};

// Fields that a schema of Kubernetes calls required although its server takes their absence for zero or
// nothing. The tables of KubeTypes leave them out already (tools/kube-schemas/make.py).
struct NotMissed {
  std::string_view schema;
  std::array<std::string_view, 2> fields;
};
constexpr std::array kNotMissed{
    NotMissed{"io.k8s.api.apps.v1.ControllerRevision", {"revision"}},
    NotMissed{"io.k8s.api.core.v1.HTTPHeader", {"value"}},
    NotMissed{"io.k8s.api.core.v1.ISCSIPersistentVolumeSource", {"lun"}},
    NotMissed{"io.k8s.api.core.v1.ISCSIVolumeSource", {"lun"}},
    NotMissed{"io.k8s.api.core.v1.LimitRangeSpec", {"limits"}},
    NotMissed{"io.k8s.api.core.v1.PreferredSchedulingTerm", {"preference"}},
    NotMissed{"io.k8s.api.core.v1.SleepAction", {"seconds"}},
    NotMissed{"io.k8s.api.core.v1.Sysctl", {"value"}},
    NotMissed{"io.k8s.api.discovery.v1.EndpointSlice", {"endpoints"}},
    NotMissed{"io.k8s.api.rbac.v1.RoleRef", {"apiGroup"}},
    NotMissed{"io.k8s.api.resource.v1.DeviceClass", {"spec"}},
    NotMissed{"io.k8s.api.resource.v1.ResourceClaim", {"spec"}},
    NotMissed{"io.k8s.api.resource.v1.ResourceClaimTemplate", {"spec"}},
    NotMissed{"io.k8s.api.resource.v1.ResourceClaimTemplateSpec", {"spec"}},
    NotMissed{"io.k8s.api.scheduling.v1.PriorityClass", {"value"}},
    NotMissed{"io.k8s.api.storage.v1.CSIDriver", {"spec"}},
    NotMissed{"io.k8s.api.storage.v1.CSINodeSpec", {"drivers"}},
    NotMissed{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion",
              {"served", "storage"}},
};

constexpr std::string_view kQuantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";

bool is_missed(std::string_view schema, std::string_view field) {
  const auto row = std::ranges::find(kNotMissed, schema, &NotMissed::schema);
  return row == kNotMissed.end() || std::ranges::find(row->fields, field) == row->fields.end();
}

// The schemas of a group version, by name.
class SchemaNames {
 public:
  explicit SchemaNames(const Value& schemas) : finder_(&schemas) {}

  // The schema that a $ref means, directly or as the only part of an allOf, as server-side apply reads it.
  // `called`: its name, if it was one.
  const Value* resolve(const Value* schema, std::string_view& called) const {
    constexpr std::string_view kPrefix = "#/components/schemas/";
    for (int hops = 0; hops < 16 && schema != nullptr; ++hops) {
      std::string_view name = schema->string_at("$ref");
      const Value* const parts = schema->find("allOf");
      if (name.empty() && parts != nullptr && parts->is_array() && parts->size() == 1)
        name = parts->as_array().front().string_at("$ref");
      if (name.empty()) return schema;
      if (!name.starts_with(kPrefix)) return nullptr;
      called = name.substr(kPrefix.size());
      schema = finder_.find(called);
    }
    return nullptr;
  }

 private:
  encoding::MemberFinder finder_;
};

// As structured-merge-diff checks a value against the type that kube-openapi/pkg/schemaconv makes of a
// schema.
class SchemaWalk {
 public:
  SchemaWalk(const Value& schemas, RequiredFields required) : names_(schemas), required_(required) {}

  /// An object of the kind that the schema of that name describes.
  void look_at_object(std::string_view name, const Value& schema, const Value& value) {
    look_at_value(name, schema, value, "", false, 0);
  }

  std::vector<SchemaProblem> take() && { return std::move(problems_); }

 private:
  void look_at(const Value& at, const Value& value, const std::string& path, bool keeps_unknown, int depth) {
    // Null is as good as nothing.
    if (value.is_null() || depth > kDeepestValue || problems_.size() >= kMostOfAnObject) return;
    std::string_view name;
    const Value* const found = names_.resolve(&at, name);
    if (found == nullptr || !found->is_object()) return;
    // A schema's rule for unknown fields covers the fields written inside it, not other named types.
    look_at_value(name, *found, value, path, keeps_unknown && name.empty(), depth);
  }

  void look_at_value(std::string_view name, const Value& schema, const Value& value, const std::string& path,
                     bool keeps_unknown, int depth) {
    keeps_unknown = keeps_unknown || is_set(schema, "x-kubernetes-preserve-unknown-fields");
    if (!has_type(schema, value, path)) return;
    if (value.is_string()) look_at_choices(schema, value, path);
    if (value.is_string() && name == kQuantity && !is_quantity(value.as_string()))
      not_a_quantity(value, path);
    if (value.is_array()) look_at_items(schema, value, path, keeps_unknown, depth);
    if (!value.is_object()) return;
    look_at_members(schema, value, path, keeps_unknown, depth);
    if (required_ == RequiredFields::Checked && path != kStatus) look_for_required(name, schema, value, path);
  }

  bool has_type(const Value& schema, const Value& value, const std::string& path) {
    const std::string_view name = schema.string_at("type");
    const auto type = std::ranges::find(kSchemaTypes, name, &SchemaType::name);
    if (type == kSchemaTypes.end() || is_set(schema, "x-kubernetes-int-or-string") ||
        schema.string_at("format") == "int-or-string")
      return true;
    const bool fits = type->fits(value);
    const bool fraction = name == "integer" && value.kind() == Value::Kind::Double &&
                          std::trunc(value.as_double()) != value.as_double();
    if (fits && !fraction) return true;
    problems_.push_back({path,
                         fmt::format("it must be {}, and is {}", type->words, with_article(value.kind())),
                         {},
                         value.position(),
                         !fits});
    return false;
  }

  // The server can't even read the object then.
  void not_a_quantity(const Value& value, const std::string& path) {
    problems_.push_back({path, "it is no quantity, as 500m, 0.5 and 64Mi are",
                         nearest_quantity(value.as_string()), value.position(), true});
  }

  // "" stands for the default.
  void look_at_choices(const Value& schema, const Value& value, const std::string& path) {
    const Value* const choices = schema.find("enum");
    if (choices == nullptr || !choices->is_array() || value.as_string().empty()) return;
    std::vector<std::string_view> names;
    for (const Value& choice : choices->as_array()) {
      if (choice == value) return;
      if (choice.is_string() && !choice.as_string().empty()) names.push_back(choice.as_string());
    }
    constexpr std::size_t kMostChoices = 12;
    std::string message = names.size() > kMostChoices
                              ? std::string("it is not one of the allowed values")
                              : fmt::format("it must be one of {}", fmt::join(names, ", "));
    problems_.push_back(
        {path, std::move(message), std::string(nearest(value.as_string(), names)), value.position(), false});
  }

  void look_at_items(const Value& schema, const Value& value, const std::string& path, bool keeps_unknown,
                     int depth) {
    const Value* const items = schema.find("items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.size(); ++i)
      look_at(*items, value.as_array()[i], fmt::format("{}[{}]", path, i), keeps_unknown, depth + 1);
  }

  void look_at_members(const Value& schema, const Value& value, const std::string& path, bool keeps_unknown,
                       int depth) {
    const Value* const properties = schema.find("properties");
    const Value* const others = schema.find("additionalProperties");
    const bool described = properties != nullptr && properties->size() > 0;
    const bool free =
        keeps_unknown || (others == nullptr && !described) || (others != nullptr && *others == Value(true));
    const bool whole_object = path.empty() || is_set(schema, "x-kubernetes-embedded-resource");
    const encoding::MemberFinder known(properties);
    for (const Value::Member& member : value.as_object()) {
      if (const Value* const own = known.find(member.key)) {
        look_at(*own, member.value, path_below(path, member.key), keeps_unknown, depth + 1);
      } else if (others != nullptr && others->is_object()) {
        look_at(*others, member.value, path_below(path, member.key), keeps_unknown, depth + 1);
      } else if (!free && !member.value.is_null() && !(whole_object && is_of_every_object(member.key))) {
        unknown(properties, member, path_below(path, member.key));
      }
    }
  }

  void look_for_required(std::string_view called, const Value& schema, const Value& value,
                         const std::string& path) {
    const Value* const names = schema.find("required");
    if (names == nullptr || !names->is_array()) return;
    const encoding::MemberFinder members(&value);
    for (const Value& name : names->as_array()) {
      if (!name.is_string() || problems_.size() >= kMostOfAnObject) continue;
      const Value* const member = members.find(name.as_string());
      if (member != nullptr && !member->is_null()) continue;
      if (!is_missed(called, name.as_string()) || has_default(called, schema, name.as_string())) continue;
      problems_.push_back({path_below(path, name.as_string()),
                           "it is required, and missing",
                           {},
                           member == nullptr ? value.position() : member->position(),
                           false});
    }
  }

  // Those of Kubernetes' own types are Go's zero values, which its servers refuse like nothing at all.
  static bool has_default(std::string_view called, const Value& schema, std::string_view field) {
    return !called.starts_with("io.k8s.") && schema.at_path({"properties", field, "default"}) != nullptr;
  }

  static bool is_of_every_object(std::string_view name) {
    return name == "apiVersion" || name == "kind" || name == "metadata";
  }

  void unknown(const Value* properties, const Value::Member& member, std::string path) {
    if (problems_.size() >= kMostOfAnObject) return;
    std::vector<std::string_view> names;
    if (properties != nullptr && properties->is_object()) {
      for (const Value::Member& each : properties->as_object()) names.push_back(each.key);
    }
    problems_.push_back({std::move(path), "there is no such field", std::string(nearest(member.key, names)),
                         member.value.position(), true});
  }

  const SchemaNames names_;
  const RequiredFields required_;
  std::vector<SchemaProblem> problems_;
};

const Value::Member* schema_of(const Value& schemas, const GroupVersionKind& gvk) {
  if (!schemas.is_object()) return nullptr;
  for (const Value::Member& member : schemas.as_object()) {
    const Value* const kinds = member.value.find("x-kubernetes-group-version-kind");
    if (kinds == nullptr || !kinds->is_array()) continue;
    const bool found = std::ranges::any_of(kinds->as_array(), [&](const Value& each) {
      return each.string_at("kind") == gvk.kind && each.string_at("group") == gvk.group &&
             each.string_at("version") == gvk.version;
    });
    if (found) return &member;
  }
  return nullptr;
}

}  // namespace

std::string SchemaProblem::words() const {
  return instead.empty() ? fmt::format("{}: {}", path, message)
                         : fmt::format("{}: {} (did you mean {}?)", path, message, instead);
}

std::vector<SchemaProblem> schema_problems(const Object& object, const Value& schemas,
                                           RequiredFields required) {
  const Value::Member* const schema = schema_of(schemas, object.gvk());
  if (schema == nullptr) return {};
  SchemaWalk walk(schemas, required);
  walk.look_at_object(schema->key, schema->value, object.value());
  return std::move(walk).take();
}

}  // namespace mist::apimachinery
