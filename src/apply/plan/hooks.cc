#include "apply/plan/hooks.h"

#include <algorithm>
#include <array>

#include "apimachinery/conditions.h"
#include "apply/reserved_metadata.h"
#include "base/text.h"

namespace mist::apply {

using apimachinery::find_hook_event;
using apimachinery::GroupKind;
using apimachinery::hook_words;
using apimachinery::HookEvent;
using apimachinery::kHookAnnotation;
using apimachinery::kHookDeleteAnnotation;
using apimachinery::kHookFailed;
using apimachinery::kHookLogAnnotation;
using apimachinery::kHookSucceeded;
using apimachinery::kHookWeightAnnotation;
using apimachinery::parse_hook_weight;
using apimachinery::RenderedObject;
using encoding::Value;

namespace {

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

std::string_view annotation(const RenderedObject& rendered, std::string_view name) {
  return rendered.object.value().string_at({"metadata", "annotations", name});
}

bool is_hook(const RenderedObject& rendered) {
  return rendered.object.value().at_path({"metadata", "annotations", kHookAnnotation}) != nullptr;
}

// Empty if one of its words is no event: then Helm applies the object at no time.
std::vector<const HookEvent*> events_of(const RenderedObject& rendered) {
  std::vector<const HookEvent*> events;
  for (const std::string& word : hook_words(annotation(rendered, kHookAnnotation))) {
    events.push_back(find_hook_event(word));
    if (events.back() == nullptr) return {};
  }
  return events;
}

int weight_of(const RenderedObject& rendered) {
  return parse_hook_weight(annotation(rendered, kHookWeightAnnotation)).value_or(0);
}

HookRun run_of(const RenderedObject& rendered, const HookEvent& event) {
  const auto has = [&](std::string_view name, std::string_view policy) {
    const std::vector<std::string> policies = hook_words(annotation(rendered, name));
    return std::ranges::find(policies, policy) != policies.end();
  };
  HookRun run{.role = {.phase = event.phase,
                       .weight = weight_of(rendered),
                       .delete_succeeded = has(kHookDeleteAnnotation, kHookSucceeded),
                       .delete_failed = has(kHookDeleteAnnotation, kHookFailed),
                       .log_succeeded = has(kHookLogAnnotation, kHookSucceeded),
                       .log_failed = has(kHookLogAnnotation, kHookFailed)},
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
  if (is_kept_by_policy(rendered.object.value())) rendered.object.set_annotation(kKeepAnnotation, "true");
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
    // Helm installs crds/ before it looks for hooks: charts for Helm 2 and 3 have crd-install there.
    if (!is_hook(rendered) || is_in_crds(rendered.file)) {
      keep_if_wanted(rendered);
      others.push_back(std::move(rendered));
      continue;
    }
    const std::vector<const HookEvent*> events = events_of(rendered);
    if (events.empty())
      parts.ignored.push_back(
          fmt::format("{}: its hook \"{}\" is unknown to Helm", rendered.object.key().display(),
                      escape_controls(annotation(rendered, kHookAnnotation).substr(0, 100))));
    const bool test =
        std::ranges::any_of(events, [](const HookEvent* e) { return e->phase == HookPhase::None; });
    const bool other =
        std::ranges::any_of(events, [](const HookEvent* e) { return e->phase != HookPhase::None; });
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
          events, [&](const HookEvent* each) { return each->verb == verb && each->phase == phase; });
      if (event != events.end()) runs.push_back(run_of(hook, **event));
    }
  }
  return runs;
}

bool is_lifecycle_hook(const RenderedObject& rendered) {
  return is_hook(rendered) && std::ranges::any_of(events_of(rendered), [](const HookEvent* event) {
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
  if (apimachinery::true_condition(live, "Complete") != nullptr) return {};
  return {Health::InProgress, "it is not complete yet"};
}

bool is_in_crds(std::string_view file) {
  const auto next = [&file] {
    const std::size_t end = file.find('/');
    const std::string_view part = end == std::string_view::npos ? std::string_view() : file.substr(0, end);
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    return part;
  };
  if (next().empty()) return false;
  for (;;) {
    const std::string_view directory = next();
    if (directory == "crds") return !file.empty();
    if (directory != "charts" || next().empty()) return false;
  }
}

bool is_chart_crd(const RenderedObject& rendered) {
  return rendered.object.gvk().group_kind() == apimachinery::kCustomResourceDefinition &&
         is_in_crds(rendered.file);
}

}  // namespace mist::apply
