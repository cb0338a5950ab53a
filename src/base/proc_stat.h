#pragma once
// Facts about a process from /proc/PID/stat and /proc/PID/statm (proc_pid_stat(5), proc_pid_statm(5)). Plain
// values; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mist {

class ProcStat {
 public:
  /// Of the process with that number, or "self". nullopt: there is none.
  static std::optional<ProcStat> read(std::string_view pid);

  /// By the number that the manual gives it, from 3 (the state) on; empty: this kernel doesn't have it.
  std::string_view field(std::size_t number) const;
  /// The same of a field that is a number; 0: it isn't one.
  std::uint64_t number(std::size_t field) const;

 private:
  std::vector<std::string> fields_;  // from the third on
};

/// The memory of a process, in bytes. All zero: it can't be read.
struct ProcMemory {
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;  ///< of it: pages of files, and shared memory
};
ProcMemory memory_of_process(std::string_view pid);

}  // namespace mist
