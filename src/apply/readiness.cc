#include "apply/readiness.h"

#include <array>

#include "base/text.h"

namespace mist::apply {

using apimachinery::GroupKind;
using encoding::Value;

namespace {

std::int64_t number(const Value& object, std::initializer_list<std::string_view> path,
                    std::int64_t fallback) {
  const Value* value = object.at_path(path);
  return value != nullptr && value->is_int() ? value->as_int() : fallback;
}

const Value* condition(const Value& object, std::string_view type) {
  const Value* conditions = object.at_path({"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Value& entry : conditions->as_array()) {
    if (entry.string_at("type") == type) return &entry;
  }
  return nullptr;
}
bool is_true(const Value* entry) { return entry != nullptr && entry->string_at("status") == "True"; }

std::string say(const Value& entry) {
  const std::string_view message = entry.string_at("message"), reason = entry.string_at("reason");
  return message.empty()  ? std::string(reason)
         : reason.empty() ? std::string(message)
                          : fmt::format("{}: {}", reason, message);
}

Readiness progress(std::string detail) { return {Health::InProgress, std::move(detail)}; }

Readiness replicas(std::int64_t have, std::int64_t want, std::string_view what) {
  return progress(fmt::format("{} of {} replicas are {}", have, want, what));
}

Readiness deployment(const Value& d) {
  const Value* progressing = condition(d, "Progressing");
  if (progressing != nullptr && progressing->string_at("reason") == "ProgressDeadlineExceeded")
    return {Health::Failed, say(*progressing)};
  const std::int64_t want = number(d, {"spec", "replicas"}, 1);
  const std::int64_t updated = number(d, {"status", "updatedReplicas"}, 0);
  if (updated < want) return replicas(updated, want, "updated");
  if (const std::int64_t old = number(d, {"status", "replicas"}, 0) - updated; old > 0)
    return progress(fmt::format("{} still there", plural(static_cast<std::size_t>(old), "old replica") +
                                                      (old == 1 ? " is" : " are")));
  const std::int64_t available = number(d, {"status", "availableReplicas"}, 0);
  if (available < want) return replicas(available, want, "available");
  const std::int64_t ready = number(d, {"status", "readyReplicas"}, 0);
  if (ready < want) return replicas(ready, want, "ready");
  return {};
}

Readiness stateful_set(const Value& s) {
  if (s.string_at({"spec", "updateStrategy", "type"}) == "OnDelete") return {};
  const std::int64_t want = number(s, {"spec", "replicas"}, 1);
  const std::int64_t ready = number(s, {"status", "readyReplicas"}, 0);
  if (ready < want) return replicas(ready, want, "ready");
  const std::int64_t partition = number(s, {"spec", "updateStrategy", "rollingUpdate", "partition"}, 0);
  const std::int64_t updated = number(s, {"status", "updatedReplicas"}, 0);
  if (partition > 0)
    return updated < want - partition ? replicas(updated, want - partition, "updated") : Readiness{};
  if (s.string_at({"status", "currentRevision"}) != s.string_at({"status", "updateRevision"}))
    return progress(fmt::format("{} of {} replicas are updated", updated, want));
  return {};
}

Readiness daemon_set(const Value& d) {
  const Value* wanted = d.at_path({"status", "desiredNumberScheduled"});
  if (wanted == nullptr) return progress("its pods are not scheduled yet");
  const std::int64_t want = number(d, {"status", "desiredNumberScheduled"}, 0);
  const bool on_delete = d.string_at({"spec", "updateStrategy", "type"}) == "OnDelete";
  if (const std::int64_t updated = number(d, {"status", "updatedNumberScheduled"}, 0);
      updated < want && !on_delete)
    return progress(fmt::format("{} of {} pods are updated", updated, want));
  if (const std::int64_t ready = number(d, {"status", "numberReady"}, 0); ready < want)
    return progress(fmt::format("{} of {} pods are ready", ready, want));
  if (const std::int64_t available = number(d, {"status", "numberAvailable"}, 0); available < want)
    return progress(fmt::format("{} of {} pods are available", available, want));
  return {};
}

Readiness job(const Value& j) {
  if (const Value* failed = condition(j, "Failed"); is_true(failed)) return {Health::Failed, say(*failed)};
  if (is_true(condition(j, "Complete"))) return {};
  // A suspended Job waits for somebody on purpose.
  if (is_true(condition(j, "Suspended"))) return {};
  const Value* completions = j.at_path({"spec", "completions"});
  const std::int64_t want = completions != nullptr && completions->is_int() ? completions->as_int() : 1;
  const std::int64_t failed_pods = number(j, {"status", "failed"}, 0);
  std::string detail = fmt::format("{} of {} completions", number(j, {"status", "succeeded"}, 0), want);
  if (failed_pods > 0)
    detail += fmt::format(", {} failed so far", plural(static_cast<std::size_t>(failed_pods), "pod"));
  return progress(std::move(detail));
}

Readiness name_space(const Value& n) {
  const std::string_view phase = n.string_at({"status", "phase"});
  return phase == "Active"
             ? Readiness{}
             : progress(phase.empty() ? "it has no phase yet" : fmt::format("its phase is {}", phase));
}

Readiness crd(const Value& c) {
  if (const Value* names = condition(c, "NamesAccepted");
      names != nullptr && names->string_at("status") == "False")
    return {Health::Failed, say(*names)};
  return is_true(condition(c, "Established")) ? Readiness{} : progress("it is not established yet");
}

Readiness claim(const Value& p) {
  const std::string_view phase = p.string_at({"status", "phase"});
  if (phase == "Lost") return {Health::Failed, "its volume was lost"};
  return phase == "Bound" ? Readiness{} : progress("it is not bound yet");
}

Readiness pod(const Value& p) {
  const std::string_view phase = p.string_at({"status", "phase"});
  if (phase == "Succeeded") return {};
  if (phase == "Failed")
    return {Health::Failed, fmt::format("the pod failed: {}", p.string_at({"status", "message"}))};
  if (is_true(condition(p, "Ready"))) return {};
  if (const Value* scheduled = condition(p, "PodScheduled");
      scheduled != nullptr && scheduled->string_at("status") == "False")
    return progress(say(*scheduled));
  return progress(phase.empty() ? "it has no phase yet"
                                : fmt::format("its phase is {}, it is not ready", phase));
}

struct Rule {
  std::string_view group, kind;
  Readiness (*judge)(const Value&);
};
constexpr std::array<Rule, 8> kRules{{{"", "Namespace", name_space},
                                      {"", "PersistentVolumeClaim", claim},
                                      {"", "Pod", pod},
                                      {"apps", "Deployment", deployment},
                                      {"apps", "StatefulSet", stateful_set},
                                      {"apps", "DaemonSet", daemon_set},
                                      {"batch", "Job", job},
                                      {"apiextensions.k8s.io", "CustomResourceDefinition", crd}}};

const Rule* rule_for(std::string_view group, std::string_view kind) {
  for (const Rule& rule : kRules) {
    if (rule.group == group && rule.kind == kind) return &rule;
  }
  return nullptr;
}

}  // namespace

bool has_readiness_rule(const GroupKind& kind) { return rule_for(kind.group, kind.kind) != nullptr; }

Readiness readiness(const Value& live) {
  const Value* stamp = live.at_path({"metadata", "deletionTimestamp"});
  if (stamp != nullptr && !stamp->is_null()) return progress("it is being deleted");
  const auto gvk =
      apimachinery::GroupVersionKind::parse(live.string_at("apiVersion"), live.string_at("kind"));
  const Rule* rule = gvk.ok() ? rule_for(gvk->group, gvk->kind) : nullptr;
  if (rule == nullptr) return {};
  // What the controller has not looked at says nothing about what we wrote.
  const std::int64_t generation = number(live, {"metadata", "generation"}, 0);
  const Value* observed = live.at_path({"status", "observedGeneration"});
  const bool reports_generation = gvk->group == "apps";
  if (reports_generation && (observed == nullptr || !observed->is_int() || observed->as_int() < generation))
    return progress("its controller has not seen the change yet");
  return rule->judge(live);
}

}  // namespace mist::apply
