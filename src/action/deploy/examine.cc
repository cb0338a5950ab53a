#include "action/deploy/examine.h"

#include <algorithm>
#include <set>

#include "apply/plan/desired.h"
#include "apply/plan/test_objects.h"
#include "release/command_text.h"

namespace mist::action {

using release::Drawn;
using release::Revision;
using render::AgingCertificate;
using render::DrawnRender;
using render::ObjectView;
using render::RenderVariant;

namespace {

using Desired = std::vector<apply::DesiredObject>;

ObjectView view_of_desired(const Desired& desired) {
  ObjectView view;
  for (const apply::DesiredObject& object : desired) {
    // A hook is recreated for each run.
    if (!object.hook) view.emplace(object.key, &object.rendered.object.value());
  }
  return view;
}

// The objects that the deployed revision wrote, in its own comparison.
std::set<apimachinery::ObjectKey> deployed_objects(const PreparedDeploy& prepared) {
  std::set<apimachinery::ObjectKey> keys;
  if (!prepared.state.deployed) return keys;
  for (const apply::InventoryItem& item : prepared.state.deployed->inventory)
    if (!item.retained && !apply::is_only_named(item)) keys.insert(item.key);
  return keys;
}

// Whether it overwrites what somebody else may have drawn: the object is adopted or taken over now, was by a
// run that failed, or was left by an earlier life of the release.
bool overwrites_adopted(const PreparedDeploy& prepared, const apply::PlannedAction& action,
                        const std::set<apimachinery::ObjectKey>& deployed) {
  using apply::ActionKind;
  const bool written = action.kind == ActionKind::Adopt || action.kind == ActionKind::Update ||
                       action.kind == ActionKind::Replace;
  const bool hook = prepared.plan.is_hook(action);
  // A hook that the release is known to have made is recreated; one in place may be from before.
  const bool hook_in_place = hook && action.kind == ActionKind::Update;
  // The deployed revision's own comparison is without hooks.
  const bool from_before = (action.recorded.adopted && hook) ||
                           ((action.recorded.adopted || hook_in_place) && !deployed.contains(action.key));
  return written && (action.adopting || from_before);
}

// The Secrets of which the plan overwrites data that it adopts or once did, as they are wanted; those of
// hooks too.
ObjectView adopted_secrets(const PreparedDeploy& prepared) {
  ObjectView view;
  const std::set<apimachinery::ObjectKey> deployed = deployed_objects(prepared);
  for (const apply::PlannedAction& action : prepared.plan.writes) {
    const auto live = prepared.live.find(action.key);
    if (action.key.group_kind != apimachinery::kSecret || !overwrites_adopted(prepared, action, deployed) ||
        live == prepared.live.end() || !live->second.whole)
      continue;
    view.emplace(action.key, &prepared.plan.desired[action.desired].rendered.object.value());
  }
  return view;
}

ObjectView view_of_live(const PreparedDeploy& prepared, const ObjectView& wanted) {
  ObjectView view;
  for (const auto& [key, object] : wanted) view.emplace(key, &prepared.live.at(key).value);
  return view;
}

bool same_objects(const ObjectView& a, const ObjectView& b) {
  return a.size() == b.size() && std::ranges::equal(a, b, [](const auto& x, const auto& y) {
           return x.first == y.first && *x.second == *y.second;
         });
}

// Nothing to find out: what is wanted is what is deployed, made from the same.
bool is_as_deployed(const PreparedDeploy& prepared, const ObjectView& wanted) {
  if (!prepared.state.deployed) return false;
  Drawn before = prepared.state.deployed->drawn;
  before.fields.clear();
  before.looked_up.clear();
  before.highest.clear();
  return before == prepared.rendered.drawn &&
         same_objects(wanted, render::view_of(prepared.state.deployed->objects));
}

Result<Desired> render_again(const Environment& environment, const PreparedDeploy& prepared,
                             const RenderVariant& variant, const Context& context) {
  auto objects = prepared.rendered.again(variant, context);
  if (!objects.ok())
    return std::move(objects).error().with_frame("while rendering once more to see what is drawn");
  std::vector<release::RenderedObject> hooks;
  if (prepared.rendered.package.engine == apply::kChartEngine)
    hooks = std::move(apply::take_chart_parts(*objects).hooks);
  MIST_TRY_VOID(apply::take_tests(*objects));
  MIST_TRY(apply::WithHooks wanted,
           apply::prepare_with_hooks(*std::move(objects), hooks, prepared.verb, prepared.state.id,
                                     environment.client, context));
  return std::move(wanted.desired);
}

Status compare_with_deployed(const Environment& environment, PreparedDeploy& prepared,
                             const DrawnRender& render, const ObjectView& other_seed,
                             const Context& context) {
  if (!prepared.state.deployed) return {};
  const Revision& deployed = *prepared.state.deployed;
  prepared.drawn_changes = drawn_changes(deployed, render, other_seed, prepared.options.rotate);
  const Drawn& now = render.drawn;
  if (prepared.drawn_changes.empty() ||
      (now.rotations == deployed.drawn.rotations && now.clock == deployed.drawn.clock))
    return {};
  MIST_TRY(const Desired as_before,
           render_again(environment, prepared,
                        {.rotations = deployed.drawn.rotations, .clock = deployed.drawn.clock}, context));
  remove_wanted(prepared.drawn_changes, deployed, view_of_desired(as_before));
  return {};
}

// Values that another tool or release drew are in use: passwords of databases, keys of what is stored.
void compare_with_live(PreparedDeploy& prepared, const ObjectView& adopted, const Desired& other_seed) {
  if (adopted.empty() || other_seed.empty()) return;
  const DrawnRender render{prepared.rendered.drawn, prepared.rendered.secrets, adopted};
  ObjectView again;  // hooks too
  for (const apply::DesiredObject& object : other_seed)
    again.emplace(object.key, &object.rendered.object.value());
  for (render::DrawnChange& change :
       adopted_changes(render, again, view_of_live(prepared, adopted), prepared.options.rotate))
    prepared.drawn_changes.push_back(std::move(change));
}

}  // namespace

Status examine_drawn(const Environment& environment, PreparedDeploy& prepared, const Context& context) {
  Drawn& drawn = prepared.rendered.drawn;
  const ObjectView wanted = view_of_desired(prepared.plan.desired);
  prepared.drawn_changes.clear();
  if (prepared.rendered.again) drawn.looked_up.clear();
  // A recorded render was examined when it was made, and brings its own fields along.
  if (prepared.rendered.again) {
    const Revision* const deployed = prepared.state.deployed ? &*prepared.state.deployed : nullptr;
    MIST_TRY_VOID(check_rotated_names(prepared.options.rotate, drawn, deployed));
    const ObjectView adopted = adopted_secrets(prepared);
    if (adopted.empty() && is_as_deployed(prepared, wanted)) {
      drawn.fields = deployed->drawn.fields;
    } else {
      const DrawnRender render{drawn, prepared.rendered.secrets, wanted};
      Desired other;
      if (drawn.anything() || !drawn.clock.empty()) {
        MIST_TRY(other, render_again(environment, prepared,
                                     {.other_seed = true, .rotations = drawn.rotations, .clock = drawn.clock},
                                     context));
        drawn.fields = drawn_fields(render, view_of_desired(other));
      }
      MIST_TRY_VOID(compare_with_deployed(environment, prepared, render, view_of_desired(other), context));
      compare_with_live(prepared, adopted, other);
    }
    render::HiddenValues looked_up;
    looked_up.add(prepared.rendered.looked_up);
    ObjectView all = wanted;
    all.merge(render::view_of(prepared.tests));
    all.merge(render::view_of(prepared.hooks));
    drawn.looked_up = looked_up.fields_in(all);
  }
  prepared.aging = render::aging_certificates(drawn.fields, wanted, environment.clock.now());
  return {};
}

Status accept_drawn(const Environment& environment, const PreparedDeploy& prepared) {
  for (const AgingCertificate& certificate : prepared.aging)
    environment.events.warn(fmt::format("{}; {} makes a new one", to_string(certificate),
                                        release::command_text("upgrade", prepared.state.id, "--clock now")));
  return refuse_drawn_changes(prepared.drawn_changes, prepared.state.id);
}

}  // namespace mist::action
