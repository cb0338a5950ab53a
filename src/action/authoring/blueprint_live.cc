#include "action/authoring/blueprint_live.h"

#include <algorithm>
#include <set>

#include "apimachinery/conditions.h"
#include "apply/plan/give_namespaces.h"
#include "base/text.h"
#include "blueprint/check.h"
#include "blueprint/parts.h"
#include "kube/served.h"
#include "reconcile/release_node.h"
#include "reconcile/status.h"

namespace mist::action {
namespace {

using encoding::Value;
using graph::Truth;
using reconcile::NodeState;
using reconcile::Observation;

// As many as are looked at for one question; each costs some requests.
constexpr std::size_t kMostInstances = 100;

// `maps`: where its parts are.
Result<LiveBlueprint> evaluated(const Value& map, const std::vector<Value>& maps, package::Renderer& renderer,
                                const Context& context) {
  std::string name(map.string_at({"metadata", "name"}));
  const auto part = [&](const std::string& named) -> std::optional<Value> {
    for (const Value& each : maps)
      if (blueprint::is_part(each) && each.string_at({"metadata", "name"}) == named &&
          each.string_at({"metadata", "namespace"}) == map.string_at({"metadata", "namespace"}))
        return each;
    return std::nullopt;
  };
  MIST_TRY(package::Files files, blueprint::files_of(map, part));
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(name, std::move(files), renderer));
  // As the operator reads it: one that it rejected serves nobody.
  const bool is_rejected = map.string_at({"metadata", "annotations", apply::kStatusAnnotation}) == "Rejected";
  MIST_TRY(
      blueprint::Blueprint blueprint,
      evaluator.describe(context, is_rejected ? blueprint::Standing::New : blueprint::Standing::InForce));
  return LiveBlueprint{
      std::move(name), std::string(map.string_at({"metadata", "namespace"})), std::move(evaluator),
      std::move(blueprint),
      std::string(map.string_at({"metadata", "annotations", apply::kServiceAccountAnnotation}))};
}

// The caller may see the kinds of some blueprints only.
bool is_hidden(const Error& failure) {
  return failure.kind == ErrorKind::NotFound || failure.kind == ErrorKind::Forbidden;
}

// "app", "App", "apps", each perhaps with .example.com.
bool is_meant(const std::string& word, const kube::ResourceInfo& resource) {
  const std::string said = lower_case(word);
  for (const std::string& name : {lower_case(resource.gvk.kind), resource.resource}) {
    if (said == name) return true;
    if (!resource.gvk.group.empty() && said == fmt::format("{}.{}", name, resource.gvk.group)) return true;
  }
  return false;
}

bool is_stopped(const Error& failure) {
  return failure.kind == ErrorKind::Cancelled || failure.kind == ErrorKind::Timeout;
}

// The inputs of one instance's decisions: requests, each sent once.
class LiveObserver {
 public:
  LiveObserver(kube::Client& client, LiveBlueprint& blueprint, const std::string& ns, const Context& context)
      : client_(client), blueprint_(blueprint), ns_(ns), context_(context) {}

  reconcile::Queries queries() {
    return {
        .make = [this](const std::string& node, const Value& environment) { return make(node, environment); },
        .unplaced = [this](const apimachinery::GroupKind& kind) { return unplaced_.contains(kind); },
        .identities =
            [this](const std::string& node, const Value& environment,
                   const std::vector<std::string>& unknown) { return named(node, environment, unknown); },
        .kinds = [this](const std::string& node, const Value& environment,
                        const std::vector<std::string>& unknown) -> std::optional<Value> {
          auto found = blueprint_.evaluator.kinds(node, environment, unknown, context_);
          return found.ok() ? *std::move(found) : std::nullopt;
        },
        .observe = [this](const ObjectId& id, bool /*owned*/) { return observe(id); },
        .list = [this](const reconcile::Collection& collection) { return list(collection); },
        .unserved = [this](const apimachinery::GroupKind& kind) { return is_unserved(kind); },
        .check_node = [this](
                          const std::string& node,
                          const Value& object) { return blueprint_.evaluator.check(node, object, context_); },
        .check_edge = [this](
                          std::size_t edge,
                          const Value& object) { return blueprint_.evaluator.check(edge, object, context_); },
        .check_spec = [this](const Value& spec) { return blueprint_.evaluator.check_spec(spec, context_); },
        .check_status =
            [this](const Value& status) { return blueprint_.evaluator.check_status(status, context_); },
        // Whether it answers now says little of what the operator saw.
        .ask = [](const std::string&, const reconcile::HttpQuestion&) -> reconcile::HttpAnswer {
          return {.failure = "only the operator asks it"};
        }};
  }
  /// The objects of a function whose values aren't all there: names seldom depend on these, those of an act's
  /// Job always do. False: the objects aren't known.
  Result<bool> add_named(graph::Node node, const Value& instance, std::vector<ObjectId>& ids) {
    const blueprint::Node& told = blueprint_.blueprint.nodes()[node];
    if (!told.names_objects()) return true;
    if (told.type == blueprint::NodeType::Act) return false;
    std::vector<std::string> unknown = blueprint::given_names(blueprint_.blueprint, node);
    unknown.erase(unknown.begin());  // the instance
    auto found = blueprint_.evaluator.identities(
        told.name, Value::object({{"instance", reconcile::for_functions(instance)}}), unknown, context_);
    MIST_TRY_VOID(context_.check());
    if (!found.ok() || !*found) return false;
    apply::give_namespaces(**found, ns_, client_, context_);
    for (const Value& each : (*found)->as_array()) ids.push_back(reconcile::id_of(each));
    return true;
  }
  std::vector<std::string> troubles() const { return {troubles_.begin(), troubles_.end()}; }

