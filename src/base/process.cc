#include "base/process.h"
#include "base/process_limits.h"
#include "base/process_usage.h"
#include "base/task_group.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

extern char** environ;

namespace mist {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    Error failure = error(ErrorKind::Internal, "cannot create a pipe");
    failure.because = std::strerror(errno);
    return failure;
  }
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// A pipe takes so much at once.
static_assert(kMostThird <= PIPE_BUF);
Status give(UniqueFd pipe, std::string_view content) {
  if (content.size() > kMostThird ||
      ::write(pipe.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
    return error(ErrorKind::Internal, "cannot give a program {} bytes in a pipe", content.size());
  return {};
}

std::map<std::string, std::string> our_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos)
      variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return variables;
}

std::vector<std::string> merged_environment(const Command& command) {
  std::map<std::string, std::string> variables;
  if (command.environment == BaseEnvironment::Ours) variables = our_environment();
  for (const auto& [name, value] : command.env) {
    if (value)
      variables[name] = *value;
    else
      variables.erase(name);
  }
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The output of a program on one stream so far. Where `tell` is set, it gets what comes, and nothing is kept.
struct Output {
  std::string& kept;
  const std::function<void(std::string_view)>& tell;
  std::uint64_t told = 0;
};

// Reads what is there; false at end of file.
bool drain(int fd, Output& into, std::uint64_t limit, bool& over) {
  std::array<char, 65536> buffer;
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  const std::string_view came(buffer.data(), static_cast<std::size_t>(n));
  if (into.kept.size() + into.told + came.size() > limit) {
    over = true;
  } else if (into.tell) {
    into.told += came.size();
    into.tell(came);
  } else {
    into.kept.append(came);
  }
  return true;
}

// nullopt: it has ended, and somebody else took its status.
std::optional<int> wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// How long a program goes on after its context has ended: as Command::farewell says.
class Ending {
 public:
  explicit Ending(const Command& command) : farewell_(command.farewell) {}

  /// Whether it has to be killed now. The first time it is told to end, if it can be.
  bool is_over(UniqueFd& input) {
    if (!farewell_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (!until_) {
      until_ = now + *farewell_;
      input.reset();
    }
    return now >= *until_;
  }

 private:
  const std::optional<std::chrono::milliseconds>& farewell_;
  std::optional<std::chrono::steady_clock::time_point> until_;
};

// Takes the status of processes that the program started, and left to us when it ended: the first process of
// a container is everybody's parent in the end. There are none where another process is that. False: some go
// on (WNOHANG).
bool reap_rest(pid_t group, int flags) {
  for (;;) {
    const pid_t ended = ::waitpid(-group, nullptr, flags);
    if (ended == 0 || (ended < 0 && errno != EINTR)) return ended != 0;
  }
}

// Groups of programs that ended before what they started did, as git does before its helper. Each later run
// looks whether that has ended; the number of a group isn't used again as long as one is in it.
class LeftGroups {
 public:
  void reap() {
    const std::scoped_lock lock(mutex_);
    std::erase_if(groups_, [](pid_t group) { return reap_rest(group, WNOHANG); });
  }
  /// The program of that group has ended, and its status was taken.
  void ended(pid_t group) {
    const std::scoped_lock lock(mutex_);
    if (!reap_rest(group, WNOHANG)) groups_.push_back(group);
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> groups_;  // guarded by mutex_
};
LeftGroups& left_groups() {
  static LeftGroups groups;
  return groups;
}

// Without taking its status. Where SIGCHLD is ignored, the kernel takes that, and the child is gone at once.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD;
  return info.si_pid == pid;
}

// Forwards a program's stderr to its command's callback while the program runs.
class StderrForwarder {
 public:
  explicit StderrForwarder(const Command& command) : tell_(command.on_stderr) {}
  void forward(const std::string& text) {
    if (!tell_ || text.size() == told_) return;
    const auto now = std::chrono::steady_clock::now();
    if (!since_) since_ = now;
    if (now - *since_ < std::chrono::milliseconds(300)) return;
    tell_(std::string_view(text).substr(told_));
    told_ = text.size();
    since_.reset();
  }

 private:
  const std::function<void(std::string_view)>& tell_;
  std::size_t told_ = 0;
  std::optional<std::chrono::steady_clock::time_point> since_;
};

// A limit that somebody set lower stays.
void limit_one(pid_t pid, decltype(RLIMIT_AS) which, rlim_t soft, rlim_t hard) {
  rlimit limit{};
  if (::prlimit(pid, which, nullptr, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, hard);
  limit.rlim_cur = std::min(limit.rlim_max, soft);
  ::prlimit(pid, which, &limit, nullptr);
}

// From outside, because posix_spawn knows no limits: a program that just began has used nothing, and has no
// children.
void limit_process(pid_t pid, const Command& command, const ProcessLimits& limits) {
  if (command.file_limit) limit_one(pid, RLIMIT_FSIZE, *command.file_limit, *command.file_limit);
  if (limits.memory_bytes) limit_one(pid, RLIMIT_AS, *limits.memory_bytes, *limits.memory_bytes);
  if (limits.processor_time) {
    const auto seconds = static_cast<rlim_t>(limits.processor_time->count());
    limit_one(pid, RLIMIT_CPU, seconds, seconds + 1);
  }
  // Since Linux 5.14, it counts in a user namespace what runs there, and before that, all that its user runs.
  // It binds everybody but root.
  if (command.tree.threads && ::getuid() != 0) {
    constexpr std::size_t kMargin = 64;
    const rlim_t most = tasks_of_user(::getuid()) + *command.tree.threads + kMargin;
    limit_one(pid, RLIMIT_NPROC, most, most);
  }
}

// Looks now and then whether a program and its descendants use more than they may.
class Watch {
 public:
  Watch(pid_t pid, const Command& command) : pid_(pid), limits_(command.tree) {
    // Moving it would take it out of the group that it is in.
    if (limits_.threads && !command.in_control_group) group_ = TaskGroup::make(*limits_.threads);
    if (group_ && !group_->add(pid_)) group_.reset();
    if (group_) add_descendants();
  }

  /// Whether something couldn't be started: also by a program that has ended since.
  bool ran_out_of_tasks() const { return group_ && group_->was_reached(); }

  std::optional<TreeLimit> look() {
    constexpr std::chrono::milliseconds kBetween{50};
    if (!limits_.threads && !limits_.memory_bytes && !limits_.processor_time) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return std::nullopt;
    if (ran_out_of_tasks()) return TreeLimit::Threads;
    const ProcessUsage usage = usage_of_process_tree(pid_);
    // On a machine with very many processes, looking takes a while itself.
    const auto end = std::chrono::steady_clock::now();
    next_ = end + std::max<std::chrono::steady_clock::duration>(kBetween, 4 * (end - now));
    if (limits_.threads && usage.threads > *limits_.threads) return TreeLimit::Threads;
    if (limits_.memory_bytes && usage.memory_bytes > *limits_.memory_bytes) return TreeLimit::Memory;
    if (limits_.processor_time && usage.processor_time > *limits_.processor_time)
      return TreeLimit::ProcessorTime;
    return std::nullopt;
  }

 private:
  // Bubblewrap may have begun its sandbox before, but not what runs in it. A child that was outside may have
  // had children before it was moved, too.
  void add_descendants() {
    constexpr int kGenerations = 4;
    std::set<pid_t> added{pid_};
    for (int i = 0; i < kGenerations; ++i) {
      const std::size_t before = added.size();
      for (const pid_t each : process_tree(pid_))
        if (added.insert(each).second) (void)group_->add(each);
      if (added.size() == before) return;
    }
  }

  pid_t pid_;
  const TreeLimits& limits_;
  std::unique_ptr<TaskGroup> group_;            // null: nobody but us keeps to the number of threads
  std::chrono::steady_clock::time_point next_;  // the first time at once
};

class SpawnActions {
 public:
  SpawnActions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // An own process group, so that a time-out reaches the children of the program too; default signals,
    // because we ignore SIGPIPE and handle SIGINT.
    sigset_t all;
    sigemptyset(&all);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&all, signal);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  void dup(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  /// Sockets of servers and of libraries that open them without FD_CLOEXEC: a child that lives on would keep
  /// our port, and the script of a package would have our connections.
  void close_from(int first) { posix_spawn_file_actions_addclosefrom_np(&actions_, first); }
  void chdir(const char* path) { posix_spawn_file_actions_addchdir_np(&actions_, path); }
  void flags(bool own_group) {
    const int bits = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
    posix_spawnattr_setflags(&attributes_, static_cast<short>(bits));
  }
  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

Result<ProcessResult> run_within(const ProcessLimits& limits, const Command& command,
                                 const Context& context) {
  MIST_TRY_VOID(context.check());
  MIST_TRY(Pipe in, make_pipe());
  MIST_TRY(Pipe out, make_pipe());
  MIST_TRY(Pipe err, make_pipe());
  Pipe third;
  if (!command.third.empty()) {
    MIST_TRY(third, make_pipe());
  }

  left_groups().reap();
  // A program that talks to the user on the terminal must stay in our group, or reading the terminal stops
  // it.
  const bool own_group = !command.inherit_stdin;
  SpawnActions spawn;
  spawn.flags(own_group);
  if (!command.inherit_stdin) spawn.dup(in.read.get(), 0);
  spawn.dup(out.write.get(), 1);
  if (!command.inherit_stderr) spawn.dup(err.write.get(), 2);
  constexpr int kThird = STDERR_FILENO + 1;
  if (!command.third.empty()) spawn.dup(third.read.get(), kThird);
  spawn.close_from(command.third.empty() ? kThird : kThird + 1);
  if (!command.directory.empty()) spawn.chdir(command.directory.c_str());

  std::vector<std::string> argument_text{command.program};
  argument_text.insert(argument_text.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment_text = merged_environment(command);
  pid_t pid = 0;
  const int code = ::posix_spawnp(&pid, command.program.c_str(), spawn.actions(), spawn.attributes(),
                                  pointers(argument_text).data(), pointers(environment_text).data());
  if (code != 0) {
    Error failure =
        error(code == ENOENT ? ErrorKind::NotFound : ErrorKind::Internal, "cannot run {}", command.program);
    failure.because = std::strerror(code);
    if (code == ENOENT) failure.hint = fmt::format("install {}, or add its folder to PATH", command.program);
    return failure;
  }
  limit_process(pid, command, limits);
  in.read.reset();
  out.write.reset();
  err.write.reset();
  ::fcntl(in.write.get(), F_SETFL, O_NONBLOCK);

  const auto end_it = [&] {
    ::kill(own_group ? -pid : pid, SIGKILL);
    wait_for(pid);
    if (own_group) reap_rest(pid, 0);
  };
  const auto abandon = [&](Error failure) {
    end_it();
    return std::move(failure).with_frame(fmt::format("while running {}", command.program));
  };

  Watch watch(pid, command);
  // Only now: a program that reads this first begins within its limits. Also where it has ended, since we
  // have both ends.
  if (!command.third.empty())
    if (Status given = give(std::move(third.write), command.third); !given)
      return abandon(std::move(given).error());
  third.read.reset();
  ProcessResult result;
  std::string_view input = command.input;
  bool over = false;
  Output from_out{result.out, command.on_stdout};
  const std::function<void(std::string_view)> nobody;
  Output from_err{result.err, nobody};
  Ending ending(command);
  if (command.inherit_stderr) err.read.reset();
  StderrForwarder forwarder(command);
  // Readable when the program ends; without it (before Linux 5.3) the loop looks now and then.
  UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // A child of the program that lives on with its stderr isn't waited for.
  while (out.read || !has_ended(pid)) {
    if (Status go_on = context.check(); !go_on && ending.is_over(in.write))
      return abandon(std::move(go_on).error());
    if (over)
      return abandon(
          error(ErrorKind::Invalid, "{} printed more than {} bytes", command.program, command.output_limit));
    result.exceeded = watch.look();
    if (result.exceeded) {
      end_it();
      result.exit_code = 128 + SIGKILL;
      return result;
    }
    if (input.empty() && !command.farewell) in.write.reset();
    const int to_write = input.empty() ? -1 : in.write.get();
    std::array<pollfd, 4> fds{pollfd{out.read.get(), POLLIN, 0}, pollfd{err.read.get(), POLLIN, 0},
                              pollfd{to_write, POLLOUT, 0}, pollfd{end.get(), POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), 50) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0 && !drain(out.read.get(), from_out, command.output_limit, over)) out.read.reset();
    if (fds[1].revents != 0 && !drain(err.read.get(), from_err, command.output_limit, over)) err.read.reset();
    if (fds[3].revents != 0) end.reset();
    forwarder.forward(result.err);
    if (fds[2].revents != 0) {
      const ssize_t n = ::write(in.write.get(), input.data(), input.size());  // SIGPIPE is ignored by main
      if (n > 0)
        input.remove_prefix(static_cast<std::size_t>(n));
      else if (n < 0 && errno != EAGAIN && errno != EINTR)
        input = {};
    }
  }
  while (err.read && !over) {
    pollfd rest{err.read.get(), POLLIN, 0};
    if (::poll(&rest, 1, 0) <= 0 || !drain(rest.fd, from_err, command.output_limit, over)) break;
  }
  in.write.reset();
  const std::optional<int> exit_code = wait_for(pid);
  if (own_group) left_groups().ended(pid);
  if (!exit_code)
    return error(ErrorKind::Internal, "{} has ended, and nobody knows how", command.program)
        .with_because("this process ignores SIGCHLD, so the kernel took its exit code");
  result.exit_code = *exit_code;
  if (watch.ran_out_of_tasks()) result.exceeded = TreeLimit::Threads;
  return result;
}

}  // namespace

Result<ProcessResult> HostProcessRunner::run(const Command& command, const Context& context) {
  return run_within({}, command, context);
}

Result<ProcessResult> LimitedProcessRunner::run(const Command& command, const Context& context) {
  return run_within(limits_, command, context);
}

}  // namespace mist
