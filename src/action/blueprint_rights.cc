#include "action/blueprint_rights.h"

#include <algorithm>

#include "action/blueprint_cases.h"
#include "apimachinery/built_in_groups.h"
#include "blueprint/check.h"

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

// What the functions of nodes make, whatever they are given.
Result<NodeKinds> kinds_without_instance(const blueprint::Blueprint& blueprint,
                                         blueprint::Evaluator& evaluator, const Context& context) {
  NodeKinds kinds;
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node) {
    const blueprint::Node& told = blueprint.nodes()[node];
    if (told.type == NodeType::Value) continue;
    auto found =
        evaluator.kinds(told.name, Value::object(), blueprint::given_names(blueprint, node), context);
    if (!found.ok() && found.error().kind != ErrorKind::Invalid) return std::move(found).error();
    // What fails with every value is found by `check`; here nothing is known of it.
    if (found.ok() && *found) add_kinds(**found, kinds[told.name]);
  }
  return kinds;
}

Result<NodeKinds> kinds_of_scenario(const blueprint::Blueprint& blueprint, blueprint::Evaluator& evaluator,
                                    const reconcile::Scenario& scenario, const Context& context) {
  NodeKinds kinds;
  reconcile::Simulation::Functions functions = reconcile::functions_of(evaluator, context);
  functions.make = [&kinds, make = std::move(functions.make)](const std::string& node,
                                                              const Value& environment) {
    Result<Value> made = make(node, environment);
    if (made.ok()) add_kinds(*made, kinds[node]);
    return made;
  };
  MIST_TRY_VOID(reconcile::play(blueprint, scenario, std::move(functions)));
  MIST_TRY_VOID(context.check());
  std::erase_if(kinds, [](const auto& entry) { return entry.second.empty(); });
  return kinds;
}

Value::Array rules_of(const std::vector<Permission>& permissions, const BlueprintSource& source,
                      BlueprintRights& rights) {
  const auto plurals = source.plurals();
  Value::Array rules;
  for (const Permission& each : permissions) {
    const auto known = plurals.find(each.kind);
    const std::string resource =
        known == plurals.end() ? reconcile::usual_resource(each.kind.kind) : known->second;
    if (known == plurals.end() && !apimachinery::is_built_in_group(each.kind.group))
      rights.guessed.push_back(fmt::format("{}.{}", resource, each.kind.group));
    rules.push_back(rule(each.kind.group, resource, in_order(each.verbs)));
    if (each.status) rules.push_back(rule(each.kind.group, resource + "/status", {"patch"}));
  }
  return rules;
}

}  // namespace

Result<BlueprintRights> blueprint_rights(package::Renderer& renderer, const BlueprintSource& source,
                                         const std::optional<reconcile::Scenario>& scenario,
                                         const OperatorAccount& account, const Context& context) {
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(source.name, source.files, renderer));
  auto described = evaluator.describe(context);
  if (!described.ok()) return shown_error(source, std::move(described).error());
  const blueprint::Blueprint& blueprint = *described;
  BlueprintRights rights;
  MIST_TRY(NodeKinds kinds, kinds_without_instance(blueprint, evaluator, context));
  NodeKinds examples;
  if (scenario) {
    reconcile::Scenario example = *scenario;
    source.fill_defaults(example.instance);
    MIST_TRY(examples, kinds_of_scenario(blueprint, evaluator, example, context));
  }
  for (const blueprint::Node& node : blueprint.nodes()) {
    if (node.type == NodeType::Value || kinds.contains(node.name)) continue;
    const auto example = examples.find(node.name);
    if (example == examples.end()) {
      rights.unknown.push_back(node.name);
      continue;
    }
    rights.by_example.push_back(node.name);
    kinds[node.name] = example->second;
  }
  const std::string name = fmt::format("mistletoe-operator-{}", source.name);
  Value maps = rule("", "configmaps", {"patch"});
  maps.set("resourceNames", texts({source.name}));
  Value::Array rules = {rule("", "configmaps", {"list", "watch"}), std::move(maps)};
  if (!account.run_as.empty()) {
    Value act = rule("", "serviceaccounts", {"impersonate"});
    act.set("resourceNames", texts({account.run_as}));
    rules.push_back(rule("", "events", {"create"}));
    rules.push_back(std::move(act));
  }
  const Value own = role("Role", name, account.ns, std::move(rules));
  const Value all =
      role("ClusterRole", name, {}, rules_of(reconcile::permissions(blueprint, kinds), source, rights));
  rights.manifests = {own, binding(own, account.name, account.ns), all,
                      binding(all, account.run_as.empty() ? account.name : account.run_as, account.ns)};
  return rights;
}

}  // namespace mist::action