 private:
  std::optional<Value> named(const std::string& node, const Value& environment,
                             const std::vector<std::string>& unknown) {
    auto found = blueprint_.evaluator.identities(node, environment, unknown, context_);
    if (!found.ok() || !*found) return std::nullopt;
    if (!apply::give_namespaces(**found, ns_, client_, context_).empty()) return std::nullopt;
    return *std::move(found);
  }

  Result<Value> make(const std::string& node, const Value& environment) {
    const auto known = made_.find(node);
    if (known != made_.end() && known->second.first == environment) return known->second.second;
    MIST_TRY(Value made, blueprint_.evaluator.make(node, environment, context_));
    const blueprint::Node& told = blueprint_.blueprint.nodes()[*blueprint_.blueprint.node_called(node)];
    if (told.names_objects()) unplaced_.merge(apply::give_namespaces(made, ns_, client_, context_));
    if (told.type == blueprint::NodeType::Package) give_account(made);
    made_.insert_or_assign(node, std::pair(environment, made));
    return made;
  }

  // As the operator does, of which only the ConfigMap is known here: without its annotation the account is
  // that of the Release as it is.
  void give_account(Value& release) {
    std::string account = blueprint_.account;
    if (account.empty()) {
      const Observation live = observe(reconcile::id_of(release));
      if (live.there()) account = live.object.string_at({"spec", "serviceAccountName"});
    }
    reconcile::give_account(release, {blueprint_.ns, account});
  }

  Result<kube::ResourceInfo> resource(const ObjectId& id) {
    const apimachinery::GroupVersionKind gvk = id.gvk();
    return client_.resource_for({gvk.group, gvk.kind}, gvk.version, context_);
  }

  Observation observe(const ObjectId& id) {
    if (const auto known = observed_.find(id); known != observed_.end()) return known->second;
    Observation& observed = observed_[id];
    const auto found = resource(id);
    if (!found.ok()) {
      troubles_.insert(found.error().to_line());
      return observed;
    }
    auto object = client_.get({*found, id.ns, id.name}, context_);
    if (object.ok())
      observed = {Observation::State::There, *std::move(object), {}};
    else if (object.error().kind == ErrorKind::NotFound)
      observed.state = Observation::State::Absent;
    else
      troubles_.insert(object.error().to_line());
    return observed;
  }

  bool is_unserved(const apimachinery::GroupKind& kind) {
    const auto found = client_.resource_for(kind, "", context_);
    return !found.ok() && kube::is_served_nowhere(client_, kind.group, found.error(), context_);
  }

  std::optional<Value::Array> list(const reconcile::Collection& collection) {
    const auto found = resource({collection.api_version, collection.kind, {}, {}});
    if (!found.ok()) {
      troubles_.insert(found.error().to_line());
      return std::nullopt;
    }
    auto listed =
        client_.list(*found, {.ns = collection.ns, .label_selector = collection.label_selector}, context_);
    if (!listed.ok()) {
      troubles_.insert(listed.error().to_line());
      return std::nullopt;
    }
    return std::move(listed->items);
  }

