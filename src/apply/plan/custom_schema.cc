#include "apply/plan/custom_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "apply/fields/keyed_lists.h"
#include "apply/plan/admission_change.h"
#include "base/text.h"
#include "encoding/member_finder.h"
#include "encoding/schema.h"

namespace mist::apply {
namespace {

using apimachinery::GroupKind;

// Kinds that may change an object before the server compares it with its schema. A policy changes nothing
// without a binding, but those come and go.
constexpr std::array<std::string_view, 2> kMutatingKinds{"MutatingWebhookConfiguration",
                                                         "MutatingAdmissionPolicy"};

bool flag(const Value& schema, std::string_view name) {
  const Value* found = schema.find(name);
  return found != nullptr && *found == Value(true);
}

// Keywords that mean the same in both dialects, and hold no schemas.
constexpr std::array<std::string_view, 12> kPlain{"enum",          "pattern",  "minLength",   "maxLength",
                                                  "minItems",      "maxItems", "uniqueItems", "minProperties",
                                                  "maxProperties", "required", "multipleOf",  "type"};

// The schema of every object's `metadata`, as meta/v1 ObjectMeta: CRDs leave it out, and the server
// adds it. A null is as good as nothing there.
const Value& object_meta() {
  static const Value schema = [] {
    const auto field = [](std::string_view type) {
      return Value::object({{"type", type}, {"nullable", true}});
    };
    const auto texts = [&] {
      return Value::object({{"type", "object"},
                            {"nullable", true},
                            {"additionalProperties", Value::object({{"type", "string"}})}});
    };
    const auto list = [](Value items) {
      return Value::object({{"type", "array"}, {"nullable", true}, {"items", std::move(items)}});
    };
    Value owner = Value::object({{"type", "object"},
                                 {"properties", Value::object({{"apiVersion", field("string")},
                                                               {"blockOwnerDeletion", field("boolean")},
                                                               {"controller", field("boolean")},
                                                               {"kind", field("string")},
                                                               {"name", field("string")},
                                                               {"uid", field("string")}})}});
    Value manager = Value::object({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
    return Value::object({{"type", "object"},
                          {"nullable", true},
                          {"properties", Value::object({{"annotations", texts()},
                                                        {"creationTimestamp", field("string")},
                                                        {"deletionGracePeriodSeconds", field("integer")},
                                                        {"deletionTimestamp", field("string")},
                                                        {"finalizers", list(field("string"))},
                                                        {"generateName", field("string")},
                                                        {"generation", field("integer")},
                                                        {"labels", texts()},
                                                        {"managedFields", list(std::move(manager))},
                                                        {"name", field("string")},
                                                        {"namespace", field("string")},
                                                        {"ownerReferences", list(std::move(owner))},
                                                        {"resourceVersion", field("string")},
                                                        {"selfLink", field("string")},
                                                        {"uid", field("string")}})}});
  }();
  return schema;
}

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
    if (flag(schema, "nullable")) allow_null(result);
    if (flag(schema, "x-kubernetes-embedded-resource")) add_metadata(result);
    return result;
  }

  static Value of_version(const Value& schema) {
    Value result = of(schema);
    if (result.is_object()) add_metadata(result);
    return result;
  }

 private:
  // The server knows its types whatever the CRD says; that may only say more.
  static void add_metadata(Value& result) {
    if (result.find("properties") == nullptr) result.set("properties", Value::object());
    Value& properties = *result.find("properties");
    Value metadata = of(object_meta());
    if (const Value* const own = properties.find("metadata"))
      metadata = Value::object({{"allOf", Value::array({*own, std::move(metadata)})}});
    properties.set("metadata", std::move(metadata));
  }

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

const Value* default_in(const Value* schema) { return schema == nullptr ? nullptr : schema->find("default"); }

// The schema of a member of an object; null: it has none.
class SchemasOfMembers {
 public:
  explicit SchemasOfMembers(const Value& schema)
      : properties_(schema.find("properties")), others_(schema.find("additionalProperties")) {}

  const Value* of(std::string_view name) const {
    if (const Value* const own = properties_.find(name)) return own;
    return others_ != nullptr && others_->is_object() ? others_ : nullptr;
  }

 private:
  encoding::MemberFinder properties_;
  const Value* others_;
};

// A POST takes these out before values are looked at: each null that its schema neither allows nor has a
// default for (PruneNonNullableNullsWithoutDefaults). Server-side apply leaves them in, and then refuses
// them.
void take_nulls(const Value& schema, Value& value) {
  if (value.is_array()) {
    const Value* const items = schema.find("items");
    if (items == nullptr) return;
    for (Value& item : value.as_array()) take_nulls(*items, item);
  }
  if (!value.is_object()) return;
  const SchemasOfMembers schemas(schema);
  std::erase_if(value.as_object(), [&](const Value::Member& member) {
    const Value* const known = schemas.of(member.key);
    return member.value.is_null() && known != nullptr && !flag(*known, "nullable") &&
           default_in(known) == nullptr;
  });
  for (Value::Member& member : value.as_object()) {
    if (const Value* const known = schemas.of(member.key)) take_nulls(*known, member.value);
  }
}

// Then it fills in defaults: for what is missing, and for null where that isn't allowed.
void fill_in(const Value& schema, Value& value) {
  const auto fill_null = [](const Value& known, Value& at) {
    const Value* const fallback = default_in(&known);
    if (at.is_null() && !flag(known, "nullable") && fallback != nullptr) at = *fallback;
  };
  if (value.is_array()) {
    const Value* const items = schema.find("items");
    if (items == nullptr) return;
    for (Value& item : value.as_array()) {
      fill_null(*items, item);
      fill_in(*items, item);
    }
  }
  if (!value.is_object()) return;
  if (const Value* properties = schema.find("properties"); properties != nullptr && properties->is_object()) {
    encoding::overlay_members(
        value, *properties, [](Value&, const Value&) {},
        [](const Value& schema_of_it) {
          const Value* const fallback = default_in(&schema_of_it);
          return fallback == nullptr ? std::nullopt : std::optional(*fallback);
        });
  }
  const SchemasOfMembers schemas(schema);
  for (Value::Member& member : value.as_object()) {
    const Value* const known = schemas.of(member.key);
    if (known == nullptr) continue;
    fill_null(*known, member.value);
    fill_in(*known, member.value);
  }
}

// One value that isn't as it must be.
struct Issue {
  std::string message;
  std::uint32_t line = 0;
  bool before_admission = false;  // the server finds it before it lets anybody change the object
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
  const encoding::MemberFinder fields(properties);
  for (const Value::Member& member : value.as_object()) {
    if (issues.size() >= kMost) return;
    if (whole_object && (member.key == "apiVersion" || member.key == "kind")) continue;
    const std::string below = path.empty() ? member.key : path + "." + member.key;
    if (whole_object && member.key == "metadata") {
      find_unknown(object_meta(), member.value, below, false, issues);
      continue;
    }
    const Value* known = fields.find(member.key);
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
                      member.value.position().line, true});
  }
}

// Items of one key: server-side apply refuses them.
void find_duplicate_items(const Value& schema, const Value& value, const std::string& path,
                          std::vector<Issue>& issues) {
  if (issues.size() >= kMost) return;
  if (value.is_array()) {
    const std::string_view type = schema.string_at("x-kubernetes-list-type");
    std::vector<std::string_view> keys;
    if (const Value* const named = schema.find("x-kubernetes-list-map-keys");
        type == "map" && named != nullptr && named->is_array()) {
      for (const Value& key : named->as_array()) {
        if (key.is_string()) keys.push_back(key.as_string());
      }
    }
    std::vector<DuplicateItem> found;
    if (type == "set" || !keys.empty()) find_duplicates(value, keys, path, found);
    for (const DuplicateItem& item : found)
      issues.push_back({fmt::format("{} has {} twice", item.list, item.key), item.line, true});
    const Value* const items = schema.find("items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.size(); ++i)
      find_duplicate_items(*items, value.as_array()[i], fmt::format("{}[{}]", path, i), issues);
    return;
  }
  if (!value.is_object()) return;
  const SchemasOfMembers schemas(schema);
  for (const Value::Member& member : value.as_object()) {
    if (const Value* const known = schemas.of(member.key))
      find_duplicate_items(*known, member.value, path.empty() ? member.key : path + "." + member.key, issues);
  }
}

// One version of a CRD.
struct Version {
  const Value* schema = nullptr;
  bool own_status = false;  // written by controllers through a subresource
  std::optional<encoding::Schema> compiled;
};

struct Crd {
  std::string name;
  std::map<std::string, Version, std::less<>> versions;
};

std::map<GroupKind, Crd> crds(const std::vector<DesiredObject>& desired) {
  std::map<GroupKind, Crd> result;
  for (const DesiredObject& object : desired) {
    if (object.key.group_kind != apimachinery::kCustomResourceDefinition) continue;
    const Value& manifest = object.rendered.object.value();
    const Value* versions = manifest.at_path({"spec", "versions"});
    if (versions == nullptr || !versions->is_array()) continue;
    Crd crd{object.key.name, {}};
    for (const Value& each : versions->as_array()) {
      Version version;
      version.schema = each.at_path({"schema", "openAPIV3Schema"});
      version.own_status = each.at_path({"subresources", "status"}) != nullptr;
      if (version.schema != nullptr && version.schema->is_object()) {
        auto compiled = encoding::Schema::compile(Translation::of_version(*version.schema));
        // A schema that can't be understood here is for the server to judge.
        if (compiled.ok()) version.compiled.emplace(*std::move(compiled));
      }
      crd.versions.emplace(std::string(each.string_at("name")), std::move(version));
    }
    result.insert_or_assign(apimachinery::defined_kind(manifest), std::move(crd));
  }
  return result;
}

std::vector<Issue> issues_of(const Crd& crd, const DesiredObject& object) {
  const std::string& wanted = object.rendered.object.gvk().version;
  const auto version = crd.versions.find(wanted);
  if (version == crd.versions.end())
    return {{fmt::format("the CRD {} of this release has no version {}", crd.name, wanted),
             object.rendered.line, true}};
  std::vector<Issue> issues;
  if (!version->second.compiled) return issues;
  Value value = object.rendered.object.value();
  if (version->second.own_status) value.erase("status");
  find_unknown(*version->second.schema, value, "", true, issues);
  find_duplicate_items(*version->second.schema, value, "", issues);
  Value filled = value;
  fill_in(*version->second.schema, filled);
  for (const encoding::SchemaIssue& issue : version->second.compiled->validate(filled)) {
    if (issues.size() >= kMost) break;
    issues.push_back(
        {issue.message, encoding::line_at(value, issue.fault()), issue.schema_path.ends_with("/type")});
  }
  return issues;
}

}  // namespace

void take_nulls_of_custom_resources(std::vector<DesiredObject>& desired) {
  std::map<apimachinery::GroupVersionKind, const Value*> schemas;
  for (const DesiredObject& object : desired) {
    if (object.key.group_kind != apimachinery::kCustomResourceDefinition) continue;
    const Value& crd = object.rendered.object.value();
    const GroupKind kind = apimachinery::defined_kind(crd);
    const Value* const versions = crd.at_path({"spec", "versions"});
    if (versions == nullptr || !versions->is_array()) continue;
    for (const Value& version : versions->as_array()) {
      const Value* const schema = version.at_path({"schema", "openAPIV3Schema"});
      if (schema != nullptr)
        schemas[{kind.group, std::string(version.string_at("name")), kind.kind}] = schema;
    }
  }
  for (DesiredObject& object : desired) {
    const auto schema = schemas.find(object.rendered.object.gvk());
    if (schema != schemas.end()) take_nulls(*schema->second, object.rendered.object.mutable_value());
  }
}

Result<std::vector<CustomResourceFault>> custom_resource_faults(const std::vector<DesiredObject>& desired,
                                                                const ChangesOnAdmission& changes) {
  const std::map<GroupKind, Crd> kinds = crds(desired);
  std::vector<CustomResourceFault> faults;
  if (kinds.empty()) return faults;
  std::map<GroupKind, bool> changed;
  for (const DesiredObject& object : desired) {
    const auto kind = kinds.find(object.key.group_kind);
    if (kind == kinds.end()) continue;
    for (Issue& issue : issues_of(kind->second, object)) {
      if (!issue.before_admission) {
        auto known = changed.find(object.key.group_kind);
        if (known == changed.end()) {
          MIST_TRY(const bool answer, changes(object));
          known = changed.emplace(object.key.group_kind, answer).first;
        }
        if (known->second) continue;
      }
      faults.push_back({&object, kind->second.name, std::move(issue.message), {.line = issue.line}});
    }
  }
  return faults;
}

std::string CustomResourceFault::words() const {
  return fmt::format("{} does not match its CRD: {}", object->key.display(), message);
}

Status check_custom_resources(const std::vector<DesiredObject>& desired, const ChangesOnAdmission& changes) {
  MIST_TRY(const std::vector<CustomResourceFault> faults, custom_resource_faults(desired, changes));
  if (faults.empty()) return {};
  const CustomResourceFault& first = faults.front();
  Error failure = error(ErrorKind::Invalid, "{}", first.words());
  failure.where = first.object->rendered.place(first.position);
  failure.hint = fmt::format("the schema is in CustomResourceDefinition {}", first.crd);
  const std::size_t shown = std::min(faults.size(), kMost);
  for (const CustomResourceFault& each : std::span(faults).first(shown).subspan(1))
    failure.frames.push_back(fmt::format("also: {}: {} ({})", each.object->key.display(), each.message,
                                         each.object->rendered.place(each.position).text()));
  if (faults.size() > shown) failure.frames.push_back(fmt::format("and {} more", faults.size() - shown));
  return failure;
}

bool changes_on_admission(const Value& configuration, std::string_view group, std::string_view resource) {
  return has_rule_for(configuration, group, resource, {"CREATE", "UPDATE"});
}

bool is_mutating_configuration(const GroupKind& kind) {
  return kind.group == "admissionregistration.k8s.io" &&
         std::ranges::find(kMutatingKinds, kind.kind) != kMutatingKinds.end();
}

ChangesOnAdmission changes_by(const std::vector<DesiredObject>& desired) {
  return [&desired](const DesiredObject& object) -> Result<bool> {
    return std::ranges::any_of(desired, [&](const DesiredObject& each) {
      return is_mutating_configuration(each.key.group_kind) &&
             changes_on_admission(each.rendered.object.value(), object.key.group_kind.group,
                                  object.resource.resource);
    });
  };
}

ChangesOnAdmission changes_by(const std::vector<DesiredObject>& desired, kube::Client& client,
                              const Context& context) {
  return [&desired, &client, &context](const DesiredObject& object) -> Result<bool> {
    MIST_TRY(const bool own, changes_by(desired)(object));
    if (own) return true;
    for (const std::string_view kind : kMutatingKinds) {
      auto resource = client.resource_for({"admissionregistration.k8s.io", std::string(kind)}, "", context);
      if (!resource.ok() && resource.error().kind == ErrorKind::NotFound) continue;
      if (!resource.ok()) return std::move(resource).error();
      const auto listed = client.list(*resource, {}, context);
      // Without a look at them nobody knows; the server does.
      if (!listed.ok() && listed.error().kind == ErrorKind::Forbidden) return true;
      if (!listed.ok()) return listed.error();
      const bool found = std::ranges::any_of(listed->items, [&](const Value& each) {
        return changes_on_admission(each, object.key.group_kind.group, object.resource.resource);
      });
      if (found) return true;
    }
    return false;
  };
}

}  // namespace mist::apply
