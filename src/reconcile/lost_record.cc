#include "reconcile/lost_record.h"

#include <algorithm>

#include "apimachinery/conditions.h"
#include "apimachinery/managed_fields.h"
#include "base/some_of.h"
#include "base/text.h"
#include "reconcile/node_kinds.h"
#include "reconcile/ownership.h"

namespace mist::reconcile {
namespace {

constexpr std::size_t kMostNamed = 10;

// An entry of managed fields: the operator wrote the record that is there.
bool is_own_record(const Value& entry) {
  static const std::string kField = fmt::format("f:{}", kRecordAnnotation);
  return entry.string_at("manager") == kManager && entry.string_at("operation") == "Apply" &&
         entry.at_path({"fieldsV1", "f:metadata", "f:annotations", kField}) != nullptr;
}

bool is_changed_since_created(const Value& instance) {
  const std::string_view created = instance.string_at({"metadata", "creationTimestamp"});
  return std::ranges::any_of(apimachinery::managed_fields(instance),
                             [&](const Value& each) { return each.string_at("time") != created; });
}

ObjectKind kind_of(const ObjectId& id) { return {id.api_version, id.kind}; }

}  // namespace

bool is_record_in_doubt(const Value& instance) {
  for (const Value& each : apimachinery::managed_fields(instance))
    if (is_own_record(each)) return false;
  return !instance.string_at({"metadata", "annotations", kRecordAnnotation}).empty() ||
         has_finalizer(instance) || apimachinery::condition_of(instance, "Ready") != nullptr ||
         is_changed_since_created(instance);
}

void account_for_marked(const blueprint::Blueprint* blueprint, const Value& instance, const Record& recorded,
                        const Queries& queries, Plan& plan) {
  std::set<ObjectId> found(recorded.unaccounted.begin(), recorded.unaccounted.end());
  if (queries.marked && is_record_in_doubt(instance)) {
    std::set<ObjectKind> kinds;
    for (const Recorded& each : plan.record.objects) kinds.insert(kind_of(each.id));
    if (blueprint != nullptr)
      for (graph::Node node = 0; node < blueprint->nodes().size(); ++node)
        if (auto made = kinds_of(*blueprint, node, instance, queries)) kinds.merge(*std::move(made));
    const std::vector<ObjectId> marked = queries.marked(kinds);
    found.insert(marked.begin(), marked.end());
  }
  plan.accounted = blueprint != nullptr;
  const std::string_view uid = instance.string_at({"metadata", "uid"});
  for (const ObjectId& id : found) {
    if (plan.record.find(id) != nullptr) continue;
    const Observation observed = queries.observe(id, true);
    // Controllers copy labels to what they make.
    const bool is_left =
        !observed.there() || (is_instances(observed.object, uid) && !has_controller(observed.object));
    if (!is_left || observed.absent()) continue;
    plan.record.unaccounted.push_back(id);
    // The Job of an act that somebody deletes.
    if (!apimachinery::is_terminating(observed.object) || !has_finalizer(observed.object)) continue;
    plan.releases.push_back({Release::What::Finalizer, {}, id, observed.object});
    plan.nodes.push_back(
        {.node = {}, .state = NodeState::Deleting, .detail = "it is being deleted", .id = id});
  }
}

std::string unaccounted_words(const Record& record) {
  std::vector<std::string> names;
  for (const ObjectId& each : record.unaccounted) names.push_back(each.display());
  return fmt::format(
      "the record of what was made was lost, and {} of this instance that its blueprint doesn't make now: "
      "{}. "
      "Nobody changes or deletes {}; delete what isn't needed, and take the label {} off what is to stay",
      names.size() == 1 ? "there is an object" : fmt::format("there are {} objects", names.size()),
      some_of(names, kMostNamed), names.size() == 1 ? "it" : "them", kInstanceLabel);
}

}  // namespace mist::reconcile
