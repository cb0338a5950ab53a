#include "apply/hooks.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace mist::apply {

using apimachinery::GroupKind;
using encoding::Value;
using release::RenderedObject;

namespace {

constexpr std::string_view kHook = "helm.sh/hook";
constexpr std::string_view kWeight = "helm.sh/hook-weight";
constexpr std::string_view kDeletePolicy = "helm.sh/hook-delete-policy";
constexpr std::string_view kLogPolicy = "helm.sh/hook-output-log-policy";
constexpr std::string_view kResourcePolicy = "helm.sh/resource-policy";

struct Event {
  std::string_view name;
  HookVerb verb;
  HookPhase phase;  // None: a test
};
constexpr std::array kEvents{
    Event{"pre-install", HookVerb::Install, HookPhase::Before},
    Event{"post-install", HookVerb::Install, HookPhase::After},
    Event{"pre-upgrade", HookVerb::Upgrade, HookPhase::Before},
    Event{"post-upgrade", HookVerb::Upgrade, HookPhase::After},
    Event{"pre-rollback", HookVerb::Rollback, HookPhase::Before},
    Event{"post-rollback", HookVerb::Rollback, HookPhase::After},
    Event{"pre-delete", HookVerb::Uninstall, HookPhase::Before},
    Event{"post-delete", HookVerb::Uninstall, HookPhase::After},
    Event{"test", HookVerb::None, HookPhase::None},
    Event{"test-success", HookVerb::None, HookPhase::None},
};

// Among hooks of one weight and name Helm runs these kinds in this order, all others after them by name.
constexpr std::array<std::string_view, 38> kKindOrder{
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
};

std::string lower(std::string_view text) {
  std::string result(trim(text));
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  for (const std::string_view part : split(list, ',')) words.push_back(lower(part));
  return words;
}

std::string_view annotation(const RenderedObject& rendered, std::string_view name) {
  return rendered.object.value().string_at({"metadata", "annotations", name});
}

bool is_hook(const RenderedObject& rendered) {
  return rendered.object.value().at_path({"metadata", "annotations", kHook}) != nullptr;
}

// Empty if one of its words is no event: then Helm applies the object at no time.
std::vector<const Event*> events_of(const RenderedObject& rendered) {
  std::vector<const Event*> events;
  for (const std::string& word : words_of(annotation(rendered, kHook))) {
    const auto* const found = std::ranges::find(kEvents, word, &Event::name);
    if (found == kEvents.end()) return {};
    events.push_back(found);
  }
  return events;
}

// As Helm reads it: what is no number is 0.
int weight_of(const RenderedObject& rendered) {
  std::string_view text = annotation(rendered, kWeight);
  if (text.starts_with('+')) text.remove_prefix(1);
  int weight = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), weight);
  return failure == std::errc() && end == text.data() + text.size() ? weight : 0;
}

HookRun run_of(const RenderedObject& rendered, const Event& event) {
  const auto has = [&](std::string_view name, std::string_view policy) {
    const std::vector<std::string> policies = words_of(annotation(rendered, name));
    return std::ranges::find(policies, policy) != policies.end();
  };
  HookRun run{.role = {.phase = event.phase,
                       .weight = weight_of(rendered),
                       .delete_succeeded = has(kDeletePolicy, "hook-succeeded"),
                       .delete_failed = has(kDeletePolicy, "hook-failed"),
                       .log_succeeded = has(kLogPolicy, "hook-succeeded"),
                       .log_failed = has(kLogPolicy, "hook-failed")},
              .rendered = rendered};
  run.role.words = fmt::format("{} hook, weight {}", event.name, run.role.weight);
  return run;
}

std::size_t kind_rank(std::string_view kind) {
  return static_cast<std::size_t>(std::ranges::find(kKindOrder, kind) - kKindOrder.begin());
}

bool runs_before(const RenderedObject& a, const RenderedObject& b) {
  const auto key = [](const RenderedObject& each) {
    const std::string& kind = each.object.gvk().kind;
    return std::tuple(weight_of(each), std::string(each.object.name()), kind_rank(kind), kind);
  };
  return key(a) < key(b);
}

