#include "base/process_identity.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/proc_stat.h"
#include "base/text.h"

namespace mist {
namespace {

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file && text.empty()) return std::nullopt;
  return std::string(trim(text));
}

std::string pid_namespace() {
  std::array<char, 64> target{};
  const auto length = ::readlink("/proc/self/ns/pid", target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

// In ticks since the machine started. Nothing: it has ended.
std::optional<std::string> start_of(std::string_view pid) {
  constexpr std::size_t kState = 3, kStart = 22;
  const auto stat = ProcStat::read(pid);
  if (!stat || stat->field(kStart).empty() || stat->field(kState) == "Z" || stat->field(kState) == "X")
    return std::nullopt;
  return std::string(stat->field(kStart));
}

std::string place() {
  const auto boot = text_of("/proc/sys/kernel/random/boot_id");
  const std::string numbers = pid_namespace();
  return boot && !boot->empty() && !numbers.empty() ? fmt::format("{}/{}", *boot, numbers) : std::string();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string own_process() {
  const std::string pid = std::to_string(::getpid()), here = place();
  const auto start = start_of(pid);
  return here.empty() || !start ? std::string() : fmt::format("{}/{}/{}", here, pid, *start);
}

ProcessLife life_of_process(std::string_view identity) {
  const auto parts = split(identity, '/');
  const std::string here = place();
  if (parts.size() != 4 || here.empty() || fmt::format("{}/{}", parts[0], parts[1]) != here)
    return ProcessLife::Unknown;
  if (parts[2].empty() || parts[2].find_first_not_of("0123456789") != std::string_view::npos)
    return ProcessLife::Unknown;
  const auto start = start_of(parts[2]);
  return start && *start == parts[3] ? ProcessLife::Alive : ProcessLife::Dead;
}

}  // namespace mist
