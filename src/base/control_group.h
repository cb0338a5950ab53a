#pragma once
// Limits on a program and all that it starts, which the kernel keeps to: control groups of version 2
// (cgroups(7), Documentation/admin-guide/cgroup-v2.rst), below the one that this process was given to divide,
// as systemd does with Delegate=yes. Any thread, after make().

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fs.h"
#include "base/process.h"
#include "base/result.h"

namespace mist {

struct GroupLimits {
  std::uint64_t memory_bytes = 0;  ///< with files in memory, and without swap; above it, all of it is killed
  std::uint64_t tasks = 0;         ///< processes and threads; above it, none can be started
  unsigned processors = 0;         ///< worth of time
};

/// One group. It is removed with this, and whatever still runs in it is killed.
class ControlGroup {
 public:
  explicit ControlGroup(Path directory) : directory_(std::move(directory)) {}
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  ~ControlGroup();

  /// The same program, in this group from its beginning on.
  Command inside(Command command) const;
  /// Whether the kernel killed a process in it for want of memory.
  bool ran_out_of_memory() const;
  /// Whether a process or thread couldn't be started in it, since there would have been too many.
  bool ran_out_of_tasks() const;
  const Path& directory() const { return directory_; }

 private:
  Path directory_;
};

/// The places of control groups on this machine; others in tests.
struct GroupPlaces {
  Path mount = "/sys/fs/cgroup";
  Path own = "/proc/self/cgroup";
};

/// The part of the tree that is ours to divide.
class ControlGroups {
 public:
  /// Moves this process, and what it has started, into a group "worker" below, since a group with limits on
  /// its children may hold no processes. Errors: NotFound (version 2 isn't mounted, or it has no memory and
  /// tasks to divide), Forbidden (it isn't ours: not writable, or others are in it).
  static Result<std::unique_ptr<ControlGroups>> make(const GroupPlaces& places = {});

  /// Errors: of the file system.
  Result<std::unique_ptr<ControlGroup>> add(const GroupLimits& limits);

 private:
  explicit ControlGroups(Path directory) : directory_(std::move(directory)) {}

  Path directory_;
  std::atomic<unsigned> made_ = 0;
};

}  // namespace mist
