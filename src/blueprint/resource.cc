#include "blueprint/resource.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "blueprint/rule_cost.h"
#include "blueprint/schema_change.h"
#include "blueprint/structural_schema.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";

struct ModeWord {
  std::string_view word;
  CrdMode mode;
};
constexpr std::array<ModeWord, 3> kModes{
    {{"manage", CrdMode::Manage}, {"await", CrdMode::Await}, {"publish", CrdMode::Publish}}};

Value texts_value(const std::vector<std::string>& texts) {
  return Value(Value::Array(texts.begin(), texts.end()));
}

// RFC 1035: what begins with a letter. The server asks it of all names in a CRD.
bool is_dns1035_label(std::string_view text) {
  return is_dns1123_label(text) && !(text.front() >= '0' && text.front() <= '9');
}

// Whether a JSONPath ends all brackets and quotes that it begins: else the server shows none of the columns.
bool is_closed_path(std::string_view path) {
  std::string open;
  char quote = '\0';
  for (const char c : path) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '(') {
      open += c;
    } else if (c == ']' || c == ')') {
      if (open.empty() || open.back() != (c == ']' ? '[' : '(')) return false;
      open.pop_back();
    } else if (c == '{' || c == '}') {
      return false;
    }
  }
  return open.empty() && quote == '\0';
}

bool is_protected_group(std::string_view group) {
  return group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") ||
         group.ends_with(".kubernetes.io");
}

SchemaNote note_of(const Value& told, std::string_view part, const std::string& version) {
  const std::string_view path = told.string_at("path");
  const std::string_view dot = path.empty() || path.starts_with("[") ? "" : ".";
  return {version, fmt::format("{}{}{}", part, dot, path), std::string(told.string_at("what"))};
}

std::string words_of(const SchemaNote& note) {
  return fmt::format("the contract of {} in version {}: {}", note.path, note.version, note.what);
}

Value any_object() { return Value::object({{"type", "object"}, {kPreserve, true}}); }

class ResourceReader {
 public:
  ResourceReader(const Value& description, std::vector<Error>& faults, Standing standing)
      : kind_(*description.find("kind")), contracts_(description.find("contracts")), faults_(faults) {
    resource_.standing = standing;
  }

  std::optional<CustomResource> read() {
    const Value* crd = kind_.find("crd");
    if (crd == nullptr || !crd->is_object()) return std::nullopt;
    const auto mode = std::ranges::find(kModes, crd->string_at("mode"), &ModeWord::word);
    if (mode != kModes.end()) resource_.mode = mode->mode;
    resource_.adopt = crd->is_true_at("adopt");
    resource_.stored = crd->string_at("stored");
    resource_.plural = crd->string_at("plural");
    if (resource_.plural.empty()) resource_.plural = usual_plural(kind_.string_at("kind"));
    resource_.singular = crd->string_at("singular");
    if (resource_.singular.empty()) resource_.singular = lower_case(kind_.string_at("kind"));
    resource_.short_names = crd->texts_at("short_names");
    resource_.categories = crd->texts_at("categories");
    read_columns(*crd);
    read_versions(*crd);
    check_names();
    // One that others write has names, columns and warnings of theirs.
    if (resource_.mode != CrdMode::Await) check_as_server();
    check_versions();
    return std::move(resource_);
  }

 private:
  void refuse(std::string message, std::string hint = {}) {
    faults_.push_back(error(ErrorKind::Invalid, "{}", message));
    faults_.back().hint = std::move(hint);
  }

  bool is_in_force() const { return resource_.standing == Standing::InForce; }

  // Of a fault that operators before this one didn't look for.
  void refuse_if_new(const SchemaNote& note) {
    std::string words = words_of(note);
    if (is_in_force()) return resource_.tolerated.push_back(std::move(words));
    refuse(std::move(words));
  }

  // The same of what isn't part of a contract.
  void refuse_part_if_new(std::string words, std::string hint = {}) {
    if (is_in_force()) return resource_.tolerated.push_back(std::move(words));
    refuse(std::move(words), std::move(hint));
  }

  void read_columns(const Value& crd) {
    const Value* list = crd.find("columns");
    if (list == nullptr || !list->is_array()) return;
    for (const Value& each : list->as_array())
      resource_.columns.push_back({std::string(each.string_at("name")), std::string(each.string_at("path")),
                                   std::string(each.string_at("type")), each.is_true_at("wide")});
  }

