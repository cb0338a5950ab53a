#include "base/process_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/handle.h"
#include "base/text.h"

namespace mist {
namespace {

// proc_pid_stat(5) and proc_pid_statm(5), in ticks and pages.
struct Process {
  pid_t parent = 0;
  std::uint64_t ticks = 0;
  std::uint64_t threads = 0;
};

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A file of /proc that fits: it has no size, and is read in one piece. Empty: the process has ended.
std::string_view read_small(const char* path, std::array<char, 1024>& buffer) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  return size > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(size)) : std::string_view();
}

// The name in field 2 may hold anything, so fields are counted from the bracket that ends it.
std::optional<Process> read_process(const char* pid) {
  std::array<char, 1024> buffer;
  const std::string_view stat = read_small(fmt::format("/proc/{}/stat", pid).c_str(), buffer);
  const auto bracket = stat.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  const auto fields = split(trim(stat.substr(bracket + 1)), ' ');
  constexpr std::size_t kParent = 4 - 3, kUserTime = 14 - 3, kSystemTime = 15 - 3, kChildrenUserTime = 16 - 3,
                        kChildrenSystemTime = 17 - 3, kThreads = 20 - 3;
  if (fields.size() <= kThreads) return std::nullopt;
  return Process{.parent = static_cast<pid_t>(number(fields[kParent])),
                 .ticks = number(fields[kUserTime]) + number(fields[kSystemTime]) +
                          number(fields[kChildrenUserTime]) + number(fields[kChildrenSystemTime]),
                 .threads = number(fields[kThreads])};
}

std::uint64_t own_pages(pid_t pid) {
  std::array<char, 1024> buffer;
  const auto fields = split(trim(read_small(fmt::format("/proc/{}/statm", pid).c_str(), buffer)), ' ');
  if (fields.size() < 3) return 0;
  const std::uint64_t resident = number(fields[1]), shared = number(fields[2]);
  return resident > shared ? resident - shared : 0;
}

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return found;
  while (const dirent* const entry = ::readdir(directory.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (const auto process = read_process(entry->d_name))
      found.emplace(static_cast<pid_t>(number(entry->d_name)), *process);
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
  std::uint64_t pages = 0, ticks = 0;
  std::vector<pid_t> left{pid};
  while (!left.empty()) {
    const pid_t next = left.back();
    left.pop_back();
    const Process& process = all.at(next);
    usage.threads += process.threads;
    ticks += process.ticks;
    pages += own_pages(next);
    const auto [first, last] = children.equal_range(next);
    for (auto child = first; child != last; ++child) left.push_back(child->second);
  }
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  usage.memory_bytes = pages * page_size;
  usage.processor_time = std::chrono::milliseconds(ticks * 1000 / ticks_per_second);
  return usage;
}

}  // namespace mist
