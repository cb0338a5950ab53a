#pragma once
// Programs within limits of the system, for those that work on what strangers give: git. Any thread.

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/process.h"

namespace mist {

/// Of the program and of each process that it starts, each by itself. Nothing: as here.
struct ProcessLimits {
  std::optional<std::uint64_t> memory_bytes = {};  ///< of addresses: allocations fail (RLIMIT_AS)
  std::optional<std::chrono::seconds> processor_time =
      {};  ///< SIGXCPU, and a second later SIGKILL (RLIMIT_CPU)
};

class LimitedProcessRunner final : public ProcessRunner {
 public:
  explicit LimitedProcessRunner(const ProcessLimits& limits) : limits_(limits) {}
  Result<ProcessResult> run(const Command& command, const Context& context) override;

 private:
  ProcessLimits limits_;
};

}  // namespace mist
