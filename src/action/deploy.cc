#include "action/deploy.h"

#include "action/deployment.h"
#include "action/look.h"
#include "action/server_dry_run.h"

namespace mist::action {

using release::Revision;
using release::RevisionStatus;

namespace {

// The one write before the journal, when it is asked for.
Status create_namespace(const Environment& environment, const std::string& name, const Context& context) {
  const kube::ResourceInfo namespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};
  const encoding::Value object = encoding::Value::object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", encoding::Value::object({{"name", name}})}});
  auto created = environment.client.create(namespaces, "", object, context);
  if (!created.ok() && created.error().kind != ErrorKind::Conflict)
    return std::move(created).error().with_frame("while creating the release's namespace");
  environment.events.info(fmt::format("created the namespace {}", name));
  return {};
}

// Our marks are added to recorded objects again, as to rendered ones.
release::RenderedObject without_marks(release::RenderedObject rendered) {
  encoding::Value& metadata = rendered.object.mutable_value()["metadata"];
  for (const std::string_view label : {release::kPartOfLabel, release::kNameLabel, release::kVersionLabel})
    metadata["labels"].erase(label);
  metadata["annotations"].erase(release::kReleaseAnnotation);
  return rendered;
}

DeployReport report_of(Look look) {
  DeployReport report;
  report.id = look.state.id;
  report.dry_run = look.options.dry_run;
  report.package = look.rendered.package;
  report.message = std::move(look.rendered.message);
  report.revision = look.plan.revision;
  report.plan = std::move(look.plan);
  return report;
}

Result<DeployReport> deploy_once(const Environment& environment, const release::ReleaseId& id,
                                 const Intent& intent, const DeployOptions& options, const Context& context) {
  MIST_TRY(Look seen, look(environment, id, intent, options, context));
  if (intent.may_change_nothing && seen.nothing_new) {
    const int deployed = seen.state.deployed->number;
    DeployReport report = report_of(std::move(seen));
    report.changed = false;
    report.revision = deployed;
    return report;
  }
  MIST_TRY_VOID(apply::refuse_conflicts(seen.plan));
  if (options.dry_run == DryRun::Server)
    MIST_TRY_VOID(dry_run_on_server(environment, seen.plan, seen.options.force_conflicts, context));
  if (options.dry_run != DryRun::No) return report_of(std::move(seen));
  if (seen.namespace_missing) {
    MIST_TRY_VOID(create_namespace(environment, id.ns, context));
    MIST_TRY_VOID(look_again(environment, seen, context));
    MIST_TRY_VOID(apply::refuse_conflicts(seen.plan));
  }
  seen.live.clear();  // thousands of objects are not kept through the run
  Deployment deployment(environment, seen, intent.action);
  MIST_TRY_VOID(deployment.run(context));
  return report_of(std::move(seen));
}

}  // namespace

Status refuse_uninstalling(const ReleaseState& state) {
  if (!state.anchor || state.anchor->head.status != RevisionStatus::Uninstalling) return {};
  return error(ErrorKind::Conflict, "release {} is half uninstalled", state.id.display())
      .with_hint(fmt::format("finish with mistctl uninstall {} -n {}", state.id.name, state.id.ns));
}

Status refuse_missing(const ReleaseState& state) {
  if (state.anchor) return {};
  return error(ErrorKind::NotFound, "release {} does not exist", state.id.display())
      .with_hint("see mistctl list -A");
}

RenderedRelease recorded_release(const Revision& revision) {
  RenderedRelease recorded;
  recorded.package = revision.package;
  recorded.user_values = revision.user_values;
  recorded.recorded_options = revision.options;
  for (const release::RenderedObject& object : revision.objects)
    recorded.objects.push_back(without_marks(object));
  return recorded;
}

Intent install_intent(Render render) {
  const auto check = [](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(refuse_uninstalling(state));
    if (state.anchor && state.anchor->head.deployed >= 0)
      return error(ErrorKind::Conflict, "release {} exists already, at revision {}", state.id.display(),
                   state.anchor->head.deployed)
          .with_hint(fmt::format("change it with mistctl upgrade {} -n {}", state.id.name, state.id.ns));
    return {};
  };
  return {.action = "install", .check = check, .render = std::move(render), .may_change_nothing = false};
}

Intent upgrade_intent(Render render) {
  const auto check = [](const ReleaseState& state) -> Status {
    if (!state.anchor)
      return error(ErrorKind::NotFound, "release {} does not exist", state.id.display())
          .with_hint(
              fmt::format("see mistctl list -A, or install it with mistctl install {} -n {} -p PACKAGE",
                          state.id.name, state.id.ns));
    return refuse_uninstalling(state);
  };
  return {.action = "upgrade", .check = check, .render = std::move(render)};
}

Intent reapply_intent() {
  const auto check = [](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(refuse_missing(state));
    MIST_TRY_VOID(refuse_uninstalling(state));
    if (!state.deployed)
      return error(ErrorKind::Conflict, "release {} was never deployed", state.id.display())
          .with_hint("run mistctl install again, with its package");
    return {};
  };
  const auto render = [](const ReleaseState& state) -> Result<RenderedRelease> {
    RenderedRelease recorded = recorded_release(*state.deployed);
    recorded.description = fmt::format("v{} once more", state.deployed->number);
    return recorded;
  };
  return {.action = "reapply", .check = check, .render = render};
}

Result<DeployReport> deploy(const Environment& environment, const release::ReleaseId& id,
                            const Intent& intent, const DeployOptions& options, const Context& context) {
  constexpr int kLooks = 4;
  for (int look = 1;; ++look) {
    auto report = deploy_once(environment, id, intent, options, context);
    // Somebody changed the release between our look and our lock.
    if (report.ok() || !release::anchor_moved(report.error()) || look == kLooks) return report;
    environment.events.debug(fmt::format("release {} changed meanwhile, looking again", id.display()));
  }
}

}  // namespace mist::action
