#include "catalog/test_cluster.h"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/proc_stat.h"
#include "base/process_identity.h"
#include "base/text.h"
#include "config/paths.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kMostCommandWords = 2000;
constexpr std::size_t kStart = 22;  // of a process, in /proc/PID/stat
// The process that runs the command, and the command's own: its number and its start.
constexpr std::string_view kOwner = "owner";
constexpr std::string_view kCommand = "command";
// The shell that runs the command keeps its number.
constexpr std::string_view kScript =
    R"(read -r stat </proc/$$/stat && echo "$stat" >"$0" && exec /bin/sh -c "$1")";

std::string end_of_words(std::string_view text) {
  text = trim(text);
  if (text.size() > kMostCommandWords) text.remove_prefix(text.size() - kMostCommandWords);
  return escape_controls(text, true);
}

// Of /proc/PID/stat as it was.
std::optional<pid_t> living_process(std::string_view stat) {
  pid_t pid = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), pid);
  const std::size_t name_end = stat.rfind(')');
  if (pid <= 1 || name_end == stat.npos) return std::nullopt;
  const auto now = ProcStat::read(std::to_string(pid));
  const auto fields = split(trim(stat.substr(name_end + 1)), ' ');
  constexpr std::size_t kFirst = 3;  // the number of fields[0]
  if (!now || fields.size() <= kStart - kFirst || now->field(kStart) != fields[kStart - kFirst])
    return std::nullopt;
  return pid;
}

}  // namespace

// The command, in a thread of its own.
class TestCluster::Run {
 public:
  Run(const TestClusterDependencies& dependencies, const std::string& command, const std::string& name)
      : dependencies_(dependencies), directory_(dependencies.directory / name) {
    command_.program = "/bin/sh";
    command_.arguments = {"-c", std::string(kScript), (directory_ / kCommand).string(), command};
    command_.env = {{"KUBECONFIG", written_kubeconfig().string()}, {"MISTLETOE_TEST", name}};
    command_.farewell = std::chrono::ceil<std::chrono::milliseconds>(dependencies.longest_end);
    command_.on_stdout = [this](std::string_view piece) { hear(piece); };
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
    }
    (void)dependencies_.files.remove_all(directory_);
  }

  Result<Path> start(const Context& context) {
    FileSystem& files = dependencies_.files;
    MIST_TRY_VOID(files.remove_all(directory_));
    MIST_TRY_VOID(config::make_private_directory(files, directory_));
    MIST_TRY_VOID(files.write(directory_ / kOwner, own_process(), {.durable = false}));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    const Context limited = context.with_timeout(dependencies_.longest_start);
    std::unique_lock lock(mutex_);
    while (!first_line_ && !result_) {
      MIST_TRY_VOID(limited.check());
      changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
    if (!first_line_) return failure();
    Path named = std::string(trim(*first_line_));
    if (named.is_absolute() && files.exists(named)) return named;
    if (files.exists(written_kubeconfig())) return written_kubeconfig();
    return error(ErrorKind::Invalid, "the cluster command named no kubeconfig")
        .with_because(fmt::format("its first line is {}, which is no file, and it wrote none to $KUBECONFIG",
                                  escape_controls(clipped(*first_line_, kMostCommandWords))));
  }

 private:
  Path written_kubeconfig() const { return directory_ / "kubeconfig"; }

  void run(const std::stop_token& stop) {
    auto result = dependencies_.programs.run(command_, Context(stop));
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
    changed_.notify_all();
  }

  void hear(std::string_view piece) {
    const std::lock_guard lock(mutex_);
    if (first_line_ || piece.empty()) return;
    said_ += piece.substr(0, kMostCommandWords);
    const std::size_t end = said_.find('\n');
    if (end == said_.npos) return;
    first_line_ = said_.substr(0, end);
    changed_.notify_all();
  }

  Error failure() const {
    if (!result_->ok()) return result_->error();
    const ProcessResult& ended = **result_;
    return error(ErrorKind::Invalid,
                 "the cluster command ended with the exit code {} before a cluster was ready",
                 ended.exit_code)
        .with_because(end_of_words(ended.err));
  }

  const TestClusterDependencies dependencies_;
  const Path directory_;
  Command command_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string said_;  // guarded by mutex_, as the rest
  std::optional<std::string> first_line_;
  std::optional<Result<ProcessResult>> result_;
  std::jthread thread_;
};

TestCluster::TestCluster(std::unique_ptr<Run> run) : run_(std::move(run)) {}
TestCluster::~TestCluster() = default;

Result<std::unique_ptr<TestCluster>> TestCluster::start(const TestClusterDependencies& dependencies,
                                                        const std::string& command, const std::string& name,
                                                        const Context& context) {
  std::unique_ptr<TestCluster> cluster(new TestCluster(std::make_unique<Run>(dependencies, command, name)));
  MIST_TRY(cluster->kubeconfig_, cluster->run_->start(context).in("while starting a cluster for a test"));
  return cluster;
}

void end_left_clusters(FileSystem& files, const Path& directory) {
  const auto entries = files.list(directory);
  if (!entries.ok()) return;
  for (const DirectoryEntry& each : *entries) {
    const Path left = directory / each.name;
    const auto owner = files.read(left / kOwner);
    if (!owner.ok() || life_of_process(*owner) != ProcessLife::Dead) continue;
    const auto stat = files.read(left / kCommand);
    // It is first of its process group.
    if (const auto pid = stat.ok() ? living_process(*stat) : std::nullopt) ::kill(-*pid, SIGKILL);
    (void)files.remove_all(left);
  }
}

}  // namespace mist::catalog
