#include "base/task_group.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/kernel_setting.h"
#include "base/proc_stat.h"
#include "base/text.h"

namespace mist {
namespace {

constexpr std::string_view kController = "pids";
constexpr std::string_view kPrefix = "mistletoe-";

// Version 1: each group may be divided. "8:pids:/user.slice", where other controllers may stand beside it.
std::optional<Path> group_of_version_1(const GroupPlaces& places, std::string_view line) {
  const auto fields = split(line, ':');
  if (fields.size() < 3) return std::nullopt;
  const auto controllers = split(fields[1], ',');
  if (std::ranges::find(controllers, kController) == controllers.end()) return std::nullopt;
  const std::string_view path = line.substr(fields[0].size() + fields[1].size() + 3);
  return places.mount / fields[1] / path;
}

// Version 2: a group with processes can't be divided, so it is the one above ours, which is.
std::optional<Path> group_of_version_2(const GroupPlaces& places, std::string_view line) {
  constexpr std::string_view kUnified = "0::/";
  if (!line.starts_with(kUnified) || line.size() == kUnified.size()) return std::nullopt;
  Path above = (places.mount / line.substr(kUnified.size())).parent_path();
  const auto divided = read_kernel_setting(above / "cgroup.subtree_control");
  if (!divided.ok() || !has_word(*divided, kController)) return std::nullopt;
  return above;
}

std::optional<Path> group_to_divide(const GroupPlaces& places) {
  const auto text = read_kernel_setting(places.own);
  if (!text.ok()) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    auto found = group_of_version_1(places, line);
    if (!found) found = group_of_version_2(places, line);
    // In a container, the path may be one of the host, which isn't here.
    if (found && ::access(found->c_str(), W_OK) == 0) return found;
  }
  return std::nullopt;
}

// Those of processes that were killed before they could do it: "mistletoe-<process>-<number>".
void remove_left_groups(const Path& above) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(above, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    pid_t pid = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
    if (pid > 0 && pid != ::getpid() && !ProcStat::read(std::to_string(pid))) ::rmdir(entry.path().c_str());
  }
}

}  // namespace

std::unique_ptr<TaskGroup> TaskGroup::make(std::size_t most, const GroupPlaces& places) {
  static std::atomic<unsigned> made = 0;
  const auto above = group_to_divide(places);
  if (!above) return nullptr;
  remove_left_groups(*above);
  const Path directory = *above / fmt::format("{}{}-{}", kPrefix, ::getpid(), ++made);
  if (::mkdir(directory.c_str(), 0755) != 0) return nullptr;
  std::unique_ptr<TaskGroup> group(new TaskGroup(directory));
  if (!write_kernel_setting(directory / "pids.max", std::to_string(most)).ok()) return nullptr;
  return group;
}

bool TaskGroup::add(pid_t pid) const {
  return write_kernel_setting(directory_ / "cgroup.procs", std::to_string(pid)).ok();
}

bool TaskGroup::was_reached() const { return kernel_count(directory_ / "pids.events", "max") > 0; }

TaskGroup::~TaskGroup() { remove_control_group(directory_); }

}  // namespace mist
