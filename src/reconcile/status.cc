#include "reconcile/status.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "apimachinery/conditions.h"
#include "base/duration.h"
#include "base/some_of.h"
#include "base/text.h"
#include "reconcile/lost_record.h"

namespace mist::reconcile {

using apimachinery::condition_of;

namespace {

constexpr std::size_t kMostUndecided = 3;

struct StateWord {
  NodeState state;
  std::string_view word;
};
constexpr std::array<StateWord, 8> kStates{{{NodeState::NotWanted, "NotWanted"},
                                            {NodeState::Waiting, "Waiting"},
                                            {NodeState::Failed, "Failed"},
                                            {NodeState::Changing, "Changing"},
                                            {NodeState::Progressing, "Progressing"},
                                            {NodeState::Ready, "Ready"},
                                            {NodeState::Deleting, "Deleting"},
                                            {NodeState::Superseded, "Superseded"}}};

// A node that waits for one that waits itself says less than that one.
const NodeReport* first_cause(const Plan& plan, const NodeReport* waiting) {
  for (std::size_t steps = 0; steps < plan.nodes.size() && !waiting->waits_on.empty(); ++steps) {
    const auto before = std::ranges::find(plan.nodes, waiting->waits_on, &NodeReport::node);
    if (before == plan.nodes.end() || before->state != NodeState::Waiting) break;
    waiting = &*before;
  }
  return waiting;
}

// Of what is going, the first that waits for nothing else of it: that one keeps the others.
const NodeReport* first_to_go(const Plan& plan, const NodeReport* going) {
  std::set<ObjectId> ids;
  for (const NodeReport& each : plan.nodes)
    if (each.state == NodeState::Deleting && each.id) ids.insert(*each.id);
  std::set<std::string> needed;
  for (const Recorded& each : plan.record.objects)
    if (ids.contains(each.id))
      for (const std::string& before : each.after)
        if (before != each.node) needed.insert(before);
  const auto first = std::ranges::find_if(plan.nodes, [&](const NodeReport& each) {
    return each.state == NodeState::Deleting && !needed.contains(each.node);
  });
  return first == plan.nodes.end() ? going : &*first;
}

// How many objects of its node fail besides the one that it names.
std::size_t others_failing(const Plan& plan, const NodeReport& problem) {
  if (problem.failing.empty()) return 0;
  std::size_t all = 0;
  for (const NodeReport& each : plan.nodes)
    if (each.node == problem.node) all += each.failing.size();
  return all - 1;
}

std::string undecided_words(const Plan& plan) {
  std::set<std::string> nodes;
  std::vector<std::string> objects;
  for (const auto& [id, node] : plan.undecided) {
    nodes.insert(node);
    objects.push_back(id.display());
  }
  return fmt::format("not deleted before it is known what {} will make: {}",
                     some_of({nodes.begin(), nodes.end()}, kMostUndecided),
                     some_of(std::move(objects), kMostUndecided));
}

}  // namespace

Value condition(std::string_view type, std::string_view status, std::string_view reason, std::string message,
                const Value& instance, const std::string& now) {
  const Value* before = condition_of(instance, type);
  const bool same = before != nullptr && before->string_at("status") == status &&
                    !before->string_at("lastTransitionTime").empty();
  Value condition = Value::object(
      {{"type", type},
       {"status", status},
       {"reason", reason},
       {"message", std::move(message)},
       {"lastTransitionTime", same ? before->string_at("lastTransitionTime") : std::string_view(now)}});
  if (const Value* generation = instance.at_path({"metadata", "generation"}))
    condition.set("observedGeneration", *generation);
  return condition;
}

std::string_view word(NodeState state) { return std::ranges::find(kStates, state, &StateWord::state)->word; }

const NodeReport* problem_of(const Plan& plan) {
  for (const NodeState state : {NodeState::Failed, NodeState::Changing, NodeState::Progressing,
                                NodeState::Deleting, NodeState::Waiting}) {
    const auto found = std::ranges::find(plan.nodes, state, &NodeReport::state);
    if (found == plan.nodes.end()) continue;
    if (state == NodeState::Deleting) return first_to_go(plan, &*found);
    return state == NodeState::Waiting ? first_cause(plan, &*found) : &*found;
  }
  return nullptr;
}

Value status_of(const Plan& plan, const Value& instance, const std::string& now) {
  Value::Array conditions;
  if (plan.suspended) {
    conditions.push_back(
        condition("Ready", "Unknown", "Suspended",
                  fmt::format("the annotation {} says so{}", kSuspendAnnotation,
                              apimachinery::is_terminating(instance)
                                  ? "; it is being deleted, which waits until that is removed"
                                  : ""),
                  instance, now));
  } else if (plan.unkept) {
    conditions.push_back(condition("Ready", "Unknown", "NoBlueprint",
                                   "its blueprint is gone, has lost its label or can't be evaluated; its "
                                   "ConfigMap or the operator's log "
                                   "says why. Nothing is changed until there is one, but it can be deleted",
                                   instance, now));
  } else if (plan.spec == SpecState::Broken) {
    conditions.push_back(condition("Ready", "False", "SpecInvalid", plan.spec_fault, instance, now));
  } else if (!plan.record_fault.empty()) {
    conditions.push_back(condition(
        "Ready", "False", "RecordRefused",
        fmt::format("the objects to be made can't be recorded, so nothing is made: {}", plan.record_fault),
        instance, now));
  } else if (const NodeReport* const problem = problem_of(plan)) {
    std::string what = problem->id ? problem->id->display() : fmt::format("node {}", problem->node);
    if (const std::size_t others = others_failing(plan, *problem); others > 0)
      what += fmt::format(" and {} more", others);
    if (!problem->detail.empty()) what += ": " + problem->detail;
    if (!plan.undecided.empty()) what += "; " + undecided_words(plan);
    conditions.push_back(condition("Ready", "False", word(problem->state), std::move(what), instance, now));
  } else if (apimachinery::is_terminating(instance) && !plan.record.unaccounted.empty()) {
    conditions.push_back(
        condition("Ready", "False", "RecordLost", unaccounted_words(plan.record), instance, now));
  } else {
    conditions.push_back(condition("Ready", "True", "Ready", "everything is as wanted", instance, now));
  }
  if (plan.spec == SpecState::Broken)
    conditions.push_back(condition("SpecValid", "False", "ContractBroken", plan.spec_fault, instance, now));
  else if (plan.spec == SpecState::Valid)
    conditions.push_back(
        condition("SpecValid", "True", "ContractMet", "the spec meets its contract", instance, now));
  if (!plan.status_fault.empty())
    conditions.push_back(
        condition("StatusValid", "False", "ContractBroken", plan.status_fault, instance, now));
  if (!plan.record.unaccounted.empty())
    conditions.push_back(
        condition("RecordComplete", "False", "RecordLost", unaccounted_words(plan.record), instance, now));
  if (!plan.silent.empty()) {
    std::string words;
    for (const auto& [node, why] : plan.silent)
      words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", node, why);
    conditions.push_back(condition("SourcesAnswer", "False", "NoAnswer", std::move(words), instance, now));
  }
  std::string oscillating;
  for (const NodeReport& each : plan.nodes)
    if (each.oscillating) oscillating += fmt::format("{}{}", oscillating.empty() ? "" : ", ", each.node);
  if (!oscillating.empty())
    conditions.push_back(condition("Oscillating", "True", "FlipBudgetExceeded",
                                   fmt::format("{} came and went too often", oscillating), instance, now));
  Value status = Value::object({{"conditions", Value(std::move(conditions))}});
  for (const Value::Member& each : plan.status.as_object()) status.set(each.key, each.value);
  return status;
}

void add_stalled(Value& status, Duration deadline, const Value& instance, const std::string& now) {
  Value::Array& conditions = status.find("conditions")->as_array();
  const auto ready =
      std::ranges::find_if(conditions, [](const Value& each) { return each.string_at("type") == "Ready"; });
  const std::string why =
      ready == conditions.end() ? std::string() : fmt::format(": {}", ready->string_at("message"));
  conditions.push_back(condition("Stalled", "True", "ProgressDeadlineExceeded",
                                 fmt::format("not ready within {}{}", format_elapsed(deadline), why),
                                 instance, now));
}

Value status_before(const blueprint::Blueprint& blueprint, const Value& instance) {
  Value status = Value::object();
  for (const blueprint::Node& node : blueprint.nodes())
    for (const blueprint::Extraction& each : node.status)
      if (const Value* before = instance.at_path({"status", each.name})) status.set(each.name, *before);
  return status;
}

bool has_status(const blueprint::Blueprint* blueprint, const Value& instance, const Value& status) {
  const Value* live = instance.find("status");
  if (live == nullptr || !live->is_object()) return false;
  for (const Value::Member& each : status.as_object())
    if (const Value* there = live->find(each.key); there == nullptr || *there != each.value) return false;
  if (blueprint == nullptr) return true;
  for (const blueprint::Node& node : blueprint->nodes())
    for (const blueprint::Extraction& each : node.status)
      if (status.find(each.name) == nullptr && live->find(each.name) != nullptr) return false;
  return true;
}

}  // namespace mist::reconcile
