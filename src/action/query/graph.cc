#include "action/query/graph.h"

#include "apply/plan/desired.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

Result<ReleaseGraph> graph_of(const release::ReleaseId& id, int revision,
                              std::vector<release::RenderedObject> objects,
                              const std::vector<release::RenderedObject>& hooks, apply::HookVerb verb) {
  ReleaseGraph graph{.id = id, .revision = revision, .objects = {}, .order = {}};
  const std::vector<apply::HookRun> runs = apply::hook_runs(hooks, verb);
  std::vector<const apply::HookRole*> roles;
  const auto add_runs = [&](apply::HookPhase phase) -> Status {
    for (const apply::HookRun& run : runs) {
      if (run.role.phase != phase) continue;
      MIST_TRY(std::vector<apply::DesiredObject> prepared, apply::prepare_offline({run.rendered}, id));
      graph.objects.push_back(std::move(prepared.front().rendered));
      roles.push_back(&run.role);
    }
    return {};
  };
  MIST_TRY_VOID(add_runs(apply::HookPhase::Before));
  for (release::RenderedObject& rendered : objects) {
    graph.objects.push_back(std::move(rendered));
    roles.push_back(nullptr);
  }
  MIST_TRY_VOID(add_runs(apply::HookPhase::After));
  std::vector<apply::OrderedObject> ordered;
  ordered.reserve(graph.objects.size());
  for (std::size_t i = 0; i < graph.objects.size(); ++i) {
    const release::RenderedObject& rendered = graph.objects[i];
    ordered.push_back({&rendered.object, rendered.file, rendered.place(), roles[i]});
  }
  MIST_TRY(graph.order, apply::infer_order(ordered));
  return graph;
}

namespace {

Result<ReleaseGraph> graph_of_revision(const release::ReleaseId& id, release::Revision& revision) {
  const apply::HookVerb verb =
      render::RecordedOptions::from_value(revision.options).hooks.value_or(apply::HookVerb::None);
  return graph_of(id, revision.number, std::move(revision.objects), revision.hooks,
                  verb == apply::HookVerb::None ? apply::HookVerb::Install : verb);
}

}  // namespace

Result<release::Revision> revision_to_draw(const Environment& environment, const release::ReleaseId& id,
                                           const Context& context) {
  MIST_TRY(ReleaseState state, read_release(environment, id, context));
  if (!state.anchor) {
    MIST_TRY_VOID(refuse_lost_anchor(environment, id, context));
    return error(ErrorKind::NotFound, "release {} does not exist", id.display())
        .with_hint(fmt::format("see {}; for a package that is not installed: mistctl graph -p PACKAGE",
                               release::list_text(id)));
  }
  if (state.deployed) return *std::move(state.deployed);
  if (state.unfinished.empty())
    return error(ErrorKind::NotFound, "release {} has no revision yet", id.display())
        .with_hint("see " + release::command_text("status", id));
  return std::move(state.unfinished.back());
}

Result<ReleaseGraph> graph_of_release(const Environment& environment, const release::ReleaseId& id,
                                      const Context& context) {
  MIST_TRY(release::Revision revision, revision_to_draw(environment, id, context));
  return graph_of_revision(id, revision);
}

}  // namespace mist::action