  void read_versions(const Value& crd) {
    const Value* versions = crd.find("versions");
    if (versions == nullptr || !versions->is_object()) return;
    for (const Value::Member& each : versions->as_object()) {
      ResourceVersion version{.name = each.key,
                              .served = each.value.is_true_at("served"),
                              .deprecated = std::string(each.value.string_at("deprecated"))};
      version.converts = each.value.is_true_at("to_hub");
      if (version.converts != each.value.is_true_at("from_hub"))
        refuse(fmt::format("version {} has {} and no {}", each.key, version.converts ? "to_hub" : "from_hub",
                           version.converts ? "from_hub" : "to_hub"),
               "objects are converted both ways: give it both functions");
      version.spec = schema_of("spec", each.key);
      version.status = schema_of("status", each.key);
      version.spec_required = is_spec_required(version.spec, each.key);
      if (kind_.is_true_at("has_spec") && each.key == kind_.string_at("version") && version.spec.is_null())
        refuse(fmt::format("the contract of the spec in version {} could not be described", each.key));
      resource_.versions.push_back(std::move(version));
    }
    std::ranges::sort(resource_.versions, {}, &ResourceVersion::name);
  }

  Value schema_of(std::string_view part, const std::string& version) {
    const Value* said =
        contracts_ == nullptr ? nullptr : contracts_->find(fmt::format("{}/{}", part, version));
    if (said == nullptr || said->find("schema") == nullptr) return {};
    const Value* const frozen = said->find("frozen");
    const bool is_frozen = is_in_force() && frozen != nullptr && frozen->is_object();
    Value schema = is_frozen ? *frozen : *said->find("schema");
    take_notes(*said, "unsaid", part, version, resource_.unsaid);
    take_notes(*said, "beyond", part, version, resource_.beyond);
    take_faults(*said, part, version);
    if (schema.string_at("type").empty()) schema.set("type", "object");
    if (schema.string_at("type") != "object")
      refuse(fmt::format(
          "the contract of the {} in version {} is one of a {}, and a custom resource has a record there",
          part, version, schema.string_at("type")));
    const auto placed = [&](std::string_view path) { return fmt::format("{}{}", part, path); };
    if (part == "status") make_room_for_conditions(schema, version);
    for (const SchemaPlace& each : make_structural(schema))
      resource_.unsaid.push_back({version, placed(each.path), each.what});
    // One that others write asks in its own words.
    if (resource_.mode != CrdMode::Await) {
      std::vector<SchemaPlace> refused = refused_by_server(schema);
      // The server looks at rules only where it takes the rest.
      if (refused.empty()) refused = refused_rules(schema);
      for (const SchemaPlace& each : refused) refuse_if_new({version, placed(each.path), each.what});
    }
    return schema;
  }

  // Beside fields with names the server takes no schema of all others.
  void make_room_for_conditions(Value& schema, const std::string& version) {
    if (!schema.erase("additionalProperties")) return;
    schema.set(kPreserve, true);
    resource_.unsaid.push_back({version, "status", "a contract of each of its fields"});
  }

  // Where the contract refuses a spec in which nothing is set, there is no default for a missing one.
  bool is_spec_required(const Value& spec, const std::string& version) const {
    if (spec.is_null()) return false;
    if (spec.find("required") != nullptr) return true;
    if (!asks_of_empty(spec) || is_in_force()) return false;
    Value whole = Value::object();
    fill_defaults(spec, whole);
    const Value* const takes_empty = contracts_->at_path({fmt::format("spec/{}", version), "takes_empty"});
    return static_cast<std::int64_t>(whole.size()) < spec.int_at("minProperties") ||
           (takes_empty != nullptr && *takes_empty == Value(false));
  }

  void take_faults(const Value& said, std::string_view part, const std::string& version) {
    const Value* all = said.find("faults");
    if (all == nullptr || !all->is_array()) return;
    for (const Value& each : all->as_array()) {
      const SchemaNote note = note_of(each, part, version);
      if (each.is_true_at("computed") || each.is_true_at("late"))
        refuse_if_new(note);
      else
        refuse(words_of(note));
    }
  }

