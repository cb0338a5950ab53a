#include "release/lock.h"

#include <algorithm>
#include <condition_variable>
#include <functional>

#include "release/command_text.h"
#include "release/record_secrets.h"

namespace mist::release {
namespace {

struct AnchorMoved {};  // the fact of that error

Lock new_lock(const LockDependencies& dependencies, const LockOptions& options) {
  const WallTime now = dependencies.clock.now();
  return {.holder = options.holder,
          .token = dependencies.random.token(8),
          .operation = options.operation,
          .acquired = format_time(now),
          .renewed = format_micro_time(now),
          .term_ms = std::chrono::duration_cast<std::chrono::milliseconds>(options.term).count(),
          .process = options.process};
}

Duration term_of(const Lock& lock) {
  return std::clamp<Duration>(std::chrono::milliseconds(lock.term_ms), std::chrono::milliseconds(100),
                              std::chrono::minutes(10));
}

bool is_dead(const LockDependencies& dependencies, const Lock& lock) {
  return dependencies.life && dependencies.life(lock.process) == ProcessLife::Dead;
}

// The holder that is waited for, and for how long where that is known: one that died on this machine is
// silent for its term and no longer.
std::string waiting_words(const LockDependencies& dependencies, const Anchor& anchor) {
  const Lock& lock = *anchor.lock;
  if (is_dead(dependencies, lock))
    return fmt::format("waiting {} for the lock of {}: {} (\"{}\") is dead", format_age(term_of(lock)),
                       anchor.id.display(), lock.holder, lock.operation);
  return fmt::format("waiting for the lock of {} (held by {}, \"{}\")", anchor.id.display(), lock.holder,
                     lock.operation);
}

Error held_by(const ReleaseId& id, const Lock& lock) {
  Error failure = error(ErrorKind::Conflict, "release {} is locked: {} has been running \"{}\" since {}",
                        id.display(), lock.holder, lock.operation, lock.acquired);
  failure.hint = "wait for it, or let this command wait with --lock-wait 5m";
  return std::move(failure).with_detail(LockHeld());
}

// Follows the anchor until it is unlocked, or silent for a whole term (then it may be taken), or `max_wait`
// is over. Returns the anchor to lock; Conflict when the holder lives on.
Result<Anchor> await_free(const LockDependencies& dependencies, Anchor anchor, const LockOptions& options,
                          const Context& context) {
  if (!anchor.lock) return anchor;
  const Duration their_term = term_of(*anchor.lock);
  if (!ReleaseLock::looks_dead(dependencies, *anchor.lock) && options.max_wait == Duration::zero())
    return held_by(anchor.id, *anchor.lock);

  Activity waiting(dependencies.events, waiting_words(dependencies, anchor));
  const SteadyTime give_up =
      dependencies.clock.steady_now() + std::chrono::duration_cast<SteadyTime::duration>(std::max<Duration>(
                                            options.max_wait, their_term + their_term / 4));
  while (true) {
    // One silent term: watch the anchor until its lock changes or the term is over. Its holder may be another
    // one by now, with another term. Writes of others to the Secret are no sign of the holder.
    const Duration term = term_of(*anchor.lock);
    const Duration left = give_up - dependencies.clock.steady_now();
    if (left <= Duration::zero()) return held_by(anchor.id, *anchor.lock);
    const std::optional<Lock> seen = anchor.lock;
    bool changed = false, present = false;
    kube::ListOptions only_anchor;
    only_anchor.ns = anchor.id.ns;
    only_anchor.field_selector = "metadata.name=" + apply::anchor_name(anchor.id);
    only_anchor.metadata_only = true;
    const Status watched = dependencies.client.watch(
        Store::secrets(), only_anchor,
        [&](const kube::WatchEvent& event) {
          // A Bookmark ends a listing: an anchor that was not in it is gone.
          if (event.type == kube::WatchEventType::Bookmark) return !(changed = changed || !present);
          present = true;
          changed =
              event.type == kube::WatchEventType::Deleted || anchor_from_metadata(event.object).lock != seen;
          return !changed;
        },
        context.with_timeout(std::min(term, left)));
    if (!watched.ok() && watched.error().kind != ErrorKind::Timeout) return watched.error();
    MIST_TRY_VOID(context.check());
    if (!changed && left < term) return held_by(anchor.id, *anchor.lock);
    MIST_TRY(std::optional<Anchor> next, dependencies.store.read_anchor(anchor.id, context));
    if (!changed && next && next->lock == seen) {
      dependencies.events.warn(fmt::format(
          "taking over the lock of {}: {} {}", anchor.id.display(), seen->holder,
          is_dead(dependencies, *seen) ? "is dead"
                                       : fmt::format("has been silent for {}", format_age(term))));
      return *std::move(next);
    }
    // Freed or gone: what the caller looked at is out of date, so it must look again.
    if (!next || !next->lock)
      return as_anchor_moved(
          error(ErrorKind::Conflict, "release {} changed while waiting for its lock", anchor.id.display()));
    anchor = *std::move(next);
  }
}

// The anchor, if it carries `lock` itself: the write that took it succeeded, only its answer was lost.
Result<std::optional<Anchor>> own_lock(const LockDependencies& dependencies, const ReleaseId& id,
                                       const Lock& lock, const Context& context) {
  MIST_TRY(std::optional<Anchor> now, dependencies.store.read_anchor(id, context));
  if (now && (!now->lock || now->lock->token != lock.token)) now.reset();
  return now;
}

bool was_stopped(const Error& failure) {
  return failure.kind == ErrorKind::Cancelled || failure.kind == ErrorKind::Timeout;
}

// The write that was to take the lock was cut off, and may have arrived all the same: nobody would renew what
// it took, and everybody would wait for it. `undo` gives back an anchor that carries the lock.
void give_back_unseen(const LockDependencies& dependencies, const ReleaseId& id, const Lock& lock,
                      const std::function<Status(Anchor&, const Context&)>& undo) {
  constexpr int kAttempts = 3;  // the server may be about to do it
  const Context brief = Context().with_timeout(std::chrono::seconds(5));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) dependencies.clock.sleep(std::chrono::milliseconds(50), {});
    auto ours = own_lock(dependencies, id, lock, brief);
    if (!ours.ok()) return;  // it ends with its term
    if (!*ours) continue;
    if (const Status undone = undo(**ours, brief); !undone.ok())
      dependencies.events.warn(fmt::format("release {} stays locked for {}: {}", id.display(),
                                           format_age(term_of(lock)), undone.error().to_line()));
    return;
  }
}

}  // namespace