  kube::Client& client_;
  LiveBlueprint& blueprint_;
  const std::string ns_;
  const Context& context_;
  std::map<std::string, std::pair<Value, Value>> made_;
  std::set<apimachinery::GroupKind> unplaced_;
  std::map<ObjectId, Observation> observed_;
  std::set<std::string> troubles_;
};

void add_ids(const reconcile::Facts& facts, std::vector<ObjectId>& ids) {
  for (const reconcile::Member& each : facts.members)
    if (std::ranges::find(ids, each.id) == ids.end()) ids.push_back(each.id);
}

std::optional<std::pair<std::string, std::string>> release_of(const std::vector<reconcile::Member>& members,
                                                              blueprint::NodeType type) {
  if (type != blueprint::NodeType::Package || members.empty()) return std::nullopt;
  return reconcile::release_named_by(members.front().desired);
}

// Why a write fails only the operator knows, and its status names the first object that does.
void tell_what_fails(InstanceGraph& graph, const Value& instance) {
  const Value* const generation = instance.at_path({"metadata", "generation"});
  const Value* const seen = graph.condition.find("observedGeneration");
  if (graph.condition.string_at("reason") != reconcile::word(NodeState::Failed) ||
      (generation != nullptr && seen != nullptr && *generation != *seen))
    return;
  for (reconcile::NodeReport& each : graph.plan.nodes)
    if (each.state == NodeState::Changing)
      each.detail = fmt::format("it is not as wanted yet, and the operator reports a failure: {}",
                                graph.condition.string_at("message"));
}

Result<InstanceGraph> graph_of(kube::Client& client, LiveBlueprint& live, const Value& instance,
                               const Context& context) {
  const blueprint::Blueprint& blueprint = live.blueprint;
  InstanceGraph result{.blueprint_name = live.name,
                       .blueprint_ns = live.ns,
                       .blueprint = blueprint,
                       .instance = reconcile::id_of(instance),
                       .terminating = apimachinery::is_terminating(instance)};
  if (const Value* const ready = apimachinery::condition_of(instance, "Ready")) result.condition = *ready;
  MIST_TRY(
      const reconcile::Record recorded,
      reconcile::record_from(instance.string_at({"metadata", "annotations", reconcile::kRecordAnnotation})));
  LiveObserver observer(client, live, result.instance.ns, context);
  const reconcile::Queries queries = observer.queries();
  result.plan = reconcile::decide(blueprint, instance, recorded, queries);
  tell_what_fails(result, instance);
  const reconcile::Survey survey(blueprint, instance, recorded, queries);
  // Without guards, since an unwanted node isn't asked for its objects otherwise.
  const blueprint::Blueprint unguarded = blueprint.without_guards();
  const reconcile::Survey whole(unguarded, instance, recorded, queries);
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node) {
    result.wanted.push_back(survey.wanted(node));
    result.path.push_back(survey.closure().why(node));
    result.releases.push_back(release_of(survey.of(node).members, blueprint.nodes()[node].type));
    std::vector<ObjectId>& ids = result.objects.emplace_back();
    add_ids(survey.of(node), ids);
    if (survey.wanted(node) == Truth::False) add_ids(whole.of(node), ids);
    if (ids.empty()) {
      MIST_TRY(const bool is_known, observer.add_named(node, instance, ids));
      if (!is_known) result.unnamed.push_back(node);
    }
    for (const reconcile::Recorded& each : recorded.objects)
      if (each.node == blueprint.name_of(node) && std::ranges::find(ids, each.id) == ids.end())
        ids.push_back(each.id);
  }
  MIST_TRY_VOID(context.check());
  result.troubles = observer.troubles();
  return result;
}

Result<kube::ResourceInfo> instances_of(kube::Client& client, const LiveBlueprint& live,
                                        const Context& context) {
  const auto& kind = live.blueprint.instances();
  return client.resource_for({kind.group, kind.kind}, kind.version, context);
}

Result<kube::ResourceInfo> resource_named(kube::Client& client, const std::string& word,
                                          const Context& context) {
  MIST_TRY(const std::vector<kube::ResourceInfo> all, client.all_resources(context));
  for (const kube::ResourceInfo& each : all)
    if (is_meant(word, each)) return each;
  return error(ErrorKind::NotFound, "the server has no kind {}", escape_controls(word))
      .with_hint("name it as kubectl api-resources does: Deployment, deployments, deployments.apps");
}

