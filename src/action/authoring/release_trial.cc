#include "action/authoring/release_trial.h"

#include <utility>

#include "action/deploy/container_contents.h"
#include "base/text.h"

namespace mist::action {

using apimachinery::ObjectKey;

Status uninstall_trial(const Environment& environment, const release::ReleaseId& id, UninstallHooks hooks,
                       apply::PruneRules rules, Duration timeout, const Context& context) {
  const UninstallOptions options{.rules = std::move(rules),
                                 .wait = true,
                                 .no_hooks = hooks == UninstallHooks::Skipped,
                                 .timeout = timeout,
                                 .plan_again = true};
  auto plan = plan_uninstall(environment, id, options, context);
  if (!plan.ok() && plan.error().kind == ErrorKind::NotFound) return {};
  if (!plan.ok()) return std::move(plan).error();
  MIST_TRY(const UninstallReport report, action::uninstall(environment, *std::move(plan), options, context));
  if (report.retained > 0)
    return error(ErrorKind::Invalid, "uninstalling left {}", plural(report.retained, "object"))
        .with_hint(
            "objects with mistletoe.dev/keep or helm.sh/resource-policy: keep stay; a package for everybody "
            "should have none")
        .with_detail(LeftObjects());
  return {};
}

Result<DeployReport> ReleaseTrial::deploy(const Intent& intent, DryRun dry, const Context& context) const {
  DeployOptions options;
  options.dry_run = dry;
  options.wait = dry == DryRun::No;
  options.timeout = options_.timeout;
  return action::deploy(environment_, id_, intent, options, context);
}

Result<std::string> ReleaseTrial::dry_run(const Render& render, const Context& context) const {
  MIST_TRY(const DeployReport report, deploy(install_intent(render), DryRun::Server, context));
  return fmt::format("the API server accepts {}", plural(report.plan.writes.size(), "object"));
}

Result<std::string> ReleaseTrial::install(const Render& render, const Context& context) const {
  MIST_TRY(const DeployReport report, deploy(install_intent(render), DryRun::No, context));
  return fmt::format("{} ready", plural(report.plan.writes.size(), "object"));
}

Result<std::string> ReleaseTrial::test(const OnTestResult& on_result, const Context& context) const {
  MIST_TRY(const TestReport report,
           run_tests(environment_, id_, {.timeout = options_.timeout}, on_result, context));
  const std::size_t failed = report.count(TestOutcome::Failed) + report.count(TestOutcome::Skipped);
  if (failed > 0)
    return error(ErrorKind::Invalid, "{} of {} failed", failed, plural(report.tests.size(), "test"));
  return report.tests.empty() ? "it has none" : fmt::format("{} passed", plural(report.tests.size(), "test"));
}

Result<std::string> ReleaseTrial::upgrade(const Version& before, const Version& now,
                                          const Context& context) const {
  MIST_TRY_VOID(uninstall_trial(environment_, id_, UninstallHooks::Run, rules(), options_.timeout, context));
  options_.say(fmt::format("installing {}", before.version));
  auto installed = deploy(install_intent(before.render), DryRun::No, context);
  if (!installed.ok()) return std::move(installed).error().with_detail(PreviousNotInstalled());
  options_.say(fmt::format("upgrading to {}", now.version));
  MIST_TRY(const DeployReport report, deploy(upgrade_intent(now.render), DryRun::No, context));
  return fmt::format("from {}, {} ready", before.version, plural(report.plan.writes.size(), "object"));
}

Status ReleaseTrial::note_what_is_there(const Context& context) {
  MIST_TRY(const std::vector<std::string> there, objects_inside(context));
  there_before_.insert(there.begin(), there.end());
  return {};
}

Status ReleaseTrial::uninstall(const Context& context) const {
  MIST_TRY(const std::vector<ObjectKey> outside, objects_outside(context));
  MIST_TRY_VOID(uninstall_trial(environment_, id_, UninstallHooks::Run, rules(), options_.timeout, context));
  MIST_TRY(const std::vector<std::string> stays, what_stays(outside, context));
  if (stays.empty()) return {};
  return error(ErrorKind::Invalid, "uninstalling left {}", join(stays, ", "))
      .with_hint("objects that the package's own programs make must go with it: give them ownerReferences")
      .with_detail(LeftObjects());
}

apply::PruneRules ReleaseTrial::rules() const {
  return {.delete_crds = true, .delete_pvcs = true, .delete_namespaces = options_.deletes_namespaces};
}

Result<std::vector<ObjectKey>> ReleaseTrial::objects_outside(const Context& context) const {
  std::vector<ObjectKey> keys;
  MIST_TRY(const ReleaseState state, read_release(environment_, id_, context, LostRevision::Allowed));
  for (const apply::InventoryItem& item : state.owned())
    if (item.key.ns != id_.ns) keys.push_back(item.key);
  return keys;
}

Result<std::vector<std::string>> ReleaseTrial::objects_inside(const Context& context) const {
  MIST_TRY(const ContainerView view, ContainerView::of_namespace(environment_, id_, id_.ns, context));
  const Contents contents = view.judge({});
  std::vector<std::string> found = contents.staying;
  for (const Contents::Foreign& each : contents.foreign) found.push_back(each.display);
  for (const std::string& each : contents.unreadable) options_.say(fmt::format("not looked at: {}", each));
  return found;
}

Result<std::vector<std::string>> ReleaseTrial::what_stays(const std::vector<ObjectKey>& outside,
                                                          const Context& context) const {
  MIST_TRY(std::vector<std::string> stays, objects_inside(context));
  std::erase_if(stays, [&](const std::string& each) { return there_before_.contains(each); });
  for (const ObjectKey& key : outside) {
    const auto resource = environment_.client.resource_for(key.group_kind, {}, context);
    if (!resource.ok() && resource.error().kind == ErrorKind::NotFound) continue;  // its kind went with it
    if (!resource.ok()) return resource.error();
    const auto live = environment_.client.get({*resource, key.ns, key.name}, context);
    if (live.ok()) stays.push_back(key.display());
    if (!live.ok() && live.error().kind != ErrorKind::NotFound) return live.error();
  }
  return stays;
}

}  // namespace mist::action
