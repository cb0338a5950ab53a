#include "catalog/trial_process.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <csignal>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/bubblewrap.h"
#include "base/file_identity.h"
#include "base/scratch_directory.h"
#include "base/text.h"
#include "catalog/trial_messages.h"
#include "kube/kubeconfig.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

// For a process that is told to end, or whose time is over: what it is in the middle of takes no longer.
constexpr std::chrono::seconds kOfflineFarewell{10};
constexpr std::chrono::minutes kMargin{1};
// Objects and logs of a trial are less.
constexpr std::uint64_t kMostOutput = std::uint64_t{128} << 20;
constexpr std::size_t kMostErrorWords = 2000;

constexpr std::uint64_t mebibytes(std::uint64_t bytes) { return bytes >> 20; }

/// The detail of the one error of run_in() that is the package's fault: `message` is the step's summary.
struct PackageFault {
  std::string step;
};

Error package_fault(const TrialListener& listener, std::string summary) {
  return error(ErrorKind::Invalid, "{}", summary).with_detail(PackageFault{listener.step()});
}

// As a SharedCodeCache in the sandbox can't tell, where root is nobody known.
bool is_trusted(const Path& directory) {
  struct stat info{};
  return ::stat(directory.c_str(), &info) == 0 && is_of_installation(info);
}

std::optional<TreeLimit> limit_of(const ControlGroup& group) {
  if (group.ran_out_of_memory()) return TreeLimit::Memory;
  if (group.ran_out_of_tasks()) return TreeLimit::Threads;
  return std::nullopt;
}

std::string last_words_of(const ProcessResult& ran) {
  std::string_view text = trim(ran.err);
  if (text.size() > kMostErrorWords) text.remove_prefix(text.size() - kMostErrorWords);
  return escape_controls(text, true);
}

}  // namespace

// The facts about a process that has ended.
struct TrialProcesses::Ran {
  const Result<ProcessResult>& result;
  const TrialListener& listener;
  const Status& heard;
  bool is_late = false;
  std::optional<TreeLimit> limit_of_group;  ///< that the kernel kept to
};

Result<std::vector<Path>> files_of_cluster(const FileSystem& files, const TrialCluster& cluster) {
  MIST_TRY(const kube::Kubeconfig config,
           kube::Kubeconfig::load({.paths = {cluster.kubeconfig}, .must_exist = true}, files));
  MIST_TRY(const kube::ResolvedContext context, config.resolve(cluster.context));
  const kube::UserEntry& user = context.user;
  std::vector<Path> found;
  for (const Path& each : {context.cluster.certificate_authority, user.client_certificate, user.client_key,
                           user.token_file, user.exec ? Path(user.exec->command) : Path()})
    if (each.is_absolute()) found.push_back(each);
  return found;
}

std::string TrialProcesses::isolation(TrialPart part) const {
  const TrialLimits& limits = options_.limits;
  return fmt::format(
      "bubblewrap: namespaces of its own, {}; {} MiB of memory, {} processes and threads, {} processors, {} "
      "of files; {}",
      part == TrialPart::Offline ? "no network" : "but the network of the worker",
      mebibytes(limits.memory_bytes), limits.tasks, limits.processors,
      options_.limits_files ? fmt::format("{} MiB", mebibytes(limits.file_bytes))
                            : std::string("any number of bytes (bubblewrap before 0.7.0)"),
      options_.groups != nullptr ? "a control group keeps to the limits" : "the worker watches the limits");
}

Command TrialProcesses::command(TrialPart part, const Path& packages,
                                const std::vector<Path>& cluster_files) const {
  const bool is_offline = part == TrialPart::Offline;
  const TrialLimits& limits = options_.limits;
  const config::Paths& paths = dependencies_.paths;
  SandboxView view{.network = is_offline ? SandboxNetwork::None : SandboxNetwork::Host,
                   .read_only = {{options_.program, options_.program},
                                 {paths.engines, paths.engines},
                                 {paths.schemas, paths.schemas},
                                 {packages, kTrialPackages}},
                   .environment = {{"MIST_ENGINES_LOCATION", paths.engines.string()},
                                   {"MIST_SCHEMAS_LOCATION", paths.schemas.string()}},
                   .directory = "/tmp"};
  if (options_.limits_files) view.temporary_bytes = limits.file_bytes;
  if (const Path code = dependencies_.engines.engines.code();
      dependencies_.files.is_directory(code) && !is_trusted(code))
    view.hidden.push_back(code);
  if (!is_offline) view.environment.insert(options_.environment.begin(), options_.environment.end());
  for (const Path& each : cluster_files) view.read_only.push_back({each, each});
  Command made = sandboxed(view, {options_.program.string(), std::string(kTrialVerb)});
  made.output_limit = kMostOutput;
  made.file_limit = limits.file_bytes;
  // Also beside a control group: it says which limit was reached.
  made.tree = {.threads = limits.tasks, .memory_bytes = limits.memory_bytes};
  return made;
}

