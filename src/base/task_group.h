#pragma once
// A bound on the processes and threads of a program which the kernel keeps to, also for root, whom
// RLIMIT_NPROC doesn't bind: a group of the pids controller (Documentation/admin-guide/cgroup-v1/pids.rst and
// cgroup-v2.rst) beside or below our own. Any thread.

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "base/control_group.h"

namespace mist {

/// One group. It is removed with this, as soon as nothing runs in it any more.
class TaskGroup {
 public:
  /// Null: this machine has no such controller, or none that we may divide. Groups of processes that were
  /// killed go on the way.
  static std::unique_ptr<TaskGroup> make(std::size_t most, const GroupPlaces& places = {});
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup();

  /// Moves a program here; what it starts from then on is here, too. False: it is as it was.
  bool add(pid_t pid) const;
  /// Whether something here could not be started since there would have been too many.
  bool was_reached() const;
  const Path& directory() const { return directory_; }

 private:
  explicit TaskGroup(Path directory) : directory_(std::move(directory)) {}

  Path directory_;
};

}  // namespace mist