Error as_anchor_moved(Error failure) {
  return std::move(failure)
      .with_frame("the release changed since it was read")
      .with_detail(AnchorMoved())
      .with_hint("run the command again");
}

bool anchor_moved(const Error& failure) { return failure.detail<AnchorMoved>() != nullptr; }

ReleaseLock::ReleaseLock(const LockDependencies& dependencies, Anchor anchor, Lock lock, Duration term,
                         BootTime asked, const Context& context)
    : dependencies_(dependencies),
      term_(term),
      unanswered_before_(dependencies.client.unanswered_writes()),
      parent_(context),
      anchor_(std::move(anchor)),
      lock_(std::move(lock)),
      renewed_at_(asked),
      right_(std::make_shared<Right>(dependencies.clock, renewed_at_ + right(), anchor_.id.display())) {
  parent_stop_.emplace(context.stop(), [this] { stop_writing_.request_stop(); });
  renewer_ = std::jthread([this](const std::stop_token& stop) { renew(stop); });
}

bool ReleaseLock::looks_dead(const LockDependencies& dependencies, const Lock& lock) {
  const auto term = std::chrono::duration_cast<std::chrono::system_clock::duration>(term_of(lock));
  const WallTime now = dependencies.clock.now();
  // A time that is yet to come is of another clock, or of a damaged lock.
  return lock.renewed < format_micro_time(now - term) || lock.renewed > format_micro_time(now + term) ||
         is_dead(dependencies, lock);
}

Result<std::optional<Lock>> ReleaseLock::await_silence(const LockDependencies& dependencies, Anchor anchor,
                                                       const LockOptions& options, const Context& context) {
  MIST_TRY(const Anchor free, await_free(dependencies, std::move(anchor), options, context));
  return free.lock;
}

Result<std::unique_ptr<ReleaseLock>> ReleaseLock::create(LockDependencies dependencies, Anchor anchor,
                                                         const LockOptions& options, const Context& context) {
  const Lock lock = new_lock(dependencies, options);
  anchor.lock = lock;
  const ReleaseId id = anchor.id;
  const BootTime asked = dependencies.clock.boot_now();
  auto created = dependencies.store.create_anchor(std::move(anchor), context);
  if (!created.ok()) {
    const ErrorKind kind = created.error().kind;
    if (was_stopped(created.error()))
      give_back_unseen(dependencies, id, lock, [&](const Anchor& ours, const Context& brief) {
        return dependencies.store.delete_anchor(ours, brief);
      });
    if (kind != ErrorKind::Retryable && kind != ErrorKind::Conflict) return std::move(created).error();
    MIST_TRY(std::optional<Anchor> ours, own_lock(dependencies, id, lock, context));
    if (!ours && kind == ErrorKind::Conflict)
      return as_anchor_moved(
          error(ErrorKind::Conflict, "release {} was installed by somebody else just now", id.display()));
    if (!ours) return std::move(created).error();
    created = *std::move(ours);
  }
  return std::unique_ptr<ReleaseLock>(
      new ReleaseLock(dependencies, *std::move(created), lock, options.term, asked, context));
}

