#pragma once
// The usage of a process and all that it started, as /proc shows it now. For limits on a program as a whole:
// those of setrlimit are of each process by itself, and the one on the number of processes doesn't bind root.
// Any thread.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace mist {

struct ProcessUsage {
  std::size_t threads = 0;  ///< of all processes; each has at least one
  /// Memory of their own: without that of files, and without shared memory. Pages that processes share since
  /// a fork count in each.
  std::uint64_t memory_bytes = 0;
  std::chrono::milliseconds processor_time{};  ///< also of children that have ended and were waited for
};

/// Of `pid` and its descendants: a child whose parent has ended counts only where its new parent is one of
/// them, as in a PID namespace that one of them is the first process of. All zero: there is no such process.
ProcessUsage usage_of_process_tree(pid_t pid);

/// `pid` and its descendants, as above.
std::vector<pid_t> process_tree(pid_t pid);

/// The processes and threads of a user, as RLIMIT_NPROC counts them.
std::size_t tasks_of_user(uid_t user);

}  // namespace mist
