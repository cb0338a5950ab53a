#include "base/control_group.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <vector>

#include "base/kernel_setting.h"
#include "base/proc_stat.h"
#include "base/text.h"

namespace mist {
namespace {

constexpr std::string_view kProcesses = "cgroup.procs";
constexpr std::string_view kControllers = "cgroup.controllers";
constexpr std::string_view kDivided = "cgroup.subtree_control";
constexpr std::string_view kWorker = "worker";

// "0::/system.slice/catalog.service", in a line of its own.
Result<Path> group_of_us(const GroupPlaces& places) {
  constexpr std::string_view kUnified = "0::/";
  MIST_TRY(const std::string text, read_kernel_setting(places.own));
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(kUnified) && line.size() > kUnified.size())
      return places.mount / line.substr(kUnified.size());
  return error(ErrorKind::NotFound, "this process has no control group of its own");
}

std::vector<pid_t> processes_in(std::string_view text) {
  std::vector<pid_t> found;
  for (const std::string_view line : split(text, '\n')) {
    pid_t pid = 0;
    std::from_chars(line.data(), line.data() + line.size(), pid);
    if (pid > 0) found.push_back(pid);
  }
  return found;
}

// We, or something that we started, or that this did.
bool is_ours(pid_t pid) {
  constexpr std::size_t kParent = 4;
  constexpr int kDeepest = 64;
  for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
    if (pid == ::getpid()) return true;
    const auto stat = ProcStat::read(std::to_string(pid));
    if (!stat) return true;  // it has ended
    pid = static_cast<pid_t>(stat->number(kParent));
  }
  return false;
}

Status move_all(const Path& from, const Path& to) {
  MIST_TRY(const std::string text, read_kernel_setting(from / kProcesses));
  for (const pid_t pid : processes_in(text)) {
    if (!is_ours(pid))
      return error(ErrorKind::Forbidden, "the control group {} holds processes that aren't ours",
                   from.string());
    // One that has ended meanwhile isn't there to be moved.
    const Status moved = write_kernel_setting(to / kProcesses, std::to_string(pid));
    if (!moved.ok() && ProcStat::read(std::to_string(pid))) return moved;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ControlGroups>> ControlGroups::make(const GroupPlaces& places) {
  MIST_TRY(const Path own, group_of_us(places));
  const auto controllers = read_kernel_setting(own / kControllers);
  if (!controllers.ok() || !has_word(*controllers, "memory") || !has_word(*controllers, "pids"))
    return error(ErrorKind::NotFound, "the control group {} has no memory and tasks to divide", own.string());
  if (::access((own / kProcesses).c_str(), W_OK) != 0 || ::access((own / kDivided).c_str(), W_OK) != 0)
    return error(ErrorKind::Forbidden, "the control group {} isn't ours to divide", own.string());
  const Path worker = own / kWorker;
  MIST_TRY_VOID(HostFileSystem().make_directories(worker));
  MIST_TRY_VOID(move_all(own, worker));
  MIST_TRY_VOID(write_kernel_setting(own / kDivided,
                                     has_word(*controllers, "cpu") ? "+memory +pids +cpu" : "+memory +pids"));
  return std::unique_ptr<ControlGroups>(new ControlGroups(own));
}

Result<std::unique_ptr<ControlGroup>> ControlGroups::add(const GroupLimits& limits) {
  const Path directory = directory_ / fmt::format("test-{}-{}", ::getpid(), ++made_);
  MIST_TRY_VOID(HostFileSystem().make_directories(directory));
  auto group = std::make_unique<ControlGroup>(directory);
  MIST_TRY_VOID(write_kernel_setting(directory / "memory.max", std::to_string(limits.memory_bytes)));
  MIST_TRY_VOID(write_kernel_setting(directory / "pids.max", std::to_string(limits.tasks)));
  // Kernels without swap, or older than these files, have none of them.
  (void)write_kernel_setting(directory / "memory.swap.max", "0");
  (void)write_kernel_setting(directory / "memory.oom.group", "1");
  constexpr unsigned kPeriod = 100'000;  // microseconds
  (void)write_kernel_setting(directory / "cpu.max",
                             fmt::format("{} {}", limits.processors * kPeriod, kPeriod));
  return group;
}

Command ControlGroup::inside(Command command) const {
  // The shell moves itself, so that nothing of the program runs outside.
  command.arguments.insert(command.arguments.begin(), {"-c", "echo 0 >\"$0\" && exec \"$@\"",
                                                       (directory_ / kProcesses).string(), command.program});
  command.program = "/bin/sh";
  command.in_control_group = true;
  return command;
}

bool ControlGroup::ran_out_of_memory() const {
  return kernel_count(directory_ / "memory.events", "oom_kill") > 0;
}

bool ControlGroup::ran_out_of_tasks() const { return kernel_count(directory_ / "pids.events", "max") > 0; }

ControlGroup::~ControlGroup() {
  (void)write_kernel_setting(directory_ / "cgroup.kill", "1");
  remove_control_group(directory_);
}

}  // namespace mist
