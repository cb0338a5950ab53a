#include "cli/offline.h"

#include "action/local_birth.h"
#include "base/text.h"
#include "cli/places.h"
#include "package/capabilities.h"

namespace mist::cli {

Result<action::ReleaseState> offline_state(const Invocation& invocation, World& world,
                                           const std::string& text) {
  MIST_TRY(const release::ReleaseName name, release::ReleaseName::parse(text));
  action::ReleaseState state;
  state.id = {invocation.has("namespace") ? invocation.text("namespace") : "default", name.str()};
  if (!is_dns1123_label(state.id.ns))
    return error(ErrorKind::Usage, "\"{}\" is no namespace name", escape_controls(state.id.ns));
  MIST_TRY(const config::Paths paths, paths_of(world));
  const Path seed_file = invocation.has("seed-file") ? Path(invocation.text("seed-file")) : paths.seed_file();
  const action::SeedFile missing =
      invocation.has("seed-file") ? action::SeedFile::MustExist : action::SeedFile::MayBeMade;
  MIST_TRY(state.birth, action::local_birth(world.files, world.random, world.clock, *world.events, seed_file,
                                            missing, state.id));
  return state;
}

void assume_cluster(const Invocation& invocation, package::RenderRequest& request) {
  std::vector<std::string> versions;
  for (const std::string& given : invocation.texts("api-versions")) {
    for (const std::string_view each : split(given, ',')) versions.emplace_back(each);
  }
  package::assume_cluster(request, invocation.has("kube-version") ? invocation.text("kube-version") : "",
                          std::move(versions));
}

}  // namespace mist::cli