  static void take_notes(const Value& said, std::string_view list, std::string_view part,
                         const std::string& version, std::vector<SchemaNote>& notes) {
    const Value* all = said.find(list);
    if (all == nullptr || !all->is_array()) return;
    for (const Value& each : all->as_array()) notes.push_back(note_of(each, part, version));
  }

  void check_names() {
    const std::string_view group = kind_.string_at("group"), kind = kind_.string_at("kind");
    if (!is_dns1123_subdomain(group) || group.find('.') == std::string_view::npos)
      refuse(fmt::format("\"{}\" can't be the API group of a CRD", escape_controls(group)),
             "a domain name of yours: example.com");
    if (!is_dns1123_label(lower_case(kind)))
      refuse(fmt::format("\"{}\" can't be the kind of a CRD", escape_controls(kind)));
    for (const std::string* name : {&resource_.plural, &resource_.singular})
      if (!is_dns1123_label(*name))
        refuse(fmt::format("\"{}\" can't be the plural or singular of a CRD", escape_controls(*name)),
               "lower-case letters, digits and dashes");
    for (const ResourceVersion& each : resource_.versions)
      if (!is_dns1123_label(each.name))
        refuse(fmt::format("\"{}\" can't be the name of a version", escape_controls(each.name)),
               "v1, v1beta1, v2alpha1");
  }

  // The server refuses this of a CRD, and operators before this one left it to that.
  void check_as_server() {
    const std::string_view group = kind_.string_at("group");
    if (is_protected_group(group))
      refuse_part_if_new(fmt::format("the API group {} belongs to the Kubernetes project, which has to "
                                     "approve a CRD of it",
                                     escape_controls(group)),
                         "a domain name of yours: example.com");
    const auto check_label = [&](std::string_view name, std::string_view what) {
      if (!is_dns1035_label(name))
        refuse_part_if_new(fmt::format("\"{}\" can't be {} of a CRD", escape_controls(name), what),
                           "lower-case letters, digits and dashes, beginning with a letter");
    };
    // A name that is no label at all is refused above.
    for (const std::string* name : {&resource_.plural, &resource_.singular})
      if (is_dns1123_label(*name)) check_label(*name, "the plural or singular");
    for (const ResourceVersion& each : resource_.versions) {
      if (is_dns1123_label(each.name)) check_label(each.name, "the name of a version");
      check_deprecation(each);
    }
    for (const std::string& each : resource_.short_names) check_label(each, "a short name");
    for (const std::string& each : resource_.categories) check_label(each, "a category");
    for (const ResourceColumn& each : resource_.columns) check_column(each);
  }

