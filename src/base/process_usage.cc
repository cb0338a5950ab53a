#include "base/process_usage.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/proc_stat.h"

namespace mist {
namespace {

struct Process {
  pid_t parent = 0;
  std::uint64_t ticks = 0;
  std::uint64_t threads = 0;
};

std::optional<Process> read_process(std::string_view pid) {
  constexpr std::size_t kParent = 4, kUserTime = 14, kSystemTime = 15, kChildrenUserTime = 16,
                        kChildrenSystemTime = 17, kThreads = 20;
  const auto stat = ProcStat::read(pid);
  if (!stat || stat->field(kThreads).empty()) return std::nullopt;
  return Process{.parent = static_cast<pid_t>(stat->number(kParent)),
                 .ticks = stat->number(kUserTime) + stat->number(kSystemTime) +
                          stat->number(kChildrenUserTime) + stat->number(kChildrenSystemTime),
                 .threads = stat->number(kThreads)};
}

std::uint64_t own_memory(pid_t pid) {
  const ProcMemory memory = memory_of_process(std::to_string(pid));
  return memory.resident > memory.shared ? memory.resident - memory.shared : 0;
}

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return found;
  while (const dirent* const entry = ::readdir(directory.get())) {
    pid_t pid = 0;
    const std::string_view name = entry->d_name;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 0) continue;
    if (const auto process = read_process(name)) found.emplace(pid, *process);
  }
  return found;
}

}  // namespace

ProcessUsage usage_of_process_tree(pid_t pid) {
  const std::map<pid_t, Process> all = all_processes();
  if (!all.contains(pid)) return {};
  std::multimap<pid_t, pid_t> children;
  for (const auto& [each, process] : all) children.emplace(process.parent, each);
  ProcessUsage usage;
  std::uint64_t ticks = 0;
  std::vector<pid_t> left{pid};
  while (!left.empty()) {
    const pid_t next = left.back();
    left.pop_back();
    const Process& process = all.at(next);
    usage.threads += process.threads;
    ticks += process.ticks;
    usage.memory_bytes += own_memory(next);
    const auto [first, last] = children.equal_range(next);
    for (auto child = first; child != last; ++child) left.push_back(child->second);
  }
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  usage.processor_time = std::chrono::milliseconds(ticks * 1000 / ticks_per_second);
  return usage;
}

std::vector<pid_t> process_tree(pid_t pid) {
  const std::map<pid_t, Process> all = all_processes();
  std::vector<pid_t> tree{pid};
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const auto& [each, process] : all)
      if (process.parent == tree[i]) tree.push_back(each);
  return tree;
}

std::size_t tasks_of_user(uid_t user) {
  std::size_t tasks = 0;
  for (const auto& [pid, process] : all_processes()) {
    struct stat info{};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &info) == 0 && info.st_uid == user)
      tasks += process.threads;
  }
  return tasks;
}

}  // namespace mist
