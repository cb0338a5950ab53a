#include "action/authoring/blueprint_rights.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "action/authoring/blueprint_cases.h"
#include "apimachinery/built_in_groups.h"
#include "base/text.h"
#include "blueprint/check.h"
#include "reconcile/release_node.h"

namespace mist::action {
namespace {

using blueprint::NodeType;
using encoding::Value;
using reconcile::GroupKind;
using reconcile::NodeKinds;
using reconcile::Permission;

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

void add_kinds(const Value& made, std::set<GroupKind>& kinds) {
  if (made.is_array()) {
    for (const Value& each : made.as_array()) add_kinds(each, kinds);
    return;
  }
  const reconcile::ObjectId id = reconcile::id_of(made);
  if (!id.kind.empty() && !id.api_version.empty()) kinds.insert(id.gvk().group_kind());
}

// Kinds and names of roles.
using RoleRefs = std::set<std::pair<std::string, std::string>>;

void add_role(const Value& ref, RoleRefs& roles) {
  roles.emplace(ref.string_at("kind"), ref.string_at("name"));
}

void add_roles(const Value& made, RoleRefs& roles) {
  if (made.is_array()) {
    for (const Value& each : made.as_array()) add_roles(each, roles);
  } else if (const Value* const ref = made.find("roleRef")) {
    add_role(*ref, roles);
  }
}

Value texts(const std::vector<std::string>& all) { return Value(Value::Array(all.begin(), all.end())); }

// In the order in which people write them.
std::vector<std::string> in_order(const std::set<std::string>& verbs) {
  std::vector<std::string> ordered;
  for (const char* verb : {"get", "list", "watch", "create", "patch", "delete"})
    if (verbs.contains(verb)) ordered.emplace_back(verb);
  return ordered;
}

Value rule(const std::string& group, const std::string& resource, const std::vector<std::string>& verbs) {
  return Value::object(
      {{"apiGroups", texts({group})}, {"resources", texts({resource})}, {"verbs", texts(verbs)}});
}

Value role(std::string_view kind, const std::string& name, const std::string& ns, Value::Array rules) {
  Value metadata = Value::object({{"name", name}});
  if (!ns.empty()) metadata.set("namespace", ns);
  return Value::object({{"apiVersion", fmt::format("{}/v1", kRbacGroup)},
                        {"kind", kind},
                        {"metadata", std::move(metadata)},
                        {"rules", Value(std::move(rules))}});
}

Value binding(const Value& role, const std::string& account, const std::string& ns) {
  return Value::object(
      {{"apiVersion", fmt::format("{}/v1", kRbacGroup)},
       {"kind", fmt::format("{}Binding", role.string_at("kind"))},
       {"metadata", *role.find("metadata")},
       {"roleRef", Value::object({{"apiGroup", kRbacGroup},
                                  {"kind", role.string_at("kind")},
                                  {"name", role.string_at({"metadata", "name"})}})},
       {"subjects",
        Value::array({Value::object({{"kind", "ServiceAccount"}, {"name", account}, {"namespace", ns}})})}});
}

// The kinds that the functions of nodes make, whatever they are given.
Result<NodeKinds> kinds_without_instance(const blueprint::Blueprint& blueprint,
                                         blueprint::Evaluator& evaluator, const Context& context) {
  NodeKinds kinds;
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node) {
    const blueprint::Node& told = blueprint.nodes()[node];
    if (told.type == NodeType::Value || told.type == NodeType::Http) continue;
    auto found =
        evaluator.kinds(told.name, Value::object(), blueprint::given_names(blueprint, node), context);
    if (!found.ok() && found.error().kind != ErrorKind::Invalid) return std::move(found).error();
    // `check` finds a function that fails with every value; here nothing is known of it.
    if (found.ok() && *found) add_kinds(**found, kinds[told.name]);
  }
  return kinds;
}

// The texts of a ConfigMap or a Secret by their keys.
using Texts = std::map<std::string, std::string>;
// By whether it is a Secret, namespace, name.
using ValueObjects = std::map<std::tuple<bool, std::string, std::string>, Texts>;

// `ns`: of an object that names none. An event merges its object into what is there.
void add_value_object(const Value& made, const std::string& ns, ValueObjects& objects) {
  if (made.is_array()) {
    for (const Value& each : made.as_array()) add_value_object(each, ns, objects);
    return;
  }
  const reconcile::ObjectId id = reconcile::id_of(made);
  const bool is_secret = id.kind == "Secret";
  if (id.api_version != "v1" || !(is_secret || id.kind == "ConfigMap")) return;
  Texts& texts = objects[{is_secret, id.ns.empty() ? ns : id.ns, id.name}];
  for (const std::string_view part : {"binaryData", "data", "stringData"}) {
    const Value* const members = made.find(part);
    if (members == nullptr || !members->is_object()) continue;
    for (const Value::Member& each : members->as_object()) {
      if (!each.value.is_string()) continue;
      std::string plain = each.value.as_string();
      const bool is_plain = part == (is_secret ? "stringData" : "data");
      if (is_plain || base64_decode(each.value.as_string(), plain)) texts[each.key] = std::move(plain);
    }
  }
}

// Items that are wrong are found when the Release is looked at.
std::vector<ReleaseValues> values_from(const Value& release, const ValueObjects& objects) {
  std::vector<ReleaseValues> all;
  const Value* const items = release.at_path({"spec", "valuesFrom"});
  if (items == nullptr || !items->is_array()) return all;
  const std::string home(release.string_at({"metadata", "namespace"}));
  for (const Value& item : items->as_array()) {
    ReleaseValues& each =
        all.emplace_back(ReleaseValues{.secret = item.string_at("kind") == "Secret",
                                       .name = std::string(item.string_at("name")),
                                       .key = std::string(item.string_at("key")),
                                       .target_path = std::string(item.string_at("targetPath")),
                                       .optional = item.is_true_at("optional")});
    if (each.key.empty()) each.key = reconcile::kDefaultValuesKey;
    const auto object = objects.find({each.secret, home, each.name});
    if (object == objects.end()) continue;
    if (const auto text = object->second.find(each.key); text != object->second.end())
      each.text = text->second;
  }
  return all;
}

// By node.
struct Example {
  NodeKinds kinds;
  std::map<std::string, Value> made;  // of package nodes: the last Release
  ValueObjects values;
  std::map<std::string, RoleRefs> roles;
};

Result<Example> example_of(const blueprint::Blueprint& blueprint, blueprint::Evaluator& evaluator,
                           const reconcile::Scenario& scenario, const Context& context) {
  Example found;
  std::string ns(scenario.instance.string_at({"metadata", "namespace"}));
  if (ns.empty()) ns = "default";
  for (const reconcile::ScenarioEvent& each : scenario.events)
    if (each.type == reconcile::ScenarioEvent::Type::Write) add_value_object(each.object, ns, found.values);
  reconcile::Simulation::Functions functions = reconcile::functions_of(evaluator, context);
  functions.make = [&found, ns, make = std::move(functions.make)](const std::string& node,
                                                                  const Value& environment) {
    Result<Value> made = make(node, environment);
    if (!made.ok()) return made;
    add_kinds(*made, found.kinds[node]);
    add_roles(*made, found.roles[node]);
    add_value_object(*made, ns, found.values);
    if (made->string_at("kind") == reconcile::kReleaseKind) found.made[node] = *made;
    return made;
  };
  MIST_TRY_VOID(reconcile::play(blueprint, scenario, std::move(functions)));
  MIST_TRY_VOID(context.check());
  std::erase_if(found.kinds, [](const auto& entry) { return entry.second.empty(); });
  return found;
}

Value::Array rules_of(const blueprint::Blueprint& blueprint, const std::vector<Permission>& permissions,
                      const BlueprintSource& source, BlueprintRights& rights) {
  auto plurals = source.plurals();
  if (blueprint.resource()) plurals[blueprint.instances().group_kind()] = blueprint.resource()->plural;
  Value::Array rules;
  for (const Permission& each : permissions) {
    const auto known = plurals.find(each.kind);
    const std::string resource =
        known == plurals.end() ? reconcile::usual_resource(each.kind.kind) : known->second;
    const bool is_ours =
        each.kind.group == reconcile::kReleaseGroup && each.kind.kind == reconcile::kReleaseKind;
    if (known == plurals.end() && !is_ours && !apimachinery::is_built_in_group(each.kind.group))
      rights.guessed.push_back(fmt::format("{}.{}", resource, each.kind.group));
    rules.push_back(rule(each.kind.group, resource, in_order(each.verbs)));
    if (each.status) rules.push_back(rule(each.kind.group, resource + "/status", {"patch"}));
  }
  return rules;
}

// Leaves out the rights that a Role can't give: to objects in no namespace, and to the CRD.
void leave_out_cluster(const blueprint::Blueprint& blueprint, std::vector<Permission>& permissions,
                       BlueprintRights& rights) {
  std::set<std::string> nodes;
  std::erase_if(permissions, [&](const Permission& each) {
    if (!apimachinery::is_cluster_scoped(each.kind)) return false;
    nodes.insert(each.because.begin(), each.because.end());
    return true;
  });
  rights.outside.assign(nodes.begin(), nodes.end());
  if (blueprint.resource() && blueprint.resource()->mode == blueprint::CrdMode::Manage)
    rights.unmanaged_crd = blueprint.resource()->crd_name(blueprint.instances().group);
}

// The rights to see to the CRD: a watch of that one alone, and where the operator applies it, that.
void add_crd_rules(const blueprint::Blueprint& blueprint, const std::string& name, Value::Array& own,
                   Value::Array& all) {
  if (!blueprint.resource()) return;
  const blueprint::CustomResource& resource = *blueprint.resource();
  const bool manages = resource.mode == blueprint::CrdMode::Manage;
  const std::string group = "apiextensions.k8s.io", crds = "customresourcedefinitions";
  Value one = rule(group, crds,
                   manages ? std::vector<std::string>{"list", "watch", "patch"}
                           : std::vector<std::string>{"list", "watch"});
  one.set("resourceNames", texts({resource.crd_name(blueprint.instances().group)}));
  all.push_back(std::move(one));
  // An object that isn't there has no name that a rule could give.
  if (manages) all.push_back(rule(group, crds, {"create"}));
  std::vector<std::string> maps;
  if (resource.mode == blueprint::CrdMode::Publish) maps.push_back(fmt::format("{}-crd", name));
  if (resource.converts()) maps.push_back(fmt::format("{}-conversion", name));
  if (maps.empty()) return;
  Value map = rule("", "configmaps", {"get", "patch"});
  map.set("resourceNames", texts(maps));
  own.push_back(std::move(map));
  own.push_back(rule("", "configmaps", {"create"}));
}

// An account may bind a role whose rights it has, or on which it has the verb bind. It may make a role only
// with rights that it has, which nobody can tell from outside.
Status add_bind_rules(const blueprint::Blueprint& blueprint, const NodeKinds& kinds, const Example& example,
                      blueprint::Evaluator& evaluator, const Context& context, Value::Array& rules,
                      BlueprintRights& rights) {
  RoleRefs all;
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node) {
    const blueprint::Node& told = blueprint.nodes()[node];
    const auto makes = kinds.find(told.name);
    if (told.type != NodeType::Own || makes == kinds.end()) continue;
    const auto has = [&](const char* kind) {
      return makes->second.contains({std::string(kRbacGroup), kind});
    };
    if (has("Role") || has("ClusterRole")) rights.giving.push_back(told.name);
    if (!has("RoleBinding") && !has("ClusterRoleBinding")) continue;
    const auto roles =
        evaluator.role_refs(told.name, Value::object(), blueprint::given_names(blueprint, node), context);
    if (!roles.ok() && roles.error().kind != ErrorKind::Invalid) return roles.error();
    const auto seen = example.roles.find(told.name);
    if (roles.ok() && *roles)
      for (const Value& each : (*roles)->as_array()) add_role(each, all);
    else if (seen != example.roles.end())
      all.insert(seen->second.begin(), seen->second.end());
    else if (rights.giving.empty() || rights.giving.back() != told.name)
      rights.giving.push_back(told.name);
  }
  for (const char* kind : {"ClusterRole", "Role"}) {
    std::vector<std::string> names;
    for (const auto& [of, name] : all)
      if (of == kind) names.push_back(name);
    if (names.empty()) continue;
    Value bind = rule(std::string(kRbacGroup), blueprint::usual_plural(kind), {"bind"});
    bind.set("resourceNames", texts(names));
    rules.push_back(std::move(bind));
  }
  return {};
}