  void check_deprecation(const ResourceVersion& version) {
    constexpr std::size_t kLongestWarning = 256;
    const bool is_plain = std::ranges::none_of(version.deprecated, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
    });
    if (!is_plain || version.deprecated.size() > kLongestWarning)
      refuse_part_if_new(
          fmt::format("the warning of version {}, deprecated, has to be one line of at most {} "
                      "bytes",
                      escape_controls(version.name), kLongestWarning));
  }

  void check_column(const ResourceColumn& each) {
    constexpr std::array<std::string_view, 5> kColumnTypes{"string", "integer", "number", "boolean", "date"};
    if (each.name.empty()) refuse_part_if_new("a column has no name");
    if (std::ranges::find(kColumnTypes, each.type) == kColumnTypes.end())
      refuse_part_if_new(fmt::format("the column {} has the type \"{}\"", escape_controls(each.name),
                                     escape_controls(each.type)),
                         "it is one of string, integer, number, boolean, date");
    if (each.path.empty() || !is_closed_path(each.path))
      refuse_part_if_new(fmt::format("\"{}\", of the column {}, is no JSONPath", escape_controls(each.path),
                                     escape_controls(each.name)),
                         "as kubectl has it, without braces: spec.size, status.nodes[0].ip");
  }

  // All versions are one object in another spelling: without functions that convert it nothing changes but
  // apiVersion, and the server drops what the version that was asked for doesn't have.
  void check_versions() {
    if (std::ranges::find(resource_.versions, resource_.stored, &ResourceVersion::name) ==
        resource_.versions.end())
      refuse(fmt::format("objects are to be stored in version {}, which the blueprint doesn't declare",
                         resource_.stored));
    const auto read_in =
        std::ranges::find(resource_.versions, kind_.string_at("version"), &ResourceVersion::name);
    if (read_in == resource_.versions.end()) return;
    for (const ResourceVersion& each : resource_.versions) {
      if (&each == &*read_in || each.converts) continue;
      const std::vector<std::string> apart = differences(each.spec, read_in->spec, "spec");
      if (!apart.empty()) refuse(unreadable(each, *read_in, apart), std::string(kOneContract));
      // A version without a contract keeps whatever the operator writes to the status.
      if (each.status.is_null()) continue;
      const std::vector<std::string> lost = differences(each.status, read_in->status, "status");
      if (lost.empty()) continue;
      // Operators before this one didn't look there.
      if (is_in_force())
        resource_.tolerated.push_back(unreadable(each, *read_in, lost));
      else
        refuse(unreadable(each, *read_in, lost), std::string(kOneContract));
    }
  }

  static std::vector<std::string> differences(const Value& a, const Value& b, std::string_view part) {
    return schema_differences(a.is_null() ? any_object() : a, b.is_null() ? any_object() : b, part);
  }

  static std::string unreadable(const ResourceVersion& each, const ResourceVersion& read_in,
                                const std::vector<std::string>& apart) {
    return fmt::format("version {} can't be read as version {}: {}", each.name, read_in.name,
                       join(apart, "; "));
  }

  static constexpr std::string_view kOneContract =
      "versions without to_hub and from_hub differ in their name and documentation alone: give both the same "
      "contract, give this one the two functions, or remove one";

  const Value& kind_;
  const Value* const contracts_;
  std::vector<Error>& faults_;
  CustomResource resource_;
};

Value conditions_schema() {
  const Value text = Value::object({{"type", "string"}});
  return Value::object(
      {{"type", "array"},
       {"description", "Ready, SpecValid and Oscillating, as the operator sees them"},
       {"x-kubernetes-list-type", "map"},
       {"x-kubernetes-list-map-keys", Value::array({"type"})},
       {"items",
        Value::object(
            {{"type", "object"},
             {"required", Value::array({"type", "status", "lastTransitionTime", "reason", "message"})},
             {"properties",
              Value::object(
                  {{"type", text},
                   {"status", Value::object({{"type", "string"},
                                             {"enum", Value::array({"True", "False", "Unknown"})}})},
                   {"observedGeneration", Value::object({{"type", "integer"}, {"format", "int64"}})},
                   {"lastTransitionTime", Value::object({{"type", "string"}, {"format", "date-time"}})},
                   {"reason", text},
                   {"message", text}})}})}});
}

Value status_schema(const Value& declared) {
  Value status = declared.is_null() ? any_object() : declared;
  // A field that has no value yet may be missing: the operator writes others before.
  status.erase("required");
  Value properties = Value::object();
  properties.set("conditions", conditions_schema());
  if (const Value* fields = status.find("properties"); fields != nullptr && fields->is_object())
    for (const Value::Member& each : fields->as_object())
      if (each.key != "conditions") properties.set(each.key, each.value);
  status.set("properties", std::move(properties));
  return status;
}

Value column(std::string_view name, std::string_view type, std::string_view path, std::string_view about) {
  Value made = Value::object({{"name", name}, {"type", type}, {"jsonPath", path}});
  if (!about.empty()) made.set("description", about);
  return made;
}

Value columns_of(const CustomResource& resource) {
  const auto of_ready = [](std::string_view field) {
    return fmt::format(R"(.status.conditions[?(@.type=="Ready")].{})", field);
  };
  Value all = Value::array({column("Ready", "string", of_ready("status"), "Whether everything is as wanted"),
                            column("Reason", "string", of_ready("reason"), {})});
  for (const ResourceColumn& each : resource.columns) {
    Value made = column(each.name, each.type, each.path.starts_with('.') ? each.path : "." + each.path, {});
    if (each.wide) made.set("priority", 1);
    all.push_back(std::move(made));
  }
  all.push_back(column("Age", "date", ".metadata.creationTimestamp", {}));
  all.push_back(column("Waits for", "string", of_ready("message"), "The first thing that it waits for"));
  return all;
}

