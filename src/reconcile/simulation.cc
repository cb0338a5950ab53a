#include "reconcile/simulation.h"

#include <algorithm>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/conditions.h"
#include "apimachinery/label_selector.h"
#include "apimachinery/managed_fields.h"
#include "apimachinery/object.h"
#include "apply/fields/difference.h"
#include "apply/fields/immutable.h"
#include "base/some_of.h"
#include "base/text.h"
#include "reconcile/ownership.h"
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

// The manager of what events write.
constexpr std::string_view kSomebody = "somebody";
constexpr std::size_t kMostFields = 3;

// As fieldsV1 of managedFields. A list counts as a whole.
Value field_set(const Value& value) {
  Value set = Value::object();
  if (value.is_object())
    for (const Value::Member& each : value.as_object()) set.set("f:" + each.key, field_set(each.value));
  return set;
}

// The part of an object whose fields have managers.
Value ownable(Value object) {
  for (const std::string_view name : {"apiVersion", "kind"}) object.erase(name);
  if (Value* metadata = object.find("metadata")) {
    for (const std::string_view name :
         {"name", "namespace", "uid", "generation", "deletionTimestamp", "managedFields"})
      metadata->erase(name);
    if (metadata->empty()) object.erase("metadata");
  }
  return object;
}

// The part of `after` that isn't so in `before`; nothing: all is.
std::optional<Value> changed_part(const Value* before, const Value& after) {
  if (before != nullptr && *before == after) return std::nullopt;
  if (before == nullptr || !before->is_object() || !after.is_object()) return after;
  Value changed = Value::object();
  for (const Value::Member& each : after.as_object())
    if (auto part = changed_part(before->find(each.key), each.value)) changed.set(each.key, *std::move(part));
  return changed.empty() ? std::nullopt : std::optional(std::move(changed));
}

Value fields_of(const Value& object, std::string_view manager) {
  for (const Value& each : apimachinery::managed_fields(object))
    if (each.string_at("manager") == manager) return *each.find("fieldsV1");
  return {};
}

void set_managers(Value& object, const Value& ours, const Value& others) {
  Value entries = Value::array({});
  const auto add = [&](std::string_view manager, std::string_view operation, const Value& fields) {
    if (!fields.empty())
      entries.push_back(Value::object({{"manager", manager},
                                       {"operation", operation},
                                       {"fieldsType", "FieldsV1"},
                                       {"fieldsV1", fields}}));
  };
  add(kManager, "Apply", ours);
  add(kSomebody, "Update", others);
  object["metadata"].set("managedFields", std::move(entries));
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
    ended_ = gone_ || (round.actions.empty() && !answered && !is_refused_now_);
    if (!round.actions.empty() || ended_) rounds.push_back(std::move(round));
  }
  return rounds;
}

Round Simulation::play() {
  Round round;
  if (gone_) return round;
  plan_ = decide(blueprint_, instance_, record_, queries());
  const bool terminating = apimachinery::is_terminating(instance_);
  for (const auto& [node, progress] : plan_.record.progress)
    for (const std::string& input : progress.reached)
      if (!record_.reached(node, input)) round.actions.push_back(fmt::format("record that {} is done", node));
  const bool is_recorded = plan_.record == record_;
  record_ = plan_.record;
  is_refused_now_ = false;
  for (const Apply& each : plan_.applies) {
    if (!apply(each)) continue;
    round.actions.push_back(
        fmt::format("{} {} (node {})", each.create ? "create" : "change", each.id.display(), each.node));
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
    if (each.what == Release::What::Finalizer)
      take_finalizer_off(there->second);
    else
      remove_ownership(there->second);
    if (apimachinery::is_terminating(there->second) && !apimachinery::has_finalizers(there->second))
      objects_.erase(there);
  }
  // Only in the record: the next round sees it.
  if (round.actions.empty() && !is_recorded && !terminating) round.actions.emplace_back("write the record");
  round.nodes = plan_.nodes;
  instance_.set("status", plan_.status);
  gone_ = terminating && plan_.finished;
  return round;
}