// Also of what leads to a node that isn't wanted.
void reasons_against(const InstanceGraph& graph, graph::Node node, std::set<graph::Node>& told,
                     std::vector<std::string>& lines) {
  if (!told.insert(node).second) return;
  const blueprint::Blueprint& blueprint = graph.blueprint;
  for (const graph::AlsoEdge& edge : blueprint.also().edges()) {
    if (edge.to != node) continue;
    const bool from_root = edge.from == blueprint.root();
    const Truth from = from_root ? Truth::True : graph.wanted[edge.from];
    const std::string step = fmt::format("{} → {}{}", blueprint.name_of(edge.from), blueprint.name_of(node),
                                         edge.reason.empty() ? "" : fmt::format(" ({})", edge.reason));
    if (from == Truth::False) {
      lines.push_back(fmt::format("{}: {} isn't wanted either", step, blueprint.name_of(edge.from)));
      reasons_against(graph, edge.from, told, lines);
    } else if (from == Truth::Unknown) {
      lines.push_back(
          fmt::format("{}: whether {} is wanted isn't known yet", step, blueprint.name_of(edge.from)));
    } else if (graph.wanted[node] == Truth::Unknown) {
      lines.push_back(fmt::format("{}: that isn't known yet", step));
    } else {
      lines.push_back(fmt::format("{}: that isn't so", step));
    }
  }
}

}  // namespace