// The server stores no empty map of fields, so that the CRD would seem to be another one for ever.
void drop_empty_fields(Value& schema) {
  if (schema.is_array())
    for (Value& each : schema.as_array()) drop_empty_fields(each);
  if (!schema.is_object()) return;
  if (const Value* const fields = schema.find("properties");
      fields != nullptr && fields->is_object() && fields->empty() && schema.find("type") != nullptr)
    schema.erase("properties");
  for (Value::Member& each : schema.as_object()) drop_empty_fields(each.value);
}

Value version_of(const CustomResource& resource, const ResourceVersion& version) {
  Value properties = Value::object({{"apiVersion", Value::object({{"type", "string"}})},
                                    {"kind", Value::object({{"type", "string"}})},
                                    {"metadata", Value::object({{"type", "object"}})}});
  properties.set("spec", version.spec.is_null() ? any_object() : version.spec);
  drop_empty_fields(properties["spec"]);
  properties.set("status", status_schema(version.status));
  Value root = Value::object({{"type", "object"}});
  if (version.spec_required) {
    root.set("required", Value::array({"spec"}));
  } else {
    // Nothing has to be set, so the spec may be missing, and its fields get their defaults all the same. The
    // server holds the default against rules as it stands here.
    Value missing = Value::object();
    if (asks_of_empty(version.spec)) fill_defaults(version.spec, missing);
    properties["spec"].set("default", std::move(missing));
  }
  root.set("properties", std::move(properties));
  Value made = Value::object({{"name", version.name},
                              {"served", version.served},
                              {"storage", version.name == resource.stored},
                              {"subresources", Value::object({{"status", Value::object()}})},
                              {"additionalPrinterColumns", columns_of(resource)},
                              {"schema", Value::object({{"openAPIV3Schema", std::move(root)}})}});
  if (!version.deprecated.empty()) {
    made.set("deprecated", true);
    made.set("deprecationWarning", version.deprecated);
  }
  return made;
}

}  // namespace

bool CustomResource::converts() const { return std::ranges::any_of(versions, &ResourceVersion::converts); }

std::optional<CustomResource> read_resource(const Value& description, std::vector<Error>& faults,
                                            Standing standing) {
  const Value* kind = description.find("kind");
  if (kind == nullptr || !kind->is_object()) return std::nullopt;
  return ResourceReader(description, faults, standing).read();
}

std::vector<std::string> contract_faults(const Value& description, std::string_view part,
                                         const std::string& version) {
  std::vector<std::string> found;
  const Value* const all = description.at_path({"contracts", fmt::format("{}/{}", part, version), "faults"});
  if (all == nullptr || !all->is_array()) return found;
  for (const Value& each : all->as_array())
    if (!each.is_true_at("computed")) found.push_back(words_of(note_of(each, part, version)));
  return found;
}

Value crd_of(const apimachinery::GroupVersionKind& kind, const CustomResource& resource) {
  Value names = Value::object({{"kind", kind.kind},
                               {"listKind", kind.kind + "List"},
                               {"plural", resource.plural},
                               {"singular", resource.singular}});
  if (!resource.short_names.empty()) names.set("shortNames", texts_value(resource.short_names));
  if (!resource.categories.empty()) names.set("categories", texts_value(resource.categories));
  Value versions = Value::array();
  for (const ResourceVersion& each : resource.versions) versions.push_back(version_of(resource, each));
  return Value::object({{"apiVersion", "apiextensions.k8s.io/v1"},
                        {"kind", "CustomResourceDefinition"},
                        {"metadata", Value::object({{"name", resource.crd_name(kind.group)}})},
                        {"spec", Value::object({{"group", kind.group},
                                                {"names", std::move(names)},
                                                {"scope", "Namespaced"},
                                                {"versions", std::move(versions)}})}});
}

std::string usual_plural(std::string_view kind) {
  std::string name = lower_case(kind);
  if (name == "endpoints") return name;  // the one that is a plural already
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends("s") || ends("x") || ends("ch") || ends("sh")) return name + "es";
  if (ends("y") && name.size() > 1 &&
      std::string_view("aeiou").find(name[name.size() - 2]) == std::string_view::npos)
    return name.substr(0, name.size() - 1) + "ies";
  return name + "s";
}

}  // namespace mist::blueprint