// HTTP nodes send requests through the API server. Where values choose Service or Pod, both are allowed.
Status add_proxy_rules(const blueprint::Blueprint& blueprint, blueprint::Evaluator& evaluator,
                       const Context& context, Value::Array& rules) {
  std::set<std::string> resources;
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node) {
    const blueprint::Node& told = blueprint.nodes()[node];
    if (told.type != NodeType::Http) continue;
    const auto fields =
        evaluator.fields(told.name, Value::object(), blueprint::given_names(blueprint, node), context);
    if (!fields.ok() && fields.error().kind != ErrorKind::Invalid) return fields.error();
    const auto gives = [&](std::string_view field) {
      return !fields.ok() || !*fields ||
             std::ranges::find((*fields)->as_array(), Value(field)) != (*fields)->as_array().end();
    };
    if (gives("service")) resources.insert("services/proxy");
    if (gives("pod")) resources.insert("pods/proxy");
  }
  for (const std::string& each : resources) rules.push_back(rule("", each, {"get"}));
  return {};
}

// By namespace; "": in none.
using Places = std::map<std::string, std::set<GroupKind>>;

Value::Array package_rules(const std::set<GroupKind>& kinds, bool has_record) {
  const std::vector<std::string> all{"get", "list", "watch", "create", "patch", "delete"};
  Value::Array rules;
  if (has_record) rules.push_back(rule("", "secrets", all));
  for (const GroupKind& kind : kinds)
    if (!(has_record && kind == apimachinery::kSecret))
      rules.push_back(rule(kind.group, reconcile::usual_resource(kind.kind), all));
  return rules;
}