Result<std::unique_ptr<ReleaseLock>> ReleaseLock::acquire(LockDependencies dependencies, Anchor anchor,
                                                          AnchorChange change, const LockOptions& options,
                                                          const Context& context) {
  Anchor free = std::move(anchor);
  if (free.lock && options.silent_lock != free.lock) {
    const std::optional<Lock> looked_at = free.lock;
    const Head head = free.head;
    MIST_TRY(free, await_free(dependencies, std::move(free), options, context));
    // Its holder wrote on after the caller had looked.
    if (free.lock != looked_at || !(free.head == head))
      return as_anchor_moved(
          error(ErrorKind::Conflict, "release {} changed while waiting for its lock", free.id.display()));
  }
  const Lock lock = new_lock(dependencies, options);
  change.lock = std::optional<Lock>(lock);
  const BootTime asked = dependencies.clock.boot_now();
  Status taken = dependencies.store.change_anchor(free, change, context);
  if (!taken) {
    const ErrorKind kind = taken.error().kind;
    if (was_stopped(taken.error()))
      give_back_unseen(dependencies, free.id, lock, [&](Anchor& ours, const Context& brief) {
        return dependencies.store.change_anchor(
            ours, {.head = {}, .lock = std::optional<Lock>(), .group_kinds = {}, .additional_namespaces = {}},
            brief);
      });
    if (kind == ErrorKind::NotFound)
      return as_anchor_moved(std::move(taken).error());  // uninstalled meanwhile
    if (kind != ErrorKind::Conflict && kind != ErrorKind::Retryable) return std::move(taken).error();
    MIST_TRY(std::optional<Anchor> ours, own_lock(dependencies, free.id, lock, context));
    if (!ours && kind == ErrorKind::Retryable) return std::move(taken).error();
    if (!ours) return as_anchor_moved(std::move(taken).error());
    free = *std::move(ours);
  }
  return std::unique_ptr<ReleaseLock>(
      new ReleaseLock(dependencies, std::move(free), lock, options.term, asked, context));
}

ReleaseLock::~ReleaseLock() {
  renewer_.request_stop();
  if (renewer_.joinable()) renewer_.join();
  const std::scoped_lock guard(mutex_);
  if (!held_ || lost_) return;
  if (leaves_writes()) {
    warn_of_late_writes();
    return;
  }
  // The caller's context may have ended (Ctrl-C): unlocking gets a little time of its own.
  const Context brief = Context().with_timeout(std::chrono::seconds(5));
  if (const Status unlocked = change_locked(
          {.head = {}, .lock = std::optional<Lock>(), .group_kinds = {}, .additional_namespaces = {}}, brief);
      !unlocked.ok())
    dependencies_.events.warn(fmt::format("release {} stays locked for {}: {}", anchor_.id.display(),
                                          format_age(term_), unlocked.error().to_line()));
}

Context ReleaseLock::context() const {
  return parent_.with_stop(stop_writing_.get_token()).with_guard([right = right_] { return right->check(); });
}

Context ReleaseLock::closing_context(Duration limit) const {
  return Context().with_timeout(limit).with_guard([right = right_] { return right->check(); });
}

Status ReleaseLock::Right::check() const {
  // The time is read last: it counts when we write. A thread that couldn't run between the two looks again.
  for (BootTime end = until.load();;) {
    if (clock.boot_now() < end) return {};
    const BootTime renewed = until.load();
    if (renewed == end) break;
    end = renewed;
  }
  return error(ErrorKind::Conflict, "the lock of release {} ran out", release)
      .with_hint("run the command again");
}

bool ReleaseLock::lost() const {
  const std::scoped_lock guard(mutex_);
  return lost_;
}

Error ReleaseLock::loss() const {
  const std::scoped_lock guard(mutex_);
  return error(ErrorKind::Conflict, "the lock of release {} was lost, so nothing more was written",
               anchor_.id.display())
      .with_because(loss_)
      .with_hint(fmt::format("see what is there with {}, then run the command again",
                             command_text("status", anchor_.id)));
}

Anchor ReleaseLock::anchor() const {
  const std::scoped_lock guard(mutex_);
  return anchor_;
}

Status ReleaseLock::change(const AnchorChange& change) {
  const std::scoped_lock guard(mutex_);
  return change_locked(change, context());
}

