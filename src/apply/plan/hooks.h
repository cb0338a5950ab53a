#pragma once
// Hooks of Helm charts (helm.sh/hook): objects that run at a moment of the release's life, in Helm's order.
// Here they are objects that the release owns, with a place in the order of a change: those before
// everything else and those after it. Only objects of charts are looked at: plain YAML may carry these
// annotations for Helm's own use. docs/charts.md is the specification. Pure; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/chart_hooks.h"
#include "apply/inventory.h"
#include "apply/owner.h"
#include "apply/wait/readiness.h"

namespace mist::apply {

using apimachinery::HookPhase;
using apimachinery::HookVerb;

/// "none", "install", …, as revisions record it.
std::string_view to_string(HookVerb verb);
/// None for other texts.
HookVerb hook_verb(std::string_view text);

/// The role of a hook in one run.
struct HookRole {
  HookPhase phase = HookPhase::None;
  int weight = 0;
  bool delete_succeeded = false;  ///< once all hooks of its phase have ended well
  bool delete_failed = false;
  bool log_succeeded = false;  ///< what it printed is shown when it has ended well
  bool log_failed = false;
  std::string words = {};  ///< "pre-install hook, weight -5"
};

/// A hook at one moment.
struct HookRun {
  HookRole role;
  RenderedObject rendered;
};

/// The engine whose objects are a chart's: "helm".
inline constexpr std::string_view kChartEngine = "helm";

struct ChartParts {
  std::vector<RenderedObject> hooks;  ///< as rendered
  std::vector<RenderedObject> tests;  ///< as rendered, in the order in which they run
  /// Objects that neither we nor Helm apply, because their hook is none: "Job x: …".
  std::vector<std::string> ignored;
};
/// Takes hooks and tests out of a chart's objects; an object that is both is in both. An object from
/// crds/ is neither, whatever its annotations say. Remaining objects with helm.sh/resource-policy: keep are
/// annotated mistletoe.dev/keep.
ChartParts take_chart_parts(std::vector<RenderedObject>& objects);

/// The runs of `verb`: those before it, then those after it, each by weight, name and kind as Helm sorts.
std::vector<HookRun> hook_runs(const std::vector<RenderedObject>& hooks, HookVerb verb);

/// True for an object that runs at another moment than as a test.
bool is_lifecycle_hook(const RenderedObject& rendered);

/// Whether anything waits for the end of an object that is a hook: of a Job and of a Pod.
bool hook_ends(const apimachinery::GroupKind& kind);
/// Ready: it ended well, or is of a kind that doesn't end.
Readiness hook_state(const encoding::Value& live);

/// True for a file of the crds/ of a chart or subchart, by Helm's name for it: NAME(/charts/NAME)*/crds/….
/// Helm's rules for these don't hold for templates, whatever their directory is called.
bool is_in_crds(std::string_view file);
/// True for a CRD from a chart's crds/, which comes before everything else.
bool is_chart_crd(const RenderedObject& rendered);

}  // namespace mist::apply
