#include "operator/process_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/text.h"

namespace mist::operator_ {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Field 2 of /proc/self/statm, in pages.
std::uint64_t resident_bytes() {
  const std::string text = text_of("/proc/self/statm");
  const auto fields = split(text, ' ');
  if (fields.size() < 2) return 0;
  return std::strtoull(std::string(fields[1]).c_str(), nullptr, 10) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Field 22 of proc_pid_stat(5), in ticks since the machine started. The name in field 2 may hold anything, so
// fields are counted from the bracket that ends it.
std::optional<double> start_since_boot() {
  const std::string text = text_of("/proc/self/stat");
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  const auto fields = split(trim(std::string_view(text).substr(bracket + 1)), ' ');
  constexpr std::size_t kStart = 22 - 3;
  if (fields.size() <= kStart) return std::nullopt;
  return std::strtod(std::string(fields[kStart]).c_str(), nullptr) /
         static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// When the machine started: the line btime of /proc/stat.
std::optional<double> boot_time() {
  const std::string text = text_of("/proc/stat");
  constexpr std::string_view kName = "\nbtime ";
  const auto found = text.find(kName);
  if (found == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + found + kName.size(), nullptr);
}

}  // namespace

ProcessUse own_use() {
  ProcessUse use{.resident_bytes = resident_bytes()};
  rusage spent{};
  if (::getrusage(RUSAGE_SELF, &spent) == 0)
    use.cpu_seconds = seconds_of(spent.ru_utime) + seconds_of(spent.ru_stime);
  const auto boot = boot_time(), start = start_since_boot();
  if (boot && start) use.start_seconds = *boot + *start;
  return use;
}

}  // namespace mist::operator_