// Adds the right to read the values, which are in the namespace of the Release, where package_rules() lack
// it.
void add_value_rules(const PackageRelease& made, const std::set<GroupKind>& kinds, bool has_record,
                     Value::Array& rules) {
  for (const bool is_secret : {false, true}) {
    const GroupKind kind = is_secret ? apimachinery::kSecret : GroupKind{"", "ConfigMap"};
    if (kinds.contains(kind) || (is_secret && has_record)) continue;
    std::set<std::string> names;
    for (const ReleaseValues& each : made.values_from)
      if (each.secret == is_secret) names.insert(each.name);
    if (names.empty()) continue;
    Value read = rule("", reconcile::usual_resource(kind.kind), {"get"});
    read.set("resourceNames", texts({names.begin(), names.end()}));
    rules.push_back(std::move(read));
  }
}

}  // namespace

std::string ReleaseValues::display() const {
  return fmt::format("{} {}, key {}", secret ? "Secret" : "ConfigMap", name, key);
}

std::vector<std::string> PackageRelease::missing_values() const {
  std::vector<std::string> missing;
  for (const ReleaseValues& each : values_from)
    if (!each.text && !each.optional) missing.push_back(each.display());
  return missing;
}

std::vector<Value> release_rights(const PackageRelease& made, const std::vector<Value>& objects,
                                  const OperatorAccount& account) {
  const std::string home(made.release.string_at({"metadata", "namespace"}));
  const auto [place, name] = reconcile::release_named_by(made.release);
  std::string worker(made.release.string_at({"spec", "serviceAccountName"}));
  // Accounts are never taken to another namespace.
  if (worker.empty() && home == account.ns) worker = account.run_as.empty() ? account.name : account.run_as;
  if (worker.empty()) return {};
  Places places;
  places[place];  // the record, whatever is rendered
  if (!made.values_from.empty()) places[home];
  for (const Value& each : objects) {
    const GroupKind kind = reconcile::id_of(each).gvk().group_kind();
    const std::string ns(each.string_at({"metadata", "namespace"}));
    places[apimachinery::is_cluster_scoped(kind) ? "" : ns.empty() ? place : ns].insert(kind);
  }
  std::vector<Value> manifests;
  for (const auto& [ns, kinds] : places) {
    const std::string of = fmt::format("mistletoe-release-{}{}", ns.empty() ? home + "-" : "", name);
    Value::Array rules = package_rules(kinds, ns == place);
    if (ns == home) add_value_rules(made, kinds, ns == place, rules);
    if (rules.empty()) continue;
    const Value one = role(ns.empty() ? "ClusterRole" : "Role", of, ns, std::move(rules));
    manifests.push_back(one);
    manifests.push_back(binding(one, worker, home));
  }
  return manifests;
}

