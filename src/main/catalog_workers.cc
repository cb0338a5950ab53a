#include "main/catalog_workers.h"

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/bubblewrap.h"
#include "base/process_identity.h"
#include "base/text.h"
#include "build_info.h"
#include "catalog/poller.h"
#include "catalog/test_cluster.h"
#include "catalog/worker.h"
#include "kube/connect.h"
#include "kube_types_digests.h"
#include "main/catalog_engines.h"
#include "main/catalog_task.h"

namespace mist {
namespace {

Result<std::unique_ptr<kube::Client>> connect_cluster(const catalog::TrialCluster& cluster, Machine& machine,
                                                      EventSink& events) {
  const kube::ConnectOptions options{.kubeconfig = cluster.kubeconfig,
                                     .context = cluster.context,
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

// Of the environment, for a process that is to have no more of it.
std::map<std::string, std::string> proxy_variables() {
  std::map<std::string, std::string> found;
  for (const char* const name : {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY",
                                 "all_proxy", "NO_PROXY", "no_proxy"})
    if (const auto value = environment(name)) found.emplace(name, *value);
  return found;
}

struct FlagHint {
  std::string_view flag, hint;
};
constexpr std::array kNeededByJobs{
    FlagHint{"--kubeconfig",
             "add --kubeconfig FILE, of a cluster that is for tests only: the Jobs install packages there"},
    FlagHint{
        "--jobs-image",
        "add --jobs-image IMAGE, an image with this version of mistletoe-catalog: tools/image.sh catalog "
        "makes it"},
    FlagHint{"--url",
             "add --url URL, at which the Pods of the Jobs reach this catalog: https://catalog.example.com"}};
constexpr std::array kNotWithJobs{
    FlagHint{"--cluster-command", "leave it out: the Jobs test on the cluster of --kubeconfig"},
    FlagHint{"--isolation", "leave it out: each test is isolated by its own Pod"}};

std::string holder_name(Random& random, int number) {
  return fmt::format("{}_{}_{}", host_name(), random.token(6), number);
}

}  // namespace

Result<int> tests_at_once(const CommandLine& line) {
  const bool by_jobs = line.has("--jobs-kubeconfig");
  const std::string_view other = by_jobs ? "--workers" : "--jobs-at-once";
  if (line.has(other))
    return error(ErrorKind::Usage, "{} is {} --jobs-kubeconfig", other, by_jobs ? "not with" : "only with")
        .with_hint(by_jobs ? "leave it out: --jobs-at-once N says how many Jobs run at once"
                           : "leave it out: --workers N says how many tests run at once on this machine");
  MIST_TRY(const int count,
           by_jobs ? line.number("--jobs-at-once", "10", 200) : line.number("--workers", "1", 64));
  return count;
}

bool tests_packages(const CommandLine& line) {
  return line.has("--kubeconfig") || line.has("--cluster-command") || line.has("--jobs-kubeconfig");
}

catalog::GitProxy git_proxy_asked(const CommandLine& line) {
  return line.has("--git-through-proxy") || line.has("--allow-private-repositories")
             ? catalog::GitProxy::OfEnvironment
             : catalog::GitProxy::None;
}

std::string program_version() { return fmt::format("{} {}", MIST_VERSION, MIST_COMMIT); }

Result<catalog::TrialDependencies> trial_dependencies(const TrialParts& parts) {
  Machine& machine = parts.machine;
  MIST_TRY(config::Paths paths, own_paths(machine, parts.places));
  package::RendererOptions engines = engines_of(machine, paths);
  package::TypeStore types(paths.schemas, package::kKubeTypesDigests);
  return catalog::TrialDependencies{
      .files = machine.files,
      .processes = parts.git,
      .clock = machine.clock,
      .random = machine.random,
      .blobs = parts.blobs,
      .paths = std::move(paths),
      .engines = std::move(engines),
      .types = std::move(types),
      .connect = [cluster = parts.cluster,
                  &machine](EventSink& events) { return connect_cluster(cluster, machine, events); },
      .directory = parts.places.work(),
      .instance = parts.instance,
      .timeout = parts.timeout,
      .longest = 4 * parts.timeout};
}

Result<std::unique_ptr<Testing>> Testing::make(const CommandLine& line, Machine& machine,
                                               const DataPlace& place, const CatalogData& data,
                                               catalog::IsolatedGit& git) {
  MIST_TRY(std::string instance, data.store->instance());
  MIST_TRY(const Duration timeout, line.duration("--timeout", "5m"));
  MIST_TRY(catalog::TrialDependencies dependencies, trial_dependencies({.machine = machine,
                                                                        .places = place.directory,
                                                                        .blobs = *data.blobs,
                                                                        .git = git,
                                                                        .instance = std::move(instance),
                                                                        .timeout = timeout}));
  std::unique_ptr<Testing> testing(new Testing(std::move(dependencies)));
  testing->machine_ = &machine;
  if (line.has("--jobs-kubeconfig")) {
    MIST_TRY_VOID(testing->choose_jobs(line, machine, data));
    return testing;
  }
  for (const std::string_view each : {"--jobs-namespace", "--jobs-image"})
    if (line.has(each))
      return error(ErrorKind::Usage, "{} is only with --jobs-kubeconfig", each)
          .with_hint("name the cluster of the Jobs by --jobs-kubeconfig FILE, or leave this flag out");
  constexpr std::string_view kGettingReady = "while getting ready to test packages";
  // Versions would fail for what isn't their fault.
  MIST_TRY_VOID(catalog::check_ready(testing->dependencies_).in(kGettingReady));
  MIST_TRY_VOID(git.check_keeps_addresses(machine.context).in(kGettingReady));
  MIST_TRY_VOID(testing->isolate(line, machine).in(kGettingReady));
  MIST_TRY_VOID(testing->choose_cluster(line, machine, place));
  return testing;
}

Status Testing::isolate(const CommandLine& line, Machine& machine) {
  const std::string asked = line.text("--isolation", "bubblewrap");
  if (asked == "none") {
    dependencies_.isolation = "none: in the process of the worker (--isolation none)";
    machine.log.warn("packages are tested in this process, without isolation");
    return {};
  }
  if (asked != "bubblewrap")
    return error(ErrorKind::Usage, "--isolation {} is neither bubblewrap nor none", escape_controls(asked));
  Status possible = check_sandboxes(machine.processes, machine.context);
  if (!possible.ok()) {
    Error& failure = possible.error();
    if (!failure.hint.empty()) failure.hint += "; ";
    failure.hint +=
        "docs/catalog-admin.md has the settings for systemd; or --isolation none, and a package that breaks "
        "out of WebAssembly gets all that this user has";
    return possible;
  }
  auto groups = ControlGroups::make();
  if (groups.ok())
    groups_ = *std::move(groups);
  else
    machine.log.info(fmt::format("no control groups: {}", groups.error().to_line()));
  processes_.emplace(dependencies_, machine.processes,
                     catalog::TrialProcesses::Options{
                         .program = machine.program,
                         .version = program_version(),
                         .git_through_proxy = git_proxy_asked(line) == catalog::GitProxy::OfEnvironment,
                         .environment = proxy_variables(),
                         .groups = groups_.get(),
                         .limits_files = can_limit_tmpfs(machine.processes, machine.context)});
  for (const catalog::TrialPart part : {catalog::TrialPart::Offline, catalog::TrialPart::OnCluster})
    machine.log.info(fmt::format("tests {}: {}",
                                 part == catalog::TrialPart::Offline ? "without a cluster" : "on a cluster",
                                 processes_->isolation(part)));
  return {};
}

Status Testing::choose_cluster(const CommandLine& line, Machine& machine, const DataPlace& place) {
  catalog::Trials::Dependencies made{.clock = machine.clock, .run_part = nullptr};
  made.run_part = [this](catalog::TrialPart part, const catalog::Job& job, Duration spent,
                         const catalog::TrialCluster& cluster, const catalog::TrialReport& report,
                         const Context& context) {
    return processes_ ? processes_->run(part, job, spent, cluster, report, context)
                      : run_here(part, job, spent, cluster, report, context);
  };
  if (line.has("--cluster-command")) {
    if (line.has("--kubeconfig") || line.has("--context"))
      return error(ErrorKind::Usage, "--cluster-command and --kubeconfig name two clusters")
          .with_hint("keep the one on which packages are to be tested, and leave the other out");
    const catalog::TestClusterDependencies clusters{.files = machine.files,
                                                    .programs = machine.processes,
                                                    .directory = place.directory.cache() / "clusters"};
    catalog::end_left_clusters(machine.files, clusters.directory);
    made.start_cluster = [clusters, command = line.text("--cluster-command"),
                          instance = dependencies_.instance](const catalog::Job& job,
                                                             const Context& context) {
      return catalog::TestCluster::start(clusters, command,
                                         catalog::trial_namespace(instance, job, job.attempt), context);
    };
  } else {
    made.shared = {
        .kubeconfig = std::filesystem::absolute(line.text("--kubeconfig")).lexically_normal().string(),
        .context = line.text("--context")};
  }
  trials_.emplace(std::move(made));
  dependencies_.run = [this](const catalog::Job& job, const catalog::TrialReport& report,
                             const Context& context) { return trials_->run(job, report, context); };
  return {};
}

Status Testing::choose_jobs(const CommandLine& line, Machine& machine, const CatalogData& data) {
  for (const auto& [flag, hint] : kNeededByJobs)
    if (!line.has(flag))
      return error(ErrorKind::Usage, "--jobs-kubeconfig needs {}", flag).with_hint(std::string(hint));
  for (const auto& [flag, hint] : kNotWithJobs)
    if (line.has(flag))
      return error(ErrorKind::Usage, "{} is not with --jobs-kubeconfig", flag).with_hint(std::string(hint));
  const auto absolute = [&](std::string_view flag) {
    return std::filesystem::absolute(line.text(flag)).lexically_normal().string();
  };
  const auto kubeconfig = [&machine,
                           of = catalog::TrialCluster{absolute("--kubeconfig"), line.text("--context")}] {
    return catalog::self_contained_kubeconfig(machine.files, of);
  };
  MIST_TRY_VOID(kubeconfig().in("while getting ready to test packages"));
  std::string url = line.text("--url");
  while (url.ends_with('/')) url.pop_back();
  MIST_TRY(jobs_cluster_, connect_cluster({.kubeconfig = absolute("--jobs-kubeconfig"), .context = {}},
                                          machine, machine.log));
  const std::string ns = line.text("--jobs-namespace", jobs_cluster_->default_namespace());
  jobs_.emplace(dependencies_, *data.tasks, *jobs_cluster_, machine.log,
                catalog::TrialJobs::Options{
                    .ns = ns,
                    .image = line.text("--jobs-image"),
                    .url = std::move(url),
                    .kubeconfig = kubeconfig,
                    .version = program_version(),
                    .git_through_proxy = git_proxy_asked(line) == catalog::GitProxy::OfEnvironment});
  machine.log.info(fmt::format("tests: Jobs in the namespace {} of {}: {}", ns, jobs_cluster_->describe(),
                               jobs_->isolation()));
  // The catalog serves what it has, also while that cluster is away.
  removing_ = std::jthread([this, &machine](const std::stop_token& ended) {
    std::stop_source stop;
    const auto end = [&stop] { stop.request_stop(); };
    const std::stop_callback when_destroyed(ended, end);
    const std::stop_callback when_told(machine.context.stop(), end);
    jobs_->remove_left_again_and_again(machine.context.with_stop(stop.get_token()));
  });
  dependencies_.run = [this](const catalog::Job& job, const catalog::TrialReport& report,
                             const Context& context) { return jobs_->run(job, report, context); };
  return {};
}

Result<bool> Testing::run_here(catalog::TrialPart part, const catalog::Job& job, Duration spent,
                               const catalog::TrialCluster& cluster, const catalog::TrialReport& report,
                               const Context& context) const {
  catalog::TrialDependencies here = dependencies_;
  here.run = nullptr;
  here.spent = spent;
  here.connect = [this, &cluster](EventSink& events) { return connect_cluster(cluster, *machine_, events); };
  return catalog::run_trial(here, job, report, context, part);
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
  if (line.has("--task")) return run_task(machine, place.directory, line.text("--task"));
  if (!tests_packages(line))
    return error(ErrorKind::Usage, "worker needs --kubeconfig, or --cluster-command")
        .with_hint("of a cluster that is for tests only: strangers' packages are installed there");
  MIST_TRY(const CatalogData data, open_data(place, machine));
  MIST_TRY(const Duration lease, line.duration("--lease", "30s"));
  MIST_TRY(const int workers, tests_at_once(line));
  LimitedProcessRunner limited(catalog::kStrangersGitLimits);
  catalog::IsolatedGit git(limited, place.directory.cache() / "git", git_proxy_asked(line));
  MIST_TRY(const auto tests, Testing::make(line, machine, place, data, git));
  const catalog::TrialDependencies& dependencies = tests->dependencies();
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