Duration TrialProcesses::longest(TrialPart part, Duration spent) const {
  const Duration steps = std::max(Duration::zero(), dependencies_.longest - spent);
  const Duration removal = longest_removal(dependencies_);
  // Those of dead tests are removed before, too.
  switch (part) {
    case TrialPart::Offline:
      return steps + kMargin;
    case TrialPart::All:
    case TrialPart::OnCluster:
      return steps + 4 * removal;
    case TrialPart::Removal:
      break;
  }
  return 4 * removal;
}

Status TrialProcesses::write_packages(TrialPart part, const Job& job, const Path& directory,
                                      const TrialReport& report) {
  FileBlobs packages(dependencies_.files, directory);
  const auto hand_on = [&](const std::string& text) -> Status {
    MIST_TRY(const crypto::Digest digest, crypto::Digest::parse(text));
    MIST_TRY(const std::string bytes, dependencies_.blobs.get(digest));
    MIST_TRY_VOID(packages.put(bytes));
    return {};
  };
  MIST_TRY_VOID(dependencies_.files.make_directories(directory, 0700));
  if (part == TrialPart::Removal) return {};
  MIST_TRY_VOID(hand_on(job.digest));
  if (part == TrialPart::Offline || job.previous_digest.empty()) return {};
  Status previous = hand_on(job.previous_digest);
  if (previous.ok() || !is_lost(previous.error())) return previous;
  // The process finds that it isn't there.
  report.warn(
      fmt::format("{} {} can't be read: {}", job.package, job.previous_version, previous.error().to_line()));
  return {};
}

std::string TrialProcesses::limit_reached(TreeLimit limit) const {
  const TrialLimits& limits = options_.limits;
  switch (limit) {
    case TreeLimit::Threads:
      return fmt::format("it was ended: it had more than {} processes and threads", limits.tasks);
    case TreeLimit::Memory:
      return fmt::format("it was ended: it used more than {} MiB of memory", mebibytes(limits.memory_bytes));
    case TreeLimit::ProcessorTime:
      break;
  }
  return "it was ended: it used too much processor time";
}

Result<bool> TrialProcesses::outcome(const Ran& ran, TrialPart part) const {
  const TrialListener& listener = ran.listener;
  if (!ran.heard.ok()) {
    if (ran.heard.error().detail<NotATrial>() != nullptr)
      return package_fault(listener, ran.heard.error().message);
    return ran.heard.error();
  }
  if (!ran.result.ok() && ran.result.error().kind == ErrorKind::Invalid)
    return package_fault(listener,
                         fmt::format("it was ended: it said more than {} MiB", mebibytes(kMostOutput)));
  if (!ran.result.ok() && !ran.is_late)
    return Error(ran.result.error()).with_detail(package::InstallationFault());
  if (ran.result.ok() && ran.result->exceeded)
    return package_fault(listener, limit_reached(*ran.result->exceeded));
  if (ran.limit_of_group) return package_fault(listener, limit_reached(*ran.limit_of_group));
  const auto& end = listener.end();
  if (end && end->ok()) return *end;
  if (ran.is_late) return package_fault(listener, "it was ended: it took longer than a test may");
  if (end) {
    const Error& failure = end->error();
    // Without a network, a try that could work later is one that found no room.
    if (part == TrialPart::Offline && failure.kind == ErrorKind::Retryable &&
        failure.detail<package::InstallationFault>() == nullptr)
      return package_fault(listener, fmt::format("{}: a test has {} MiB for files", failure.message,
                                                 mebibytes(options_.limits.file_bytes)));
    return failure;
  }
  if (!listener.began())
    return error(ErrorKind::Internal, "no process for tests can be started")
        .with_because(last_words_of(*ran.result))
        .with_detail(package::InstallationFault());
  return error(ErrorKind::Internal, "the process of the test ended by itself, with the exit code {}{}",
               ran.result->exit_code,
               listener.step().empty() ? std::string() : fmt::format(", in the step {}", listener.step()))
      .with_because(last_words_of(*ran.result));
}