void keep_if_wanted(RenderedObject& rendered) {
  if (lower(annotation(rendered, kResourcePolicy)) == "keep")
    rendered.object.set_annotation(release::kKeepAnnotation, "true");
}

bool is_job(const GroupKind& kind) { return kind == GroupKind{"batch", "Job"}; }

}  // namespace

std::string_view to_string(HookVerb verb) {
  switch (verb) {
    case HookVerb::None:
      return "none";
    case HookVerb::Install:
      return "install";
    case HookVerb::Upgrade:
      return "upgrade";
    case HookVerb::Rollback:
      return "rollback";
    case HookVerb::Uninstall:
      return "uninstall";
  }
  return "none";
}

HookVerb hook_verb(std::string_view text) {
  for (const HookVerb verb :
       {HookVerb::Install, HookVerb::Upgrade, HookVerb::Rollback, HookVerb::Uninstall}) {
    if (to_string(verb) == text) return verb;
  }
  return HookVerb::None;
}

ChartParts take_chart_parts(std::vector<RenderedObject>& objects) {
  ChartParts parts;
  std::vector<RenderedObject> others;
  others.reserve(objects.size());
  for (RenderedObject& rendered : objects) {
    if (!is_hook(rendered)) {
      keep_if_wanted(rendered);
      others.push_back(std::move(rendered));
      continue;
    }
    const std::vector<const Event*> events = events_of(rendered);
    if (events.empty())
      parts.ignored.push_back(fmt::format("{}: its hook \"{}\" is none that Helm knows",
                                          rendered.object.key().display(),
                                          escape_controls(annotation(rendered, kHook).substr(0, 100))));
    const bool test = std::ranges::any_of(events, [](const Event* e) { return e->phase == HookPhase::None; });
    const bool other =
        std::ranges::any_of(events, [](const Event* e) { return e->phase != HookPhase::None; });
    if (test) parts.tests.push_back(rendered);
    if (other) parts.hooks.push_back(std::move(rendered));
  }
  std::ranges::stable_sort(parts.tests, runs_before);
  objects = std::move(others);
  return parts;
}

std::vector<HookRun> hook_runs(const std::vector<RenderedObject>& hooks, HookVerb verb) {
  std::vector<HookRun> runs;
  if (verb == HookVerb::None) return runs;
  std::vector<RenderedObject> sorted = hooks;
  std::ranges::stable_sort(sorted, runs_before);
  for (const HookPhase phase : {HookPhase::Before, HookPhase::After}) {
    for (const RenderedObject& hook : sorted) {
      const auto events = events_of(hook);
      const auto event = std::ranges::find_if(
          events, [&](const Event* each) { return each->verb == verb && each->phase == phase; });
      if (event != events.end()) runs.push_back(run_of(hook, **event));
    }
  }
  return runs;
}

bool is_lifecycle_hook(const RenderedObject& rendered) {
  return is_hook(rendered) && std::ranges::any_of(events_of(rendered), [](const Event* event) {
           return event->phase != HookPhase::None;
         });
}

bool hook_ends(const GroupKind& kind) { return is_job(kind) || kind == GroupKind{"", "Pod"}; }

Readiness hook_state(const Value& live) {
  const std::string_view api_version = live.string_at("apiVersion"), kind = live.string_at("kind");
  const bool job = kind == "Job" && api_version.starts_with("batch/");
  const bool pod = kind == "Pod" && api_version == "v1";
  if (!job && !pod) return {};
  if (Readiness state = readiness(live); state.health == Health::Failed) return state;
  if (pod) {
    if (live.string_at({"status", "phase"}) == "Succeeded") return {};
    return {Health::InProgress, "it has not ended yet"};
  }
  if (const Value* conditions = live.at_path({"status", "conditions"});
      conditions != nullptr && conditions->is_array()) {
    for (const Value& condition : conditions->as_array()) {
      if (condition.string_at("type") == "Complete" && condition.string_at("status") == "True") return {};
    }
  }
  return {Health::InProgress, "it is not complete yet"};
}

bool is_chart_definition(const RenderedObject& rendered) {
  return rendered.object.gvk().group_kind() ==
             GroupKind{"apiextensions.k8s.io", "CustomResourceDefinition"} &&
         rendered.file.find("/crds/") != std::string::npos;
}

}  // namespace mist::apply
