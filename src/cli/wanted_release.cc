#include "cli/wanted_release.h"

#include "action/cluster_lookup.h"
#include "action/deploy/examine.h"
#include "cli/kube_questions.h"
#include "render/local_birth.h"

namespace mist::cli {
namespace {

Result<render::WantedRelease> prepared(const Invocation& invocation, World& world, const Cluster& cluster,
                                       render::Wanted wanted) {
  MIST_TRY(auto packages, open_packages(invocation, world));
  MIST_TRY(auto renderer, open_renderer(invocation, world));
  const render::LiveCluster live{*cluster.client, action::cluster_lookup, world.events};
  render::WantedRelease release(std::move(packages), {std::move(renderer), live}, std::move(wanted),
                                *world.events);
  MIST_TRY_VOID(release.prepare(world.context));
  return release;
}

Result<std::optional<release::ReleaseId>> taken_over(const Invocation& invocation,
                                                     const release::ReleaseId& ours) {
  if (find_flag(invocation.command(), kTakeOverFlag.name) == nullptr)
    return std::optional<release::ReleaseId>();
  return take_over_from(invocation, ours);
}

}  // namespace

Result<render::WantedRelease> wanted_release(const Invocation& invocation, World& world,
                                             const Cluster& cluster) {
  const bool is_new = find_flag(invocation.command(), kReuseValuesFlag.name) == nullptr;
  render::Wanted wanted{.engine = invocation.text("engine"),
                        .reuse_values = !is_new && invocation.enabled(kReuseValuesFlag.name)};
  if (invocation.has("package")) wanted.package = invocation.text("package");
  MIST_TRY(wanted.choices, render_choices(invocation, world));
  wanted.choices.run_on_host = run_on_host(invocation, world);
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(wanted.choices.take_over_from, taken_over(invocation, id));
  if (is_new || has_values(invocation)) {
    MIST_TRY(wanted.values, read_values(invocation, world));
  }
  return prepared(invocation, world, cluster, std::move(wanted));
}

Result<render::WantedRelease> wanted_package(const Invocation& invocation, World& world,
                                             const Cluster& cluster, const release::ReleaseId& id,
                                             std::string package, std::vector<package::ValuesInput> values,
                                             const PackageChoices& choices) {
  render::Wanted wanted{.package = std::move(package),
                        .values = std::move(values),
                        .reuse_values = choices.values == Values::Merged};
  MIST_TRY(wanted.choices, render_choices(invocation, world));
  wanted.choices.run_on_host = run_on_host(invocation, world);
  wanted.choices.hidden = choices.hidden;
  wanted.choices.interactive = choices.questions == Questions::Asked;
  MIST_TRY(wanted.choices.take_over_from, taken_over(invocation, id));
  return prepared(invocation, world, cluster, std::move(wanted));
}

void use_seed_file(const Invocation& invocation, World& world, Cluster& cluster) {
  if (!invocation.has(kSeedFileFlag.name)) return;
  cluster.environment.birth = [&](const release::ReleaseId& born) {
    return render::local_birth(world.files, world.random, world.clock, *world.events,
                               Path(invocation.text(kSeedFileFlag.name)), render::SeedFile::MustExist, born);
  };
}

action::Render render_of(render::WantedRelease& wanted, const World& world) {
  return [&](const action::ReleaseState& state) { return wanted.render(state.facts(), world.context); };
}

Result<action::Look> preview(const Invocation& invocation, World& world, const Cluster& cluster) {
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(action::DeployOptions options, plan_options(invocation, id));
  MIST_TRY(render::WantedRelease wanted, wanted_release(invocation, world, cluster));
  const action::Intent intent = action::preview_intent(render_of(wanted, world));
  MIST_TRY(action::Look look, action::look(cluster.environment, id, intent, options, world.context));
  if (const Status drawn = action::accept_drawn(cluster.environment, look); !drawn.ok())
    world.events->warn(drawn.error().to_line());
  return look;
}

}  // namespace mist::cli
