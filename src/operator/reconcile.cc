#include "operator/reconcile.h"

#include <algorithm>
#include <map>
#include <set>

#include "apply/marks.h"
#include "apply/readiness.h"
#include "apply/server_made.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"

namespace mist::operator_ {
namespace {

using blueprint::Blueprint;
using blueprint::Condition;
using blueprint::NodeType;
using blueprint::SequenceEdge;
using graph::Truth;

bool is_instances(const Value& object, std::string_view uid) {
  return object.string_at({"metadata", "labels", kInstanceLabel}) == uid ||
         object.string_at({"metadata", "annotations", kInstanceLabel}) == uid;
}

ObjectId id_of(const Value& object) {
  return {std::string(object.string_at("apiVersion")), std::string(object.string_at("kind")),
          std::string(object.string_at({"metadata", "namespace"})),
          std::string(object.string_at({"metadata", "name"}))};
}

std::string hash_of(Value object) {
  object.sort_keys();
  return crypto::sha256(crypto::as_bytes(encoding::to_json(object))).hex().substr(0, 32);
}

// With what it is known by.
Value marked(Value object, std::string_view uid) {
  const std::string hash = hash_of(object);
  object["metadata"]["labels"].set(kInstanceLabel, uid);
  object["metadata"]["annotations"].set(kInstanceLabel, uid);
  object["metadata"]["annotations"].set(kHashAnnotation, hash);
  return object;
}

// What functions may depend on: not the status, which the operator writes itself, nor what each write
// changes.
Value for_functions(const Value& instance) {
  Value seen = Value::object();
  for (const std::string_view name : {"apiVersion", "kind", "spec"})
    if (const Value* value = instance.find(name)) seen.set(name, *value);
  for (const std::string_view name : {"name", "namespace", "uid", "labels"})
    if (const Value* value = instance.at_path({"metadata", name})) seen["metadata"].set(name, *value);
  return seen;
}

bool is_observed(const Value& live) {
  const Value* generation = live.at_path({"metadata", "generation"});
  const Value* observed = live.at_path({"status", "observedGeneration"});
  return generation == nullptr || observed == nullptr || !generation->is_int() || !observed->is_int() ||
         observed->as_int() >= generation->as_int();
}

// What is known of a node while the others are looked at.
struct Seen {
  NodeReport report;
  Value live;  // null: it isn't there, or isn't as it was made
  bool present = false;
};

class Reconciler {
 public:
  Reconciler(const Blueprint& blueprint, const Value& instance, const std::vector<Recorded>& recorded,
             const World& world)
      : blueprint_(blueprint),
        instance_(instance),
        recorded_(recorded),
        world_(world),
        uid_(instance.string_at({"metadata", "uid"})),
        wanted_(blueprint.wanted(instance)),
        seen_(blueprint.nodes().size()) {}

  Plan run() {
    for (const graph::Node node : blueprint_.order()) look_at(node);
    prune();
    for (Seen& each : seen_) plan_.nodes.push_back(std::move(each.report));
    return std::move(plan_);
  }

 private:
  void look_at(graph::Node node) {
    Seen& seen = seen_[node];
    seen.report.node = blueprint_.nodes()[node].name;
    if (wanted_.wanted(node) == Truth::False) return;
    Value environment = Value::object({{"instance", for_functions(instance_)}});
    std::string missing, gate;
    gather(node, environment, missing, gate);
    if (!missing.empty()) return waits(seen, missing);
    auto made = world_.make(seen.report.node, environment);
    if (!made.ok()) return fails(seen, made.error().to_line());
    ObjectId id = id_of(*made);
    if (id.api_version.empty() || id.kind.empty() || id.name.empty())
      return fails(seen, "its function gives no object with apiVersion, kind and metadata.name");
    seen.report.id = id;
    if (const auto reserved = apply::find_reserved(*made))
      return fails(seen, fmt::format("{} {}", id.display(), reserved->words));
    if (const auto [other, is_new] = ids_.emplace(id, seen.report.node); !is_new)
      return fails(seen, fmt::format("the node {} is {} too", other->second, id.display()));
    Observation observed = world_.observe(id, blueprint_.nodes()[node].type == NodeType::Own);
    if (observed.state == Observation::State::Unknown)
      return waits(seen, fmt::format("the kind of {} is being looked up", id.display()));
    if (blueprint_.nodes()[node].type == NodeType::Read) return read(seen, observed, id);
    own(node, seen, marked(*std::move(made), uid_), observed, gate);
  }

