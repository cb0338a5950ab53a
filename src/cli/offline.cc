#include "cli/offline.h"

#include "base/text.h"
#include "cli/package_flags.h"
#include "cli/places.h"
#include "cli/release_flags.h"
#include "package/value_places.h"
#include "render/local_fixed_inputs.h"

namespace mist::cli {

std::string offline_namespace(const Invocation& invocation) {
  std::string ns = invocation.text("namespace");
  return ns.empty() ? "default" : ns;
}

Result<render::ReleaseFacts> offline_release(const Invocation& invocation, Machine& machine,
                                             const std::string& text) {
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(text));
  render::ReleaseFacts release;
  release.id = {offline_namespace(invocation), name.str()};
  if (!is_dns1123_label(release.id.ns))
    return error(ErrorKind::Usage, "\"{}\" is not a namespace name", escape_controls(release.id.ns));
  MIST_TRY(const config::Paths paths, paths_of(machine));
  const Path seed_file = invocation.has("seed-file") ? Path(invocation.text("seed-file")) : paths.seed_file();
  const render::SeedFile missing =
      invocation.has("seed-file") ? render::SeedFile::MustExist : render::SeedFile::MayBeMade;
  MIST_TRY(release.fixed, render::local_fixed_inputs(machine.files, machine.random, machine.clock,
                                                     *machine.events, seed_file, missing, release.id));
  return release;
}

Result<render::RenderedRelease> render_offline(Machine& machine, OfflineRender render) {
  // The time that was asked for is that of the release: there is no other one.
  render::FixedInputs& fixed = render.release.fixed;
  if (render.choices.clock && !render.choices.clock->empty()) fixed.frozen_clock = *render.choices.clock;
  render.choices.clock.reset();
  MIST_TRY(encoding::Value values, render::values_for(*render.source, render.inputs, *machine.events));
  const render::ReleaseRenderer rendering(std::move(render.renderer), std::move(render.cluster));
  MIST_TRY(render::RenderedRelease rendered,
           package::with_value_places(rendering.render(std::move(render.source), std::move(values),
                                                       render.choices, render.release, machine.context),
                                      render.inputs));
  rendered.fixed = fixed;
  return rendered;
}

Result<render::RenderedRelease> render_offline(const Invocation& invocation, Machine& machine,
                                               const std::string& reference, const std::string& name) {
  OfflineRender render;
  MIST_TRY(render.release, offline_release(invocation, machine, name));
  MIST_TRY(render.choices, render_choices(invocation, machine));
  MIST_TRY(render.inputs, read_values(invocation, machine));
  MIST_TRY(package::Source source, fetch_package(invocation, machine, reference, invocation.text("engine")));
  render.source = std::make_shared<const package::Source>(std::move(source));
  MIST_TRY(render.renderer, open_renderer(invocation, machine));
  render.cluster = assumed_cluster(invocation);
  return render_offline(machine, std::move(render));
}

render::AssumedCluster assumed_cluster(const Invocation& invocation) {
  render::AssumedCluster cluster;
  if (invocation.has("kube-version")) cluster.kube_version = invocation.text("kube-version");
  for (const std::string& given : invocation.texts("api-versions")) {
    for (const std::string_view each : split(given, ',')) cluster.api_versions.emplace_back(each);
  }
  return cluster;
}

Result<package::TypeStore> type_store(const Machine& machine) {
  MIST_TRY(const config::Paths paths, paths_of(machine));
  return package::TypeStore(paths.schemas, machine.build.kube_types);
}

Result<apimachinery::KubeMinor> known_minor(const package::TypeStore& types, const std::string& version) {
  const auto minor = apimachinery::KubeMinor::parse(version);
  if (!minor)
    return error(ErrorKind::Usage, "\"{}\" is not a version of Kubernetes, such as 1.36",
                 escape_controls(version));
  if (types.has(*minor)) return *minor;
  return error(ErrorKind::Usage, "the schemas of Kubernetes {} did not come with this mistctl", minor->text())
      .with_hint(fmt::format("there are those of {}", types.minors()));
}

}  // namespace mist::cli
