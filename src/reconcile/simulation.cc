#include "reconcile/simulation.h"

#include <algorithm>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/conditions.h"
#include "apimachinery/object.h"
#include "base/text.h"
#include "reconcile/release_node.h"
#include "reconcile/status.h"

namespace mist::reconcile {
namespace {

// A blueprint that needs more changes without end.
constexpr std::size_t kMostRounds = 200;
constexpr std::string_view kBegin = "2000-01-01T00:00:00Z";

bool is_workload(const ObjectId& id) {
  return id.gvk().group == "apps" && (id.kind == "Deployment" || id.kind == "StatefulSet" ||
                                      id.kind == "ReplicaSet" || id.kind == "DaemonSet");
}

Value condition_true(std::string_view type) {
  return Value::array({Value::object({{"type", type}, {"status", "True"}})});
}

// Sets the status as a controller would; leaves it if that has nothing to say.
void answer_for(const ObjectId& id, Value& object, std::int64_t& addresses) {
  if (is_workload(id)) {
    const Value* wanted = object.at_path({"spec", "replicas"});
    const std::int64_t replicas = wanted != nullptr && wanted->is_int() ? wanted->as_int() : 1;
    Value& status = object["status"];
    for (const std::string_view count :
         {"replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "currentReplicas",
          "fullyLabeledReplicas", "desiredNumberScheduled", "currentNumberScheduled",
          "updatedNumberScheduled", "numberReady", "numberAvailable"})
      status.set(count, replicas);
    if (const Value* generation = object.at_path({"metadata", "generation"}))
      status.set("observedGeneration", *generation);
  } else if (id.gvk().group == "batch" && id.kind == "Job") {
    if (apimachinery::true_condition(object, "Failed") == nullptr)
      object["status"].set("conditions", condition_true("Complete"));
  } else if (id.kind == "Service" && id.api_version == "v1") {
    if (object.string_at({"spec", "clusterIP"}).empty() &&
        object.string_at({"spec", "type"}) != "ExternalName")
      object["spec"].set("clusterIP", fmt::format("10.96.0.{}", ++addresses));
    if (object.string_at({"spec", "type"}) == "LoadBalancer" &&
        object.at_path({"status", "loadBalancer", "ingress"}) == nullptr)
      object["status"]["loadBalancer"].set(
          "ingress", Value::array({Value::object({{"ip", fmt::format("192.0.2.{}", ++addresses)}})}));
  } else if (id.kind == "Namespace" && id.api_version == "v1") {
    object["status"].set("phase", "Active");
  } else if (id.kind == "PersistentVolumeClaim" && id.api_version == "v1") {
    object["status"].set("phase", "Bound");
  } else if (id.kind == "Pod" && id.api_version == "v1") {
    object["status"].set("phase", "Running");
    object["status"].set("conditions", condition_true("Ready"));
  } else if (id.kind == "CustomResourceDefinition") {
    object["status"].set("conditions", condition_true("Established"));
  }
}

// Answers as the operator would for a Release: it is installed at once, or it isn't and says why.
void answer_release(Value& release, const Simulation::Outcome* given) {
  const bool fails = given != nullptr && !given->failure.empty();
  Value condition = Value::object({{"type", "Ready"},
                                   {"status", fails ? "False" : "True"},
                                   {"reason", fails ? "DeployFailed" : "Deployed"},
                                   {"message", fails ? given->failure : "it is deployed"}});
  Value& status = release["status"];
  if (const Value* generation = release.at_path({"metadata", "generation"})) {
    condition.set("observedGeneration", *generation);
    status.set("observedGeneration", *generation);
  }
  status.set("conditions", Value::array({std::move(condition)}));
  if (given != nullptr && !given->exports.is_null()) status.set("exports", given->exports);
}

bool matches(const Value& object, std::string_view selector) {
  if (selector.empty()) return true;
  for (const std::string_view part : split(selector, ',')) {
    const auto equals = part.find('=');
    if (object.string_at({"metadata", "labels", part.substr(0, equals)}) != part.substr(equals + 1))
      return false;
  }
  return true;
}

}  // namespace

Simulation::Simulation(const blueprint::Blueprint& blueprint, Value instance, Functions functions,
                       bool controllers)
    : blueprint_(blueprint),
      instance_(std::move(instance)),
      functions_(std::move(functions)),
      controllers_(controllers) {
  Value& metadata = instance_["metadata"];
  if (metadata.string_at("namespace").empty()) metadata.set("namespace", "default");
  metadata.set("uid", "instance");
  metadata.set("generation", 1);
}

std::vector<Round> Simulation::settle() {
  std::vector<Round> rounds;
  ended_ = false;
  for (std::size_t i = 0; i < kMostRounds && !ended_; ++i) {
    Round round = play();
    const bool answered = controllers_ && answer();
    ended_ = gone_ || (round.actions.empty() && !answered);
    if (!round.actions.empty() || ended_) rounds.push_back(std::move(round));
  }
  return rounds;
}

Round Simulation::play() {
  Round round;
  if (gone_) return round;
  plan_ = decide(blueprint_, instance_, record_, world());
  const bool terminating = apimachinery::is_terminating(instance_);
  for (const auto& [node, progress] : plan_.record.progress)
    for (const std::string& input : progress.reached)
      if (!record_.reached(node, input)) round.actions.push_back(fmt::format("record that {} is done", node));
  const bool is_recorded = plan_.record == record_;
  record_ = plan_.record;
  for (const Apply& each : plan_.applies) {
    round.actions.push_back(
        fmt::format("{} {} (node {})", each.create ? "create" : "change", each.id.display(), each.node));
    Value object = each.object;
    if (const auto there = objects_.find(each.id); there != objects_.end()) {
      Value merged = there->second;
      merge_into(merged, object);
      object = std::move(merged);
    }
    put(each.id, std::move(object));
    made_by_[each.id] = each.node;
  }
  for (const Delete& each : plan_.deletes) {
    round.actions.push_back(fmt::format("delete {} (node {})", each.what.id.display(), each.what.node));
    erase(each.what.id);
  }
  for (const Release& each : plan_.releases) {
    const auto there = objects_.find(each.id);
    if (there == objects_.end()) continue;
    round.actions.push_back(fmt::format("let go of {} (node {})", each.id.display(), each.node));
    Value& metadata = there->second["metadata"];
    if (each.what == Release::What::Finalizer) {
      metadata.erase("finalizers");
      if (apimachinery::is_terminating(there->second)) objects_.erase(there);
    } else {
      for (const std::string_view part : {"labels", "annotations"})
        if (Value* all = metadata.find(part)) all->erase(kInstanceLabel);
    }
  }
  // Only in the record: the next round sees it.
  if (round.actions.empty() && !is_recorded && !terminating) round.actions.emplace_back("write the record");
  round.nodes = plan_.nodes;
  instance_.set("status", plan_.status);
  gone_ = terminating && plan_.finished;
  return round;
}

void Simulation::put(const ObjectId& id, Value object) {
  const auto there = objects_.find(id);
  Value& metadata = object["metadata"];
  const Value* uid = there == objects_.end() ? nullptr : there->second.at_path({"metadata", "uid"});
  metadata.set("uid", uid == nullptr ? Value(fmt::format("uid-{}", ++uids_)) : *uid);
  metadata.set("managedFields", Value::array({}));
  if (is_release(id)) {
    // Its status is of one generation of its spec.
    const Value* const before = there == objects_.end() ? nullptr : there->second.find("spec");
    const Value* const number =
        there == objects_.end() ? nullptr : there->second.at_path({"metadata", "generation"});
    const Value* const spec = object.find("spec");
    const bool same = before != nullptr && spec != nullptr && *before == *spec;
    const std::int64_t generation = number != nullptr && number->is_int() ? number->as_int() : 0;
    object["metadata"].set("generation", same ? generation : generation + 1);
  }
  objects_[id] = std::move(object);
}

void Simulation::erase(const ObjectId& id) {
  const auto there = objects_.find(id);
  if (there == objects_.end()) return;
  if (apimachinery::has_finalizers(there->second))
    there->second["metadata"].set("deletionTimestamp", kBegin);
  else
    objects_.erase(there);
}

bool Simulation::answer() {
  bool any = false;
  for (auto& [id, object] : objects_) {
    Value answered = object;
    if (is_release(id)) {
      const auto node = made_by_.find(id);
      const auto given = node == made_by_.end() ? outcomes_.end() : outcomes_.find(node->second);
      answer_release(answered, given == outcomes_.end() ? nullptr : &given->second);
    } else {
      answer_for(id, answered, addresses_);
    }
    any |= answered != object;
    object = std::move(answered);
  }
  return any;
}

ObjectId Simulation::placed(const Value& object) const {
  ObjectId id = id_of(object);
  if (id.ns.empty() && !apimachinery::is_cluster_scoped(id.gvk().group_kind()))
    id.ns = std::string(instance_.string_at({"metadata", "namespace"}));
  return id;
}

void Simulation::give_namespace(Value& made) const {
  if (made.is_array()) {
    for (Value& each : made.as_array()) give_namespace(each);
  } else if (made.is_object() && made.find("metadata") != nullptr) {
    if (const ObjectId id = placed(made); !id.ns.empty()) made["metadata"].set("namespace", id.ns);
  }
}

World Simulation::world() const {
  return {.make = [this](const std::string& node, const Value& environment) -> Result<Value> {
            MIST_TRY(Value made, functions_.make(node, environment));
            const auto told = std::ranges::find(blueprint_.nodes(), node, &blueprint::Node::name);
            if (told->names_objects()) give_namespace(made);
            return made;
          },
          .observe =
              [this](const ObjectId& id, bool /*owned*/) {
                const auto found = objects_.find(id);
                return found == objects_.end() ? Observation{Observation::State::Absent, {}, {}}
                                               : Observation{Observation::State::There, found->second, {}};
              },
          .list = [this](const Collection& collection) -> std::optional<Value::Array> {
            Value::Array found;
            for (const auto& [id, object] : objects_)
              if (id.api_version == collection.api_version && id.kind == collection.kind &&
                  (collection.ns.empty() || id.ns == collection.ns) &&
                  matches(object, collection.label_selector))
                found.push_back(object);
            return found;
          },
          .check_node = functions_.check_node,
          .check_edge = functions_.check_edge,
          .check_spec = functions_.check_spec,
          .check_status = functions_.check_status,
          .ask = [this](const std::string& node, const HttpQuestion& /*question*/) -> HttpAnswer {
            const auto found = answers_.find(node);
            return found == answers_.end() ? HttpAnswer() : found->second;
          }};
}

Value Simulation::status() const { return status_of(plan_, instance_, std::string(kBegin)); }

void Simulation::write(const Value& object) {
  Value written = object;
  give_namespace(written);
  const ObjectId id = placed(written);
  if (const auto there = objects_.find(id); there != objects_.end()) {
    Value merged = there->second;
    merge_into(merged, written);
    written = std::move(merged);
  }
  put(id, std::move(written));
}

Status Simulation::remove(const Value& object) {
  const ObjectId id = placed(object);
  if (!objects_.contains(id)) return error(ErrorKind::NotFound, "{} is not there", id.display());
  erase(id);
  return {};
}

void Simulation::change_instance(const Value& change) {
  merge_into(instance_, change);
  Value& metadata = instance_["metadata"];
  metadata.set("generation", metadata.find("generation")->as_int() + 1);
}

void Simulation::delete_instance() { instance_["metadata"].set("deletionTimestamp", kBegin); }

std::vector<Value> Simulation::objects() const {
  std::vector<Value> all;
  for (const auto& [id, object] : objects_) all.push_back(object);
  return all;
}

}  // namespace mist::reconcile