  // `missing`: why the node's function can't be called; `gate`: why nothing new may be written.
  void gather(graph::Node node, Value& environment, std::string& missing, std::string& gate) const {
    for (const SequenceEdge& edge : blueprint_.sequence()) {
      if (edge.to != node) continue;
      const Seen& source = seen_[edge.from];
      const std::string& name = blueprint_.nodes()[edge.from].name;
      if (wanted_.wanted(edge.from) == Truth::False) {
        if (!edge.extract.empty())
          missing = fmt::format("the node {}, whose values it needs, is not wanted", name);
        continue;
      }
      const bool holds =
          edge.until == Condition::Present ? source.present : source.report.state == NodeState::Ready;
      if (!holds && gate.empty())
        gate = fmt::format("waits for {}{}", name,
                           source.report.detail.empty() ? "" : ": " + source.report.detail);
      for (const blueprint::Extraction& each : edge.extract) {
        const Value* value = each.path.find(source.live);
        if (value == nullptr && missing.empty())
          missing = holds ? fmt::format("waits for {} of {}", each.path.text, name) : gate;
        if (value != nullptr) environment.set(each.name, *value);
      }
    }
  }

  static void waits(Seen& seen, std::string why) {
    seen.report.state = NodeState::Waiting;
    seen.report.detail = std::move(why);
  }
  static void fails(Seen& seen, std::string why) {
    seen.report.state = NodeState::Failed;
    seen.report.detail = std::move(why);
  }

  static void read(Seen& seen, Observation& observed, const ObjectId& id) {
    if (observed.state == Observation::State::Absent)
      return waits(seen, fmt::format("{} is not there", id.display()));
    if (id.kind == "Secret" && id.api_version == "v1" && apply::is_record(observed.object))
      return fails(
          seen, fmt::format("{} is of the record of a release, which no blueprint may read", id.display()));
    judge(seen, std::move(observed.object));
  }

  static void judge(Seen& seen, Value live) {
    const apply::Readiness now = apply::readiness(live);
    seen.present = !apimachinery::is_terminating(live);
    seen.report.detail = now.detail;
    seen.report.state = now.health == apply::Health::Ready && seen.present && is_observed(live)
                            ? NodeState::Ready
                            : NodeState::Progressing;
    if (seen.report.state == NodeState::Progressing && seen.report.detail.empty())
      seen.report.detail =
          seen.present ? "its controller hasn't seen its last change" : "it is being deleted";
    seen.live = std::move(live);
  }

  void own(graph::Node node, Seen& seen, Value desired, Observation& observed, const std::string& gate) {
    const ObjectId id = *seen.report.id;
    if (observed.state == Observation::State::Absent) {
      if (!gate.empty()) return waits(seen, gate);
      return apply(node, seen, std::move(desired), true);
    }
    if (!is_instances(observed.object, uid_))
      return fails(seen, fmt::format("{} exists already and doesn't belong to this instance", id.display()));
    keep(node, seen);
    if (apimachinery::is_terminating(observed.object))
      return waits(seen, fmt::format("{} is being deleted, and is made again when it is gone", id.display()));
    std::vector<apply::FieldDifference> found = apply::differences(desired, observed.object, kManager);
    apply::leave_out(found, observed.made);
    std::erase_if(found, &apply::FieldDifference::made);
    if (found.empty()) return judge(seen, std::move(observed.object));
    const auto hash = [](const Value& object) {
      return object.string_at({"metadata", "annotations", kHashAnnotation});
    };
    if (!gate.empty() && hash(observed.object) != hash(desired)) return waits(seen, gate);
    apply(node, seen, std::move(desired), false);
  }

  void keep(graph::Node node, const Seen& seen) {
    Recorded entry{seen.report.node, *seen.report.id, {}};
    for (const SequenceEdge& edge : blueprint_.sequence())
      if (edge.to == node) entry.after.push_back(blueprint_.nodes()[edge.from].name);
    std::ranges::sort(entry.after);
    entry.after.erase(std::ranges::unique(entry.after).begin(), entry.after.end());
    plan_.record.push_back(std::move(entry));
  }

  void apply(graph::Node node, Seen& seen, Value desired, bool create) {
    if (create) keep(node, seen);
    seen.report.state = NodeState::Changing;
    seen.report.detail = create ? "it is being created" : "it is being changed";
    plan_.applies.push_back({seen.report.node, *seen.report.id, std::move(desired), create});
  }

  // What was recorded and is no longer wanted goes; what is wanted and can't be made now stays.
  void prune() {
    std::vector<Recorded> going;
    for (const Recorded& each : recorded_) {
      if (ids_.contains(each.id)) {
        if (std::ranges::find(plan_.record, each.id, &Recorded::id) == plan_.record.end() &&
            world_.observe(each.id, true).state != Observation::State::Absent)
          plan_.record.push_back(each);
        continue;
      }
      const auto node = std::ranges::find(blueprint_.nodes(), each.node, &blueprint::Node::name);
      const bool wanted =
          node != blueprint_.nodes().end() &&
          wanted_.wanted(static_cast<graph::Node>(node - blueprint_.nodes().begin())) != Truth::False;
      const bool is_elsewhere =
          wanted && seen_[static_cast<std::size_t>(node - blueprint_.nodes().begin())].report.id.has_value();
      if (wanted && !is_elsewhere)
        plan_.record.push_back(each);
      else
        going.push_back(each);
    }
    remove(going);
    std::ranges::sort(plan_.record, {}, [](const Recorded& each) { return std::tie(each.node, each.id); });
  }

