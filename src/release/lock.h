#pragma once
// The right to write to a release: an annotation on its anchor, taken and renewed under the anchor's
// resourceVersion. A thread renews it; who can't renew in time is stopped through context() before anybody
// else may take over, because a taker waits a whole term, on its own clock, from the last change that it saw.
// No clocks are compared. The holder counts in boot time, which goes on while its machine sleeps; a taker in
// steady time, so that a taker that slept waits longer, never shorter.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/process_identity.h"
#include "base/random.h"
#include "release/store.h"

namespace mist::release {

/// The detail of a Conflict: somebody living has the lock.
struct LockHeld {};

struct LockOptions {
  std::string holder;                           ///< "alice@laptop pid 4711"
  std::string operation;                        ///< "upgrade"
  Duration term = std::chrono::seconds(15);     ///< how long a silent holder keeps it
  Duration max_wait = std::chrono::seconds(0);  ///< how long to wait for a living holder; 0: refuse at once
  std::string process = {};                     ///< own_process() of the holder
  /// The lock whose holder await_silence() saw to be dead; nullopt: it was not asked.
  std::optional<Lock> silent_lock = {};
};

/// The services that every lock needs. Plain references; they outlive the lock.
struct LockDependencies {
  Store& store;
  kube::Client& client;
  Clock& clock;
  Random& random;
  EventSink& events;
  /// life_of_process(), by which a holder that died on this machine is told from one that lives; empty:
  /// nobody knows.
  std::function<ProcessLife(std::string_view process)> life = {};
};

class ReleaseLock {
 public:
  /// Whether its holder is known to be dead, or its renewal time looks old, whatever the clocks: then
  /// await_silence() waits for a term, even with a max_wait of 0. Nothing is asked of the server.
  static bool looks_dead(const LockDependencies& dependencies, const Lock& lock);

  /// For a caller that is going to look and then to lock: waits until the anchor's lock was silent for its
  /// whole term, and returns it (nullopt: nobody has it). The holder no longer changes what is read after
  /// that, and acquire() with that lock doesn't wait again. Conflict with the holder's name when it lives on;
  /// anchor_moved(error) when it gave the lock back, or the anchor is gone.
  static Result<std::optional<Lock>> await_silence(const LockDependencies& dependencies, Anchor anchor,
                                                   const LockOptions& options, const Context& context);

  /// Makes the anchor, locked: the first install. anchor_moved(error) if it exists.
  static Result<std::unique_ptr<ReleaseLock>> create(LockDependencies dependencies, Anchor anchor,
                                                     const LockOptions& options, const Context& context);

  /// Locks an anchor as it was read, writing `change` in the same request. Conflict with the holder's
  /// name when somebody living has it; anchor_moved(error) when it changed since it was read.
  static Result<std::unique_ptr<ReleaseLock>> acquire(LockDependencies dependencies, Anchor anchor,
                                                      AnchorChange change, const LockOptions& options,
                                                      const Context& context);

  ReleaseLock(const ReleaseLock&) = delete;
  ReleaseLock& operator=(const ReleaseLock&) = delete;
  /// Unlocks if finish() or drop() didn't: best effort, a few seconds at most. Not while the server may still
  /// do what it was asked under this lock.
  ~ReleaseLock();

  /// For every write under the lock: ends when the caller's context ends or when the lock is lost, and asks
  /// check() before each request and each repetition of one. The renewing thread notices a moment after the
  /// lock ran out; a process that wakes up from being stopped, or whose machine does, would write at once.
  Context context() const;
  /// For what has to be recorded after Ctrl-C too: only `limit` and the lock end it.
  Context closing_context(Duration limit) const;
  /// Conflict: the term is over.
  Status check() const { return right_->check(); }
  /// Why context() ended, when it was the lock.
  bool lost() const;
  /// Conflict: what to report once lost() is true. The work itself only says that it was stopped.
  Error loss() const;

  /// A copy of the anchor as last written.
  Anchor anchor() const;
  Status change(const AnchorChange& change);
  /// Writes `change` and unlocks in one request, then stops renewing. If a write was left unanswered
  /// (kube::Client::unanswered_writes), the lock stays where it is, as that of a process that died: whoever
  /// comes next waits for its term, and then looks for what arrived late.
  Status finish(AnchorChange change);
  /// Stops renewing without unlocking: the anchor was deleted.
  void drop();

 private:
  ReleaseLock(const LockDependencies& dependencies, Anchor anchor, Lock lock, Duration term, BootTime asked,
              const Context& context);
  void renew(const std::stop_token& stop);
  void lose(std::string why);  // mutex_ is held
  // How long we may write: asked by contexts, which may outlive the lock.
  struct Right {
    Clock& clock;
    std::atomic<BootTime> until;
    const std::string release;

    Status check() const;
  };
  bool leaves_writes() const { return dependencies_.client.unanswered_writes() != unanswered_before_; }
  void warn_of_late_writes() const;                 // mutex_ is held
  Duration right() const { return term_ * 3 / 4; }  // how long a renewal lasts; the rest is a taker's margin
  Status change_locked(const AnchorChange& change, const Context& context);  // mutex_ is held
  bool was_written(const AnchorChange& change, const Anchor& now) const;     // mutex_ is held

  LockDependencies dependencies_;
  const Duration term_;
  const std::size_t unanswered_before_;
  Context parent_;
  mutable std::mutex mutex_;
  Anchor anchor_;        // guarded by mutex_
  Lock lock_;            // guarded by mutex_
  BootTime renewed_at_;  // guarded by mutex_
  const std::shared_ptr<Right> right_;
  bool held_ = true;   // guarded by mutex_
  bool lost_ = false;  // guarded by mutex_
  std::string loss_;   // why it was lost; guarded by mutex_
  std::stop_source stop_writing_;
  std::optional<std::stop_callback<std::function<void()>>> parent_stop_;
  std::jthread renewer_;
};

/// The anchor as read is out of date, and nothing was written: makes anchor_moved() true of it.
Error as_anchor_moved(Error failure);
/// True for acquire()'s error when the anchor changed since it was read: look again, then try again.
bool anchor_moved(const Error& failure);

}  // namespace mist::release
