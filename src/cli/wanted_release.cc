#include "cli/wanted_release.h"

#include "action/cluster_lookup.h"
#include "action/deploy/examine.h"
#include "cli/kube_questions.h"
#include "render/local_fixed_inputs.h"

namespace mist::cli {
namespace {

Result<render::WantedRelease> prepared(const Invocation& invocation, Machine& machine, const Cluster& cluster,
                                       render::Wanted wanted) {
  MIST_TRY(auto packages,
           open_packages(invocation, machine, registry::Mirrors::Use, registry::NewSigners::Remember));
  MIST_TRY(auto renderer, open_renderer(invocation, machine));
  const render::LiveCluster live{*cluster.client, action::cluster_lookup, machine.events};
  render::WantedRelease release(std::move(packages), {std::move(renderer), live}, std::move(wanted),
                                *machine.events);
  MIST_TRY_VOID(release.prepare(machine.context));
  return release;
}

Result<std::optional<release::ReleaseId>> taken_over(const Invocation& invocation,
                                                     const release::ReleaseId& ours) {
  if (find_flag(invocation.command(), kTakeOverFlag.name) == nullptr)
    return std::optional<release::ReleaseId>();
  return take_over_from(invocation, ours);
}

}  // namespace

Result<render::WantedRelease> wanted_release(const Invocation& invocation, Machine& machine,
                                             const Cluster& cluster) {
  const bool is_new = find_flag(invocation.command(), kReuseValuesFlag.name) == nullptr;
  render::Wanted wanted{.engine = invocation.text("engine"),
                        .reuse_values = !is_new && invocation.enabled(kReuseValuesFlag.name)};
  if (invocation.has("package")) wanted.package = invocation.text("package");
  MIST_TRY(wanted.choices, render_choices(invocation, machine));
  wanted.choices.run_on_host = run_on_host(invocation, machine);
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(wanted.choices.take_over_from, taken_over(invocation, id));
  if (is_new || has_values(invocation)) {
    MIST_TRY(wanted.values, read_values(invocation, machine));
  }
  return prepared(invocation, machine, cluster, std::move(wanted));
}

Result<render::WantedRelease> wanted_package(const Invocation& invocation, Machine& machine,
                                             const Cluster& cluster, const release::ReleaseId& id,
                                             std::string package, std::vector<package::ValuesInput> values,
                                             const PackageChoices& choices) {
  render::Wanted wanted{.package = std::move(package),
                        .values = std::move(values),
                        .reuse_values = choices.values == Values::Merged};
  MIST_TRY(wanted.choices, render_choices(invocation, machine));
  wanted.choices.run_on_host = run_on_host(invocation, machine);
  wanted.choices.hidden = choices.hidden;
  wanted.choices.interactive = choices.questions == Questions::Asked;
  MIST_TRY(wanted.choices.take_over_from, taken_over(invocation, id));
  return prepared(invocation, machine, cluster, std::move(wanted));
}

void use_seed_file(const Invocation& invocation, Machine& machine, Cluster& cluster) {
  if (!invocation.has(kSeedFileFlag.name)) return;
  cluster.environment.fixed = [&](const release::ReleaseId& born) {
    return render::local_fixed_inputs(machine.files, machine.random, machine.clock, *machine.events,
                                      Path(invocation.text(kSeedFileFlag.name)), render::SeedFile::MustExist,
                                      born);
  };
}

action::Render render_of(render::WantedRelease& wanted, const Machine& machine) {
  return [&](const action::ReleaseState& state) { return wanted.render(state.facts(), machine.context); };
}

Result<action::PreparedDeploy> preview(const Invocation& invocation, Machine& machine,
                                       const Cluster& cluster) {
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(action::DeployOptions options, plan_options(invocation, id));
  MIST_TRY(render::WantedRelease wanted, wanted_release(invocation, machine, cluster));
  const action::Intent intent = action::preview_intent(render_of(wanted, machine));
  MIST_TRY(action::PreparedDeploy prepared,
           action::prepare(cluster.environment, id, intent, options, machine.context));
  if (const Status drawn = action::accept_drawn(cluster.environment, prepared); !drawn.ok())
    machine.events->warn(drawn.error().to_line());
  return prepared;
}

}  // namespace mist::cli
