#include "apply/wait/readiness.h"

#include <algorithm>
#include <array>

#include "apimachinery/built_in_groups.h"
#include "apimachinery/conditions.h"
#include "apply/order/pod_template.h"
#include "apply/plan/finished_job.h"
#include "apply/wait/binding_modes.h"
#include "apply/wait/waiting_rules.h"
#include "base/text.h"

namespace mist::apply {

using apimachinery::condition_of;
using apimachinery::GroupKind;
using apimachinery::GroupVersionKind;
using encoding::Value;

namespace {

std::int64_t number(const Value& object, std::initializer_list<std::string_view> path,
                    std::int64_t fallback) {
  const Value* value = object.at_path(path);
  return value != nullptr && value->is_int() ? value->as_int() : fallback;
}

bool has_status(const Value* entry, std::string_view status) {
  return entry != nullptr && entry->string_at("status") == status;
}
bool is_true(const Value* entry) { return has_status(entry, "True"); }

std::string say(const Value& entry) {
  const std::string_view message = entry.string_at("message"), reason = entry.string_at("reason");
  return message.empty()  ? std::string(reason)
         : reason.empty() ? std::string(message)
                          : fmt::format("{}: {}", reason, message);
}

Readiness progress(std::string detail) { return {Health::InProgress, std::move(detail)}; }
Readiness failed(std::string detail) { return {Health::Failed, std::move(detail)}; }

Readiness replicas(std::int64_t have, std::int64_t want, std::string_view what) {
  return progress(fmt::format("{} of {} replicas are {}", have, want, what));
}

Readiness too_many(std::int64_t have, std::string_view what) {
  return progress(fmt::format("{} still there",
                              plural(static_cast<std::size_t>(have), what) + (have == 1 ? " is" : " are")));
}

Readiness deployment(const Value& d, const BindsLate&) {
  const Value* progressing = condition_of(d, "Progressing");
  if (progressing != nullptr && progressing->string_at("reason") == "ProgressDeadlineExceeded")
    return failed(say(*progressing));
  const std::int64_t want = number(d, {"spec", "replicas"}, 1);
  const std::int64_t have = number(d, {"status", "replicas"}, 0);
  const std::int64_t updated = number(d, {"status", "updatedReplicas"}, 0);
  if (updated < want) {
    Readiness state = replicas(updated, want, "updated");
    if (d.is_true_at({"spec", "paused"}))
      state.detail += ": its rollout is paused";
    else if (const Value* refused = condition_of(d, "ReplicaFailure"); is_true(refused))
      state.detail += fmt::format(": {}", say(*refused));  // a quota, a webhook: there will be no Pods to ask
    return state;
  }
  if (have < want) return replicas(have, want, "there");
  if (have > want) return too_many(have - want, updated < have ? "old replica" : "surplus replica");
  const std::int64_t available = number(d, {"status", "availableReplicas"}, 0);
  if (available < updated) return replicas(available, updated, "available");
  const std::int64_t ready = number(d, {"status", "readyReplicas"}, 0);
  if (ready < want) return replicas(ready, want, "ready");
  return {};
}

Readiness stateful_set(const Value& s, const BindsLate&) {
  const std::int64_t want = number(s, {"spec", "replicas"}, 1);
  const std::int64_t have = number(s, {"status", "replicas"}, 0);
  const std::int64_t ready = number(s, {"status", "readyReplicas"}, 0);
  if (ready < want) return replicas(ready, want, "ready");
  if (have < want) return replicas(have, want, "there");
  if (have > want) return too_many(have - want, "surplus replica");
  if (s.string_at({"spec", "updateStrategy", "type"}) == "OnDelete") return {};
  // Below the partition nothing is updated, and that is wanted.
  const std::int64_t partition = number(s, {"spec", "updateStrategy", "rollingUpdate", "partition"}, 0);
  const std::int64_t updated = number(s, {"status", "updatedReplicas"}, 0);
  if (updated < want - partition) return replicas(updated, want - partition, "updated");
  if (partition == 0 &&
      s.string_at({"status", "currentRevision"}) != s.string_at({"status", "updateRevision"}))
    return progress("its update is not finished");
  return {};
}

Readiness daemon_set(const Value& d, const BindsLate&) {
  const Value* wanted = d.at_path({"status", "desiredNumberScheduled"});
  if (wanted == nullptr) return progress("its pods are not scheduled yet");
  const std::int64_t want = number(d, {"status", "desiredNumberScheduled"}, 0);
  const bool on_delete = d.string_at({"spec", "updateStrategy", "type"}) == "OnDelete";
  if (const std::int64_t there = number(d, {"status", "currentNumberScheduled"}, 0); there < want)
    return progress(fmt::format("{} of {} pods are there", there, want));
  if (const std::int64_t updated = number(d, {"status", "updatedNumberScheduled"}, 0);
      updated < want && !on_delete)
    return progress(fmt::format("{} of {} pods are updated", updated, want));
  if (const std::int64_t ready = number(d, {"status", "numberReady"}, 0); ready < want)
    return progress(fmt::format("{} of {} pods are ready", ready, want));
  if (const std::int64_t available = number(d, {"status", "numberAvailable"}, 0); available < want)
    return progress(fmt::format("{} of {} pods are available", available, want));
  return {};
}

// ReplicaSets and ReplicationControllers.
Readiness replica_set(const Value& r, const BindsLate&) {
  if (const Value* failure = condition_of(r, "ReplicaFailure"); is_true(failure))
    return progress(say(*failure));
  const std::int64_t want = number(r, {"spec", "replicas"}, 1);
  const std::int64_t available = number(r, {"status", "availableReplicas"}, 0);
  const std::int64_t ready = number(r, {"status", "readyReplicas"}, 0);
  if (ready < want) return replicas(ready, want, "ready");
  if (available < want) return replicas(available, want, "available");
  if (const std::int64_t labelled = number(r, {"status", "fullyLabeledReplicas"}, 0); labelled < want)
    return replicas(labelled, want, "labelled as the template says");
  if (const std::int64_t have = number(r, {"status", "replicas"}, 0); have > want)
    return too_many(have - want, "surplus replica");
  return {};
}

Readiness job(const Value& j, const BindsLate&) {
  if (const Value* failure = condition_of(j, "Failed"); is_true(failure)) return failed(say(*failure));
  if (is_true(condition_of(j, "Complete"))) return {};
  // A suspended Job waits for somebody on purpose. Of one that was just resumed its controller still says so.
  if (j.is_true_at({"spec", "suspend"}) && is_true(condition_of(j, "Suspended")))
    return {Health::Ready, "it is suspended"};
  const Value* completions = j.at_path({"spec", "completions"});
  const std::int64_t want = completions != nullptr && completions->is_int() ? completions->as_int() : 1;
  const std::int64_t failed_pods = number(j, {"status", "failed"}, 0);
  std::string detail = fmt::format("{} of {} completions", number(j, {"status", "succeeded"}, 0), want);
  if (failed_pods > 0)
    detail += fmt::format(", {} failed so far", plural(static_cast<std::size_t>(failed_pods), "pod"));
  return progress(std::move(detail));
}

Readiness name_space(const Value& n, const BindsLate&) {
  const std::string_view phase = n.string_at({"status", "phase"});
  return phase == "Active"
             ? Readiness{}
             : progress(phase.empty() ? "it has no phase yet" : fmt::format("its phase is {}", phase));
}

Readiness crd(const Value& c, const BindsLate&) {
  if (const Value* names = condition_of(c, "NamesAccepted"); has_status(names, "False"))
    return failed(say(*names));
  const Value* established = condition_of(c, "Established");
  if (is_true(established)) return {};
  if (has_status(established, "False") && established->string_at("reason") != "Installing")
    return failed(say(*established));
  return progress("it is not established yet");
}

Readiness api_service(const Value& a, const BindsLate&) {
  const Value* available = condition_of(a, "Available");
  if (is_true(available)) return {};
  return progress(available == nullptr ? "nobody has looked whether it is available" : say(*available));
}

Readiness claim(const Value& p, const BindsLate& binds_late) {
  const std::string_view phase = p.string_at({"status", "phase"});
  if (phase == "Lost") return failed("its volume was lost");
  if (phase == "Bound") return {};
  // A claim whose class binds late waits for a Pod, which may never come; once a node was chosen for the
  // claim, it has come.
  const bool chosen = p.at_path({"metadata", "annotations", "volume.kubernetes.io/selected-node"}) != nullptr;
  if (!chosen && binds_late && phase == "Pending" && binds_late(p.string_at({"spec", "storageClassName"})))
    return {Health::Ready, "it binds when a pod uses it"};
  return progress("it is not bound yet");
}

Readiness volume(const Value& v, const BindsLate&) {
  const std::string_view phase = v.string_at({"status", "phase"});
  if (phase == "Failed")
    return failed(fmt::format("its phase is Failed: {}", v.string_at({"status", "message"})));
  return phase.empty() || phase == "Pending" ? progress("it is not available yet") : Readiness{};
}

Readiness service(const Value& s, const BindsLate&) {
  if (s.string_at({"spec", "type"}) != "LoadBalancer") return {};
  const Value* ingress = s.at_path({"status", "loadBalancer", "ingress"});
  return ingress != nullptr && ingress->size() > 0 ? Readiness{}
                                                   : progress("its load balancer has no address yet");
}

Readiness pod(const Value& p, const BindsLate&) {
  const std::string_view phase = p.string_at({"status", "phase"});
  if (phase == "Succeeded") return {};
  if (phase == "Failed") {
    const std::string why = say(*p.find("status"));
    return failed(why.empty() ? "the pod failed" : fmt::format("the pod failed: {}", why));
  }
  if (phase == "Running" && is_true(condition_of(p, "Ready"))) return {};
  if (const Value* scheduled = condition_of(p, "PodScheduled"); has_status(scheduled, "False"))
    return progress(say(*scheduled));
  return progress(phase.empty() ? "it has no phase yet"
                                : fmt::format("its phase is {}, it is not ready", phase));
}

// Scaling itself needs metrics, which many clusters don't have; what is scaled must be there.
Readiness autoscaler(const Value& h, const BindsLate&) {
  if (const Value* able = condition_of(h, "AbleToScale"); has_status(able, "False"))
    return progress(say(*able));
  const Value* active = condition_of(h, "ScalingActive");
  return has_status(active, "False") ? Readiness{Health::Ready, say(*active)} : Readiness{};
}

Readiness disruption_budget(const Value& b, const BindsLate&) {
  const Value* allowed = condition_of(b, "DisruptionAllowed");
  return has_status(allowed, "False") && allowed->string_at("reason") == "SyncFailed"
             ? progress(say(*allowed))
             : Readiness{};
}

// By conditions, for kinds that we know nothing of; the first that is there decides.
constexpr std::array<std::string_view, 3> kReadyConditions{"Ready", "Available", "Programmed"};

Readiness by_conditions(const Value& object, std::int64_t generation) {
  for (const std::string_view type : kReadyConditions) {
    const Value* entry = condition_of(object, type);
    if (entry == nullptr) continue;
    if (const Value* seen = entry->find("observedGeneration");
        seen != nullptr && seen->is_int() && generation != 0 && seen->as_int() < generation)
      return progress(fmt::format("its condition {} is about an older generation", type));
    if (is_true(entry)) return {};
    const std::string why = say(*entry);
    return progress(why.empty() ? fmt::format("its condition {} is {}", type, entry->string_at("status"))
                                : fmt::format("it is not {}: {}", type, why));
  }
  return {};
}

// Without the condition nobody has looked at it.
Readiness mistletoe_release(const Value& release, const BindsLate&) {
  if (condition_of(release, "Ready") == nullptr) return progress("no operator has looked at it yet");
  return by_conditions(release, number(release, {"metadata", "generation"}, 0));
}

struct ReadinessRule {
  std::string_view group, kind;
  Readiness (*judge)(const Value&, const BindsLate&);
  bool reports_generation = false;  // always: without observedGeneration its controller has seen nothing
};
constexpr std::array<ReadinessRule, 17> kReadinessRules{{
    {"", "Namespace", name_space},
    {"", "PersistentVolumeClaim", claim},
    {"", "PersistentVolume", volume},
    {"", "Pod", pod},
    {"", "ReplicationController", replica_set, true},
    {"", "Service", service},
    {"apps", "Deployment", deployment, true},
    {"apps", "StatefulSet", stateful_set, true},
    {"apps", "DaemonSet", daemon_set, true},
    {"apps", "ReplicaSet", replica_set, true},
    {"batch", "Job", job},
    {"policy", "PodDisruptionBudget", disruption_budget},
    {"autoscaling", "HorizontalPodAutoscaler", autoscaler},
    {"apiextensions.k8s.io", "CustomResourceDefinition", crd},
    {"apiregistration.k8s.io", "APIService", api_service},
    {"mistletoe.dev", "Release", mistletoe_release, true},
    // Its status tells of runs, not of itself.
    {"batch", "CronJob", [](const Value&, const BindsLate&) { return Readiness{}; }},
}};

const ReadinessRule* rule_for(std::string_view group, std::string_view kind) {
  for (const ReadinessRule& rule : kReadinessRules) {
    if (rule.group == group && rule.kind == kind) return &rule;
  }
  return nullptr;
}

// Statements that every object may make in the same way (kstatus' generic rules); nullopt: there is none.
std::optional<Readiness> by_generic_rules(const Value& live, std::int64_t generation, bool must_report) {
  const Value* observed = live.at_path({"status", "observedGeneration"});
  const bool reported = observed != nullptr && observed->is_int();
  if (generation != 0 && (reported ? observed->as_int() != generation : must_report))
    return progress("its controller has not seen the change yet");
  if (const Value* stalled = condition_of(live, "Stalled"); is_true(stalled)) return failed(say(*stalled));
  if (const Value* reconciling = condition_of(live, "Reconciling"); is_true(reconciling)) {
    const std::string why = say(*reconciling);
    return progress(why.empty() ? "it is being reconciled" : why);
  }
  return std::nullopt;
}

}  // namespace

bool has_readiness_rule(const GroupKind& kind) { return rule_for(kind.group, kind.kind) != nullptr; }

bool is_worth_waiting(const Value& object) {
  const auto gvk = GroupVersionKind::parse(object.string_at("apiVersion"), object.string_at("kind"));
  if (!gvk.ok()) return false;
  if (object.at_path({"metadata", "annotations", kReadyWhenAnnotation}) != nullptr) return true;
  if (!apimachinery::is_built_in_group(gvk->group)) return true;
  if (gvk->group.empty() && gvk->kind == "Service")
    return object.string_at({"spec", "type"}) == "LoadBalancer";
  return has_readiness_rule(gvk->group_kind());
}

Starts starts(const apimachinery::Object& wanted) {
  const apimachinery::GroupKind kind = wanted.gvk().group_kind();
  if (!is_worth_waiting(wanted.value())) return Starts::Nothing;
  if (!apimachinery::is_built_in_group(kind.group)) return Starts::Other;
  // A CronJob's Pods come later.
  if (pod_template(wanted) != nullptr && kind.kind != "CronJob") return Starts::Workload;
  const bool asked_for = wanted.value().at_path({"metadata", "annotations", kReadyWhenAnnotation}) != nullptr;
  const bool slow = kind.group.empty() && (kind.kind == "Service" || kind.kind == "PersistentVolumeClaim");
  return asked_for || slow ? Starts::Other : Starts::Nothing;
}

std::string why_terminating(const Value& live) {
  std::string words = "it is being deleted";
  // A namespace tells what is left in it. Its own finalizer is part of how it is deleted.
  std::vector<std::string> left;
  for (const std::string_view type : kNamespaceRemains) {
    if (const Value* entry = condition_of(live, type); is_true(entry)) left.push_back(say(*entry));
  }
  if (!left.empty()) return fmt::format("{}; {}", words, join(left, "; "));
  std::vector<std::string> finalizers;
  const Value* all = live.at_path({"metadata", "finalizers"});
  if (all == nullptr || !all->is_array()) return words;
  for (const Value& entry : all->as_array()) {
    if (!entry.is_string()) continue;
    if (entry.as_string() == "foregroundDeletion")
      words += ", after what it owns";
    else
      finalizers.push_back(entry.as_string());
  }
  if (finalizers.empty()) return words;
  return finalizers.size() == 1
             ? fmt::format("{}, and its finalizer {} holds it", words, finalizers.front())
             : fmt::format("{}, and its finalizers {} hold it", words, join(finalizers, ", "));
}

Readiness readiness(const Value& live) { return readiness(live, BindsLate()); }

Readiness readiness(const Value& live, const BindsLate& binds_late) {
  if (apimachinery::is_terminating(live)) {
    if (auto ended = ended_job(live)) return *std::move(ended);
    return progress(why_terminating(live));
  }
  const auto gvk = GroupVersionKind::parse(live.string_at("apiVersion"), live.string_at("kind"));
  const ReadinessRule* rule = gvk.ok() ? rule_for(gvk->group, gvk->kind) : nullptr;
  // A status from before the controller looked says nothing about what we wrote.
  const std::int64_t generation = number(live, {"metadata", "generation"}, 0);
  if (auto generic = by_generic_rules(live, generation, rule != nullptr && rule->reports_generation))
    return *std::move(generic);
  const auto judge = [&] {
    return rule != nullptr ? rule->judge(live, binds_late) : by_conditions(live, generation);
  };
  auto rules = waiting_rules(live);
  if (!rules.ok()) return progress(rules.error().message);  // somebody edited the live object
  if (!rules->ready_when) return judge();
  if (Readiness own = judge(); own.health == Health::Failed) return own;
  return rules->ready_when->holds(live) ? Readiness{} : progress(rules->ready_when->explain(live));
}

}  // namespace mist::apply