Result<bool> TrialProcesses::run_in(const Path& packages, TrialPart part, const Job& job, Duration spent,
                                    const TrialCluster& cluster, const TrialReport& report,
                                    const Context& context) {
  std::vector<Path> cluster_files;
  if (part != TrialPart::Offline) {
    auto found = files_of_cluster(dependencies_.files, cluster);
    if (!found.ok()) return std::move(found).error().with_detail(ClusterFault());
    cluster_files = *std::move(found);
    cluster_files.emplace_back(cluster.kubeconfig);
  }
  std::unique_ptr<ControlGroup> group;
  const TrialLimits& limits = options_.limits;
  if (options_.groups != nullptr) {
    auto made = options_.groups->add(
        {.memory_bytes = limits.memory_bytes, .tasks = limits.tasks, .processors = limits.processors});
    if (!made.ok()) return std::move(made).error().with_detail(package::InstallationFault());
    group = *std::move(made);
  }
  const Duration longest = this->longest(part, spent);
  Command asked = command(part, packages, cluster_files);
  asked.input = TrialRequest{.program = options_.version,
                             .part = part,
                             .job = job,
                             .instance = dependencies_.instance,
                             .timeout = dependencies_.timeout,
                             .longest = dependencies_.longest,
                             .spent = spent,
                             .isolation = isolation(part),
                             .kubeconfig = part == TrialPart::Offline ? std::string() : cluster.kubeconfig,
                             .context = cluster.context,
                             .git_through_proxy = options_.git_through_proxy}
                    .to_line();
  asked.tree.processor_time =
      std::chrono::ceil<std::chrono::seconds>(longest * static_cast<int>(limits.processors));
  asked.farewell = std::chrono::ceil<std::chrono::milliseconds>(
      part == TrialPart::Offline ? Duration(kOfflineFarewell) : longest_removal(dependencies_) + kMargin);
  if (group) asked = group->inside(std::move(asked));

  TrialListener listener(options_.version, part, report);
  Status heard;
  std::stop_source stop;
  const std::stop_callback outer(context.stop(), [&] { stop.request_stop(); });
  asked.on_stdout = [&](std::string_view piece) {
    if (!heard.ok()) return;
    heard = listener.hear(piece);
    if (!heard.ok()) stop.request_stop();
  };
  const Context limited = context.with_stop(stop.get_token()).with_timeout(longest);
  const auto result = programs_.run(asked, limited);
  MIST_TRY_VOID(context.check());
  return outcome({.result = result,
                  .listener = listener,
                  .heard = heard,
                  .is_late = limited.remaining() == Duration::zero(),
                  .limit_of_group = group ? limit_of(*group) : std::nullopt},
                 part);
}

Result<bool> TrialProcesses::run(TrialPart part, const Job& job, Duration spent, const TrialCluster& cluster,
                                 const TrialReport& report, const Context& context) {
  const ScratchDirectory packages(dependencies_.files, trial_directory(dependencies_, job));
  MIST_TRY_VOID(dependencies_.files.remove_all(packages.path()));
  MIST_TRY_VOID(write_packages(part, job, packages.path(), report));
  const WallTime began = dependencies_.clock.now();
  const SteadyTime began_steady = dependencies_.clock.steady_now();
  auto ran = run_in(packages.path(), part, job, spent, cluster, report, context);
  const PackageFault* const ended = ran.ok() ? nullptr : ran.error().detail<PackageFault>();
  if (ended == nullptr) return ran;
  if (part == TrialPart::Removal)
    return error(ErrorKind::Internal, "what the test left can't be removed").caused_by(ran.error());
  MIST_TRY_VOID(report.step({.name = ended->step.empty() ? "worker" : ended->step,
                             .state = StepState::Failed,
                             .summary = ran.error().message,
                             .log = "isolation: " + isolation(part),
                             .began = began,
                             .elapsed = dependencies_.clock.steady_now() - began_steady}));
  if (part == TrialPart::Offline) return false;
  // Nobody removed what it had made.
  const auto removed =
      run_in(packages.path(), TrialPart::Removal, job, Duration::zero(), cluster, report, context);
  if (!removed.ok())
    report.warn(fmt::format("{} {}: what its test left stays for now: {}", job.package, job.version,
                            removed.error().to_line()));
  return false;
}

}  // namespace mist::catalog
