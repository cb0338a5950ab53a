#include "operator/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/proc_stat.h"

namespace mist::operator_ {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Since the machine started.
std::optional<double> start_since_boot() {
  constexpr std::size_t kStart = 22;
  const auto stat = ProcStat::read("self");
  if (!stat || stat->field(kStart).empty()) return std::nullopt;
  return static_cast<double>(stat->number(kStart)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// When the machine started: the line btime of /proc/stat.
std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  constexpr std::string_view kName = "\nbtime ";
  const auto found = text.find(kName);
  if (found == std::string::npos) return std::nullopt;
  return std::strtod(text.c_str() + found + kName.size(), nullptr);
}

}  // namespace

ProcessMetrics process_metrics() {
  ProcessMetrics use{.resident_bytes = memory_of_process("self").resident};
  rusage spent{};
  if (::getrusage(RUSAGE_SELF, &spent) == 0)
    use.cpu_seconds = seconds_of(spent.ru_utime) + seconds_of(spent.ru_stime);
  const auto boot = boot_time(), start = start_since_boot();
  if (boot && start) use.start_seconds = *boot + *start;
  return use;
}

}  // namespace mist::operator_