  void remove(const std::vector<Recorded>& going);

  const Blueprint& blueprint_;
  const Value& instance_;
  const std::vector<Recorded>& recorded_;
  const World& world_;
  const std::string uid_;
  const graph::Closure wanted_;
  std::vector<Seen> seen_;
  std::map<ObjectId, std::string> ids_;  // → node
  Plan plan_;
};

// Deletes of `going` what nothing that is there came after. Those that are left stay in the record.
void delete_in_order(const std::vector<Recorded>& going, std::string_view uid, const World& world,
                     Plan& plan) {
  std::vector<std::pair<const Recorded*, Observation>> left;
  std::set<std::string> needed;
  for (const Recorded& each : going) {
    Observation observed = world.observe(each.id, true);
    if (observed.state == Observation::State::Absent) continue;
    // Somebody made another one since.
    if (observed.state == Observation::State::There && !is_instances(observed.object, uid)) continue;
    needed.insert(each.after.begin(), each.after.end());
    left.emplace_back(&each, std::move(observed));
  }
  for (auto& [entry, observed] : left) {
    plan.record.push_back(*entry);
    NodeReport report{entry->node, NodeState::Deleting, {}, entry->id};
    if (observed.state == Observation::State::Unknown)
      report.detail = fmt::format("the kind of {} is being looked up", entry->id.display());
    else if (needed.contains(entry->node))
      report.detail = "waits until what came after it is gone";
    else if (apimachinery::is_terminating(observed.object))
      report.detail = apply::why_terminating(observed.object);
    else
      plan.deletes.push_back({*entry, std::string(observed.object.string_at({"metadata", "uid"}))});
    plan.nodes.push_back(std::move(report));
  }
}

void Reconciler::remove(const std::vector<Recorded>& going) { delete_in_order(going, uid_, world_, plan_); }

constexpr std::string_view word(NodeState state) {
  switch (state) {
    case NodeState::NotWanted:
      return "NotWanted";
    case NodeState::Waiting:
      return "Waiting";
    case NodeState::Failed:
      return "Failed";
    case NodeState::Changing:
      return "Changing";
    case NodeState::Progressing:
      return "Progressing";
    case NodeState::Ready:
      return "Ready";
    case NodeState::Deleting:
      return "Deleting";
  }
  return "";
}

// The one that people have to know of first.
const NodeReport* worst(const Plan& plan) {
  for (const NodeState state : {NodeState::Failed, NodeState::Changing, NodeState::Progressing,
                                NodeState::Deleting, NodeState::Waiting}) {
    const auto found = std::ranges::find(plan.nodes, state, &NodeReport::state);
    if (found != plan.nodes.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::string ObjectId::display() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

bool is_of(const Value& object, const Value& instance) {
  return is_instances(object, instance.string_at({"metadata", "uid"}));
}

Plan reconcile(const Blueprint& blueprint, const Value& instance, const std::vector<Recorded>& recorded,
               const World& world) {
  if (apimachinery::is_terminating(instance)) return tear_down(instance, recorded, world);
  return Reconciler(blueprint, instance, recorded, world).run();
}

Plan tear_down(const Value& instance, const std::vector<Recorded>& recorded, const World& world) {
  Plan plan;
  if (!apimachinery::is_terminating(instance)) {
    plan.record = recorded;
    return plan;
  }
  delete_in_order(recorded, instance.string_at({"metadata", "uid"}), world, plan);
  plan.finished = plan.record.empty();
  return plan;
}

Value status_of(const Plan& plan, const Value& instance, const std::string& now) {
  const NodeReport* const problem = worst(plan);
  Value condition = Value::object({{"type", "Ready"},
                                   {"status", problem == nullptr ? "True" : "False"},
                                   {"reason", problem == nullptr ? "Ready" : word(problem->state)},
                                   {"message", ""},
                                   {"lastTransitionTime", now}});
  if (problem == nullptr) {
    condition.set("message", "everything is as wanted");
  } else {
    const std::string what = problem->id ? problem->id->display() : fmt::format("node {}", problem->node);
    condition.set("message", problem->detail.empty() ? what : fmt::format("{}: {}", what, problem->detail));
  }
  if (const Value* generation = instance.at_path({"metadata", "generation"}))
    condition.set("observedGeneration", *generation);
  if (const Value* before = instance.at_path({"status", "conditions"});
      before != nullptr && before->is_array())
    for (const Value& each : before->as_array())
      if (each.string_at("type") == "Ready" && each.string_at("status") == condition.string_at("status") &&
          !each.string_at("lastTransitionTime").empty())
        condition.set("lastTransitionTime", each.string_at("lastTransitionTime"));
  return Value::object({{"conditions", Value::array({std::move(condition)})}});
}

}  // namespace mist::operator_
