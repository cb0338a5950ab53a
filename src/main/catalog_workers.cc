#include "main/catalog_workers.h"

#include <memory>
#include <string>
#include <utility>

#include "base/process_identity.h"
#include "build_info.h"
#include "catalog/poller.h"
#include "catalog/worker.h"
#include "kube/connect.h"
#include "kube_types_digests.h"
#include "main/catalog_engines.h"

namespace mist {
namespace {

Result<std::unique_ptr<kube::Client>> connect_cluster(const CommandLine& line, Machine& machine,
                                                      EventSink& events) {
  const kube::ConnectOptions options{.kubeconfig = line.text("--kubeconfig"),
                                     .context = line.text("--context"),
                                     .ns = {},
                                     .user_agent = kube::user_agent("mistletoe-catalog", MIST_VERSION),
                                     .cache_directory = {}};
  MIST_TRY(auto client, kube::connect(options, {.fs = machine.files,
                                                .processes = machine.processes,
                                                .clock = machine.clock,
                                                .random = machine.random,
                                                .events = events,
                                                .getenv = environment}));
  return client;
}

std::string holder_name(Random& random, int number) {
  return fmt::format("{}_{}_{}", host_name(), random.token(6), number);
}

}  // namespace

catalog::GitProxy git_proxy_asked(const CommandLine& line) {
  return line.has("--git-through-proxy") || line.has("--allow-private-repositories")
             ? catalog::GitProxy::OfEnvironment
             : catalog::GitProxy::None;
}

Result<catalog::TrialDependencies> trial_dependencies(const CommandLine& line, Machine& machine,
                                                      const DataPlace& place, const CatalogData& data,
                                                      catalog::StrangersGit& git) {
  MIST_TRY(config::Paths paths, own_paths(machine, place.directory));
  package::RendererOptions engines = engines_of(machine, paths);
  MIST_TRY(const std::string instance, data.store->instance());
  MIST_TRY(const Duration timeout, line.duration("--timeout", "5m"));
  package::TypeStore types(paths.schemas, package::kKubeTypesDigests);
  catalog::TrialDependencies dependencies{
      .files = machine.files,
      .processes = git,
      .clock = machine.clock,
      .random = machine.random,
      .blobs = *data.blobs,
      .paths = std::move(paths),
      .engines = std::move(engines),
      .types = std::move(types),
      .connect = [&line, &machine](EventSink& events) { return connect_cluster(line, machine, events); },
      .directory = place.directory.work(),
      .instance = instance,
      .timeout = timeout,
      .longest = 4 * timeout};
  // Versions would fail for what isn't their fault.
  MIST_TRY_VOID(catalog::check_ready(dependencies).in("while getting ready to test packages"));
  MIST_TRY_VOID(git.check_keeps_addresses(machine.context).in("while getting ready to test packages"));
  return dependencies;
}

Workers::Workers(Machine& machine, catalog::Store& store, const catalog::TrialDependencies& dependencies,
                 int count, Duration lease) {
  for (int i = 0; i < count; ++i)
    threads_.emplace_back([&machine, &store, &dependencies, lease, holder = holder_name(machine.random, i)] {
      (void)catalog::work(store, dependencies, {.holder = holder, .term = lease}, machine.log,
                          machine.context);
    });
}

Status worker(const CommandLine& line, Machine& machine, const DataPlace& place) {
  if (!line.has("--kubeconfig"))
    return error(ErrorKind::Usage, "worker needs --kubeconfig")
        .with_hint("of a cluster that is for tests only: strangers' packages are installed there");
  MIST_TRY(const CatalogData data, open_data(place, machine));
  MIST_TRY(const Duration lease, line.duration("--lease", "30s"));
  MIST_TRY(const int workers, line.number("--workers", "1", 64));
  LimitedProcessRunner limited(catalog::kStrangersGitLimits);
  catalog::StrangersGit git(limited, place.directory.cache() / "git", git_proxy_asked(line));
  MIST_TRY(const catalog::TrialDependencies dependencies,
           trial_dependencies(line, machine, place, data, git));
  if (line.has("--once")) {
    const catalog::WorkerOptions options{.holder = holder_name(machine.random, 0), .term = lease};
    for (bool more = true; more && machine.context.check().ok();) {
      MIST_TRY(more, catalog::work_once(*data.store, dependencies, options, machine.log, machine.context));
    }
    return {};
  }
  machine.log.info(fmt::format("mistletoe-catalog {} worker, data in {}", MIST_VERSION, place.shown()));
  const Workers testing(machine, *data.store, dependencies, workers, lease);
  return {};
}

}  // namespace mist