// As the server would: false if it refuses that, which the plan's report then says.
bool Simulation::apply(const Apply& each) {
  const auto there = objects_.find(each.id);
  const Value ours = field_set(ownable(each.object));
  if (there == objects_.end()) {
    Value object = each.object;
    set_managers(object, ours, {});
    put(each.id, std::move(object));
    return true;
  }
  const Value& live = there->second;
  const auto differences = apply::differences(each.object, live, kManager);
  Refusal refusal{.hash = each.hash};
  const auto immutable = apply::immutable_fields(each.id.key(), live, differences);
  std::vector<std::string> others;
  for (const apply::FieldDifference& difference : differences)
    if (!difference.managers.empty() && !difference.stays_with_others()) others.push_back(difference.path);
  if (!immutable.fields.empty()) {
    refusal.immutable = true;
    refusal.words = fmt::format("{} can't be changed in place", some_of(immutable.fields, kMostFields));
  } else if (!others.empty() && !each.force) {
    refusal.words = fmt::format("somebody else set {}, and the node doesn't force its values",
                                some_of(others, kMostFields));
  }
  if (!refusal.words.empty()) {
    std::ranges::find(plan_.nodes, each.node, &NodeReport::node)->fails(each.id, refusal.words);
    refused_.insert_or_assign(each.id, std::move(refusal));
    is_refused_now_ = true;
    return false;
  }
  Value object = apply::with_differences(live, differences);
  const Value theirs = fields_of(live, kSomebody);
  set_managers(object, ours,
               each.force && !theirs.is_null() ? apimachinery::field_set_without(theirs, ours) : theirs);
  put(each.id, std::move(object));
  return true;
}

void Simulation::put(const ObjectId& id, Value object) {
  const auto there = objects_.find(id);
  Value& metadata = object["metadata"];
  const Value* uid = there == objects_.end() ? nullptr : there->second.at_path({"metadata", "uid"});
  metadata.set("uid", uid == nullptr ? Value(fmt::format("uid-{}", ++uids_)) : *uid);
  refused_.erase(id);
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
  refused_.erase(id);
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

Queries Simulation::queries() const {
  return {.make = [this](const std::string& node, const Value& environment) -> Result<Value> {
            MIST_TRY(Value made, functions_.make(node, environment));
            if (blueprint_.nodes()[*blueprint_.node_called(node)].names_objects()) give_namespace(made);
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
                  apimachinery::selects(collection.label_selector, object))
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
          },
          .held = [this](const ObjectId& id, const std::string& hash) -> std::optional<std::string> {
            const auto found = refused_.find(id);
            return found == refused_.end() || found->second.hash != hash ? std::nullopt
                                                                         : std::optional(found->second.words);
          },
          .immutable =
              [this](const ObjectId& id, const std::string& hash) {
                const auto found = refused_.find(id);
                return found != refused_.end() && found->second.hash == hash && found->second.immutable;
              }};
}

Value Simulation::status() const { return status_of(plan_, instance_, std::string(kBegin)); }

void Simulation::write(const Value& object) {
  Value written = object;
  give_namespace(written);
  const ObjectId id = placed(written);
  Value ours, theirs;
  const auto there = objects_.find(id);
  const Value before = there == objects_.end() ? Value() : ownable(there->second);
  if (there != objects_.end()) {
    ours = fields_of(there->second, kManager);
    theirs = fields_of(there->second, kSomebody);
    Value merged = there->second;
    merge_into(merged, written);
    written = std::move(merged);
  }
  // Those who write a field are its managers from then on.
  if (const auto changed = changed_part(before.is_null() ? nullptr : &before, ownable(written))) {
    const Value fields = field_set(*changed);
    if (!ours.is_null()) ours = apimachinery::field_set_without(ours, fields);
    apimachinery::add_field_set(theirs, fields);
  }
  set_managers(written, ours, theirs);
  const bool is_over = apimachinery::is_terminating(written) && !apimachinery::has_finalizers(written);
  put(id, std::move(written));
  if (is_over) objects_.erase(id);
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