Result<BlueprintRights> blueprint_rights(package::Renderer& renderer, const BlueprintSource& source,
                                         const std::optional<reconcile::Scenario>& scenario,
                                         const OperatorAccount& account, const Context& context) {
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(source.name, source.files, renderer));
  auto described = evaluator.describe(context);
  if (!described.ok()) return shown_error(source, std::move(described).error());
  const blueprint::Blueprint& blueprint = *described;
  BlueprintRights rights;
  MIST_TRY(NodeKinds kinds, kinds_without_instance(blueprint, evaluator, context));
  Example examples;
  if (scenario) {
    reconcile::Scenario played = *scenario;
    source.fill_defaults(blueprint, played.instance);
    MIST_TRY(examples, example_of(blueprint, evaluator, played, context));
  }
  for (const blueprint::Node& node : blueprint.nodes()) {
    if (node.type == NodeType::Package) rights.packages.push_back(node.name);
    if (const auto made = examples.made.find(node.name);
        node.type == NodeType::Package && made != examples.made.end())
      rights.releases.push_back({node.name, made->second, values_from(made->second, examples.values)});
    if (node.type == NodeType::Value || node.type == NodeType::Http || kinds.contains(node.name)) continue;
    const auto example = examples.kinds.find(node.name);
    if (example == examples.kinds.end()) {
      rights.unknown.push_back(node.name);
      continue;
    }
    rights.by_example.push_back(node.name);
    kinds[node.name] = example->second;
  }
  const std::string name = fmt::format("mistletoe-operator-{}", source.name);
  Value maps = rule("", "configmaps", {"patch"});
  maps.set("resourceNames", texts({source.name}));
  Value::Array own_rules{rule("", "configmaps", {"list", "watch"}), std::move(maps)}, place_rules;
  std::vector<Permission> permissions = reconcile::permissions(blueprint, kinds);
  if (!account.watched.empty()) leave_out_cluster(blueprint, permissions, rights);
  Value::Array all_rules = rules_of(blueprint, permissions, source, rights), crd_rules;
  add_crd_rules(blueprint, source.name, place_rules, account.watched.empty() ? all_rules : crd_rules);
  MIST_TRY_VOID(add_proxy_rules(blueprint, evaluator, context, all_rules));
  MIST_TRY_VOID(add_bind_rules(blueprint, kinds, examples, evaluator, context, all_rules, rights));
  const bool is_own = account.run_as.empty();
  const std::string& worker = is_own ? account.name : account.run_as;
  if (is_own) {
    std::ranges::move(place_rules, std::back_inserter(own_rules));
    place_rules.clear();
    // Events about the blueprint, which rights in all namespaces include.
    if (!account.watched.empty() && std::ranges::find(account.watched, account.ns) == account.watched.end())
      own_rules.push_back(rule("", "events", {"create"}));
  } else {
    Value act = rule("", "serviceaccounts", {"impersonate"});
    act.set("resourceNames", texts({account.run_as}));
    own_rules.push_back(rule("", "events", {"create"}));
    own_rules.push_back(std::move(act));
  }
  const Value own = role("Role", name, account.ns, std::move(own_rules));
  const auto print = [&](const Value& each, const std::string& whose) {
    rights.manifests.push_back(each);
    rights.manifests.push_back(binding(each, whose, account.ns));
  };
  print(own, account.name);
  if (account.watched.empty()) print(role("ClusterRole", name, {}, all_rules), worker);
  for (const std::string& ns : std::set(account.watched.begin(), account.watched.end())) {
    Value::Array rules = all_rules;
    if (ns == account.ns) std::ranges::move(std::exchange(place_rules, {}), std::back_inserter(rules));
    print(role("Role", name + "-work", ns, std::move(rules)), worker);
  }
  if (!place_rules.empty()) print(role("Role", name + "-work", account.ns, std::move(place_rules)), worker);
  return rights;
}

}  // namespace mist::action
