#pragma once
// The resources that this process uses, as Prometheus' process_… metrics have it. Reads /proc; any thread.

#include <cstdint>

namespace mist::operator_ {

struct ProcessMetrics {
  std::uint64_t resident_bytes = 0;  ///< 0: it can't be read
  double cpu_seconds = 0;            ///< user and system time of all its threads, since its start
  double start_seconds = 0;          ///< when it started, since 1970; 0: it can't be read
};

ProcessMetrics process_metrics();

}  // namespace mist::operator_
