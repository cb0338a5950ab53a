#include "action/authoring/applied_objects.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "apply/plan/hooks.h"
#include "apply/plan/test_objects.h"
#include "base/text.h"

namespace mist::action {
namespace {

using apimachinery::ObjectKey;
using release::RenderedObject;

// Adds the hooks that an install or an upgrade runs, in the package's order: who applies these objects knows
// no hooks. One that has the name of an ordinary object, as a hook before it may, gives way.
void add_applied_hooks(const std::vector<RenderedObject>& hooks, std::vector<RenderedObject>& objects) {
  std::set<ObjectKey> missing;
  for (const apply::HookVerb verb : {apply::HookVerb::Install, apply::HookVerb::Upgrade})
    for (const apply::HookRun& each : apply::hook_runs(hooks, verb))
      missing.insert(each.rendered.object.key());
  for (const RenderedObject& each : objects) missing.erase(each.object.key());
  for (const RenderedObject& hook : hooks)
    if (missing.erase(hook.object.key()) > 0) objects.push_back(hook);
}

}  // namespace

Result<std::vector<RenderedObject>> applied_objects(std::vector<RenderedObject> objects,
                                                    std::string_view engine, EventSink& events) {
  if (engine == apply::kChartEngine) {
    const apply::ChartParts parts = apply::take_chart_parts(objects);
    for (const std::string& ignored : parts.ignored) events.warn("left out: " + escape_controls(ignored));
    add_applied_hooks(parts.hooks, objects);
  }
  MIST_TRY_VOID(apply::take_tests(objects));
  std::map<ObjectKey, const RenderedObject*> seen;
  for (const RenderedObject& each : objects) {
    const auto [known, is_new] = seen.emplace(each.object.key(), &each);
    if (!is_new)
      return error(ErrorKind::Invalid, "{} is rendered twice", each.object.key().display())
          .with_because(fmt::format("the other one is in {}", known->second->place().text()))
          .at(each.place());
  }
  return objects;
}

}  // namespace mist::action