Status ReleaseLock::finish(AnchorChange change) {
  renewer_.request_stop();
  const std::scoped_lock guard(mutex_);
  if (lost_) return error(ErrorKind::Conflict, "the lock of release {} was lost", anchor_.id.display());
  const bool leave = leaves_writes();
  if (!leave) change.lock = std::optional<Lock>();
  // Finishing must work after Ctrl-C: it is what makes the record true.
  MIST_TRY_VOID(change_locked(change, Context().with_timeout(std::chrono::seconds(30))));
  if (leave) warn_of_late_writes();
  held_ = false;
  return {};
}

void ReleaseLock::warn_of_late_writes() const {
  dependencies_.events.warn(fmt::format(
      "{} did not answer everything that it was asked, and may still do it: release {} stays locked for {}",
      dependencies_.client.describe(), anchor_.id.display(), format_age(term_)));
}

void ReleaseLock::drop() {
  renewer_.request_stop();
  const std::scoped_lock guard(mutex_);
  held_ = false;
}

// Whether the anchor says that our own first try was carried out, though its answer was lost: it is unlocked
// as we asked; or it has the revision that we finished, and somebody has locked it since.
bool ReleaseLock::was_written(const AnchorChange& change, const Anchor& now) const {
  if (!change.lock || *change.lock) return false;
  if (!now.lock && (!change.head || now.head == *change.head)) return true;
  const bool finishes = change.head && change.head->deployed != anchor_.head.deployed;
  const bool ours = now.lock && now.lock->token == lock_.token;
  return finishes && !ours && now.head.deployed == change.head->deployed;
}

// Somebody may annotate or label the anchor: a conflict is only a loss when the lock in it isn't ours any
// more.
Status ReleaseLock::change_locked(const AnchorChange& change, const Context& context) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    Status changed = dependencies_.store.change_anchor(anchor_, change, context);
    if (changed.ok() || changed.error().kind != ErrorKind::Conflict) return changed;
    MIST_TRY(std::optional<Anchor> now, dependencies_.store.read_anchor(anchor_.id, context));
    if (now && was_written(change, *now)) {
      anchor_ = *std::move(now);
      return {};
    }
    if (!now || !now->lock || now->lock->token != lock_.token) {
      lost_ = true;
      stop_writing_.request_stop();
      Error failure = error(ErrorKind::Conflict, "the lock of release {} was lost", anchor_.id.display());
      if (now && now->lock)
        failure.because = fmt::format("{} took it over for \"{}\"", now->lock->holder, now->lock->operation);
      loss_ = failure.because;
      failure.hint = fmt::format("see what happened with {}, then run the command again",
                                 command_text("status", anchor_.id));
      return failure;
    }
    anchor_.resource_version = now->resource_version;
  }
  return error(ErrorKind::Conflict, "the record of release {} keeps changing", anchor_.id.display());
}

// Its sleep is counted in steady time: after the machine slept, it wakes up within what was left of it, which
// is a third of a term at most. Until then, check() is what keeps us from writing.
void ReleaseLock::renew(const std::stop_token& stop) {
  Duration pause = term_ / 3;
  std::string failure;
  while (dependencies_.clock.sleep(pause, stop)) {
    const std::scoped_lock guard(mutex_);
    if (!held_ || lost_ || stop.stop_requested()) return;
    const BootTime began = dependencies_.clock.boot_now();
    const Duration left = renewed_at_ + right() - began;
    if (left <= Duration::zero())
      return lose(failure.empty()
                      ? fmt::format("nothing ran here for {}: this process was stopped, or its machine",
                                    format_age(began - renewed_at_))
                      : failure);
    lock_.renewed = format_micro_time(dependencies_.clock.now());
    // A try may not outlive our own right: a taker's term began no earlier than our last success.
    const Status renewed = change_locked(
        {.head = {}, .lock = std::optional<Lock>(lock_), .group_kinds = {}, .additional_namespaces = {}},
        Context(stop).with_timeout(left));
    if (renewed.ok()) {
      renewed_at_ = began;
      right_->until = began + right();
      pause = term_ / 3;
      failure.clear();
      continue;
    }
    if (stop.stop_requested()) return;
    failure = "it could not be renewed: " + renewed.error().to_line();
    const Duration remaining = renewed_at_ + right() - dependencies_.clock.boot_now();
    if (lost_ || remaining <= Duration::zero()) return lose(lost_ ? loss_ : failure);
    pause = std::min<Duration>(term_ / 3, remaining);
  }
}

void ReleaseLock::lose(std::string why) {
  lost_ = true;
  loss_ = std::move(why);
  stop_writing_.request_stop();
  dependencies_.events.warn(
      fmt::format("stopped writing: the lock of {} could not be renewed", anchor_.id.display()));
}

}  // namespace mist::release