Result<NamedObject> NamedObject::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size() ||
      text.find('/', slash + 1) != std::string_view::npos)
    return error(ErrorKind::Usage, "\"{}\" is not KIND/NAME", escape_controls(text))
        .with_hint("as in app/web, or deployments.apps/web");
  return NamedObject{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

Result<LiveBlueprints> live_blueprints(kube::Client& client, package::Renderer& renderer,
                                       const std::string& ns, const std::string& home,
                                       const Context& context) {
  MIST_TRY(const kube::ResourceInfo maps, client.resource_for({"", "ConfigMap"}, "v1", context));
  kube::ListOptions options{
      .ns = ns,
      .label_selector = fmt::format("{} in (true,{})", blueprint::kBlueprintLabel, blueprint::kPartValue)};
  auto listed = client.list(maps, options, context);
  if (!listed.ok() && listed.error().kind == ErrorKind::Forbidden && ns.empty()) {
    options.ns = home;
    listed = client.list(maps, options, context);
  }
  if (!listed.ok()) return std::move(listed).error().with_frame("while looking for blueprints");
  LiveBlueprints found;
  for (const Value& map : listed->items) {
    if (blueprint::is_part(map)) continue;
    auto one = evaluated(map, listed->items, renderer, context);
    if (one.ok()) {
      found.all.push_back(*std::move(one));
      continue;
    }
    if (is_stopped(one.error())) return std::move(one).error();
    found.troubles.push_back(fmt::format(
        "the blueprint {}/{} can't be evaluated, so nothing is known of its instances: {}",
        map.string_at({"metadata", "namespace"}), map.string_at({"metadata", "name"}), one.error().message));
  }
  return found;
}

Result<InstanceGraph> instance_graph(kube::Client& client, LiveBlueprints& blueprints,
                                     const NamedObject& named, const std::string& ns,
                                     const Context& context) {
  std::vector<std::string> kinds;
  // Two groups may have a kind of that name: the one meant is the one whose instance is there.
  std::vector<std::string> full_names;
  LiveBlueprint* blueprint = nullptr;
  Value instance;
  std::optional<Error> not_there;
  for (LiveBlueprint& each : blueprints.all) {
    const auto resource = instances_of(client, each, context);
    if (!resource.ok()) {
      if (is_stopped(resource.error())) return resource.error();
      blueprints.troubles.push_back(resource.error().to_line());
      continue;
    }
    kinds.push_back(fmt::format("{} ({}/{})", each.blueprint.instances().kind, each.ns, each.name));
    if (!is_meant(named.kind, *resource)) continue;
    auto found = client.get({*resource, resource->namespaced ? ns : "", named.name}, context);
    if (!found.ok() && is_hidden(found.error())) {
      if (!not_there) not_there = std::move(found).error();
      continue;
    }
    if (!found.ok()) return std::move(found).error();
    const std::string full = fmt::format("{}.{}/{}", resource->resource, resource->gvk.group, named.name);
    if (std::ranges::find(full_names, full) != full_names.end()) continue;  // two blueprints of one kind
    full_names.push_back(full);
    blueprint = &each;
    instance = *std::move(found);
  }
  if (full_names.size() > 1)
    return error(ErrorKind::Usage, "{}/{} is there in several kinds: {}", escape_controls(named.kind),
                 escape_controls(named.name), join(full_names, ", "))
        .with_hint("name the kind with its group, as in " + full_names.front());
  if (blueprint) return graph_of(client, *blueprint, instance, context);
  if (not_there) return *std::move(not_there);
  return error(ErrorKind::NotFound, "no blueprint is for the kind {}", escape_controls(named.kind))
      .with_because(join(blueprints.troubles, "\n"))
      .with_hint(kinds.empty()
                     ? "the cluster has no blueprint; name their namespace with --blueprints if you may "
                       "not list ConfigMaps everywhere"
                     : fmt::format("there are blueprints for {}", join(kinds, ", ")));
}

Result<Why> why_object(kube::Client& client, LiveBlueprints& blueprints, const NamedObject& named,
                       const std::string& ns, const std::optional<NamedObject>& instance,
                       const Context& context) {
  MIST_TRY(const kube::ResourceInfo resource, resource_named(client, named.kind, context));
  Why why;
  why.object = {resource.gvk.api_version(), resource.gvk.kind, resource.namespaced ? ns : "", named.name};
  const auto object = client.get({resource, why.object.ns, named.name}, context);
  if (!object.ok() && object.error().kind != ErrorKind::NotFound) return object.error();
  why.is_there = object.ok();
  if (object.ok())
    for (const std::string_view mark : {"labels", "annotations"})
      if (why.owner.empty()) why.owner = object->string_at({"metadata", mark, reconcile::kInstanceLabel});
  const std::string release(object.ok()
                                ? object->string_at({"metadata", "annotations", apply::kReleaseAnnotation})
                                : std::string_view());
  const auto look = [&](LiveBlueprint& live, const Value& one) -> Status {
    MIST_TRY(InstanceGraph graph, graph_of(client, live, one, context));
    ++why.looked_at;
    const std::vector<std::string> troubles = graph.troubles;
    for (graph::Node node = 0; node < graph.objects.size(); ++node)
      if (std::ranges::any_of(graph.objects[node], [&](const ObjectId& id) {
            return id.gvk().group_kind() == resource.gvk.group_kind() && id.ns == why.object.ns &&
                   id.name == named.name;
          }))
        why.nodes.push_back({graph, node});
      else if (const auto& made = graph.releases[node];
               made && fmt::format("{}/{}", made->first, made->second) == release)
        why.nodes.push_back({graph, node, true});
    why.troubles.insert(why.troubles.end(), troubles.begin(), troubles.end());
    for (const graph::Node node : graph.unnamed)
      why.troubles.push_back(
          fmt::format("the objects of the node {} of {} depend on values that aren't there yet",
                      graph.blueprint.name_of(node), graph.instance.display()));
    return {};
  };
  std::optional<Error> not_there;
  for (LiveBlueprint& live : blueprints.all) {
    const auto instances = instances_of(client, live, context);
    if (!instances.ok()) {
      if (is_stopped(instances.error())) return instances.error();
      why.troubles.push_back(instances.error().to_line());
      continue;
    }
    if (instance && !is_meant(instance->kind, *instances)) continue;
    // The mark may lead to another namespace.
    const std::string where = instances->namespaced && why.owner.empty() ? ns : std::string();
    if (instance) {
      auto one = client.get({*instances, instances->namespaced ? ns : "", instance->name}, context);
      if (one.ok()) {
        MIST_TRY_VOID(look(live, *one));
        continue;
      }
      // Another group may have a kind of that name, too.
      if (!is_hidden(one.error())) return std::move(one).error();
      if (!not_there) not_there = std::move(one).error();
      continue;
    }
    MIST_TRY(const kube::ObjectList listed, client.list(*instances, {.ns = where}, context));
    for (const Value& one : listed.items) {
      if (!why.owner.empty() && one.string_at({"metadata", "uid"}) != why.owner) continue;
      if (why.looked_at == kMostInstances)
        return error(ErrorKind::Invalid, "there are more than {} instances that could have to do with {}",
                     kMostInstances, why.object.display())
            .with_hint("name the one that you mean with --instance KIND/NAME");
      MIST_TRY_VOID(look(live, one));
    }
  }
  if (not_there && why.looked_at == 0) return *std::move(not_there);
  return why;
}

std::vector<std::string> reasons(const InstanceGraph& graph, graph::Node node) {
  if (graph.wanted[node] == Truth::True)
    return {graph::path_text(graph.blueprint.also(), graph.path[node],
                             [&](graph::Node each) { return graph.blueprint.name_of(each); })};
  std::vector<std::string> lines;
  std::set<graph::Node> told;
  reasons_against(graph, node, told, lines);
  return lines;
}

}  // namespace mist::action
