#include "catalog/worker.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/storage_fault.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

enum class Hold : std::uint8_t {
  Ours,
  Late,  ///< it couldn't be renewed for a whole term, so somebody else may have taken it
  Anothers,
};

// Of the store: the database can't be reached, or takes no writes, for all jobs. Any other fault may be one
// of this job's rows, and repeating keeps a worker from the others.
bool is_away(const Error& failure) {
  return failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Forbidden;
}

// Whether the database was away for any call about a job. Any thread.
class Outage {
 public:
  void note(const Error& failure) {
    if (is_away(failure)) was_seen_ = true;
  }
  bool was_seen() const { return was_seen_; }

 private:
  std::atomic<bool> was_seen_ = false;
};

// Renews a lease until it ends. The work that it protects is stopped when it is late or another's. A late one
// is renewed further, should nobody have taken it: then nobody does while what was made is removed.
class Lease {
 public:
  Lease(Store& store, const Job& job, const WorkerOptions& options, Outage& outage, const Context& context)
      : store_(store),
        job_(job),
        options_(options),
        outage_(outage),
        outer_(context.stop(), [this] { stop_.request_stop(); }),
        thread_([this](const std::stop_token& ended) { renew(ended); }) {}

  std::stop_token token() const { return stop_.get_token(); }
  Hold hold() const { return hold_; }

 private:
  void renew(const std::stop_token& ended) {
    SteadyTime renewed = std::chrono::steady_clock::now();
    Duration wait = options_.term / 3;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, ended, wait, [&] { return ended.stop_requested(); })) {
      const Status done = store_.renew(job_, options_.term);
      // Most of the lease may have passed before a dead connection was given up.
      wait = done.ok() ? options_.term / 3 : std::min(options_.pause, options_.term / 3);
      if (done.ok()) {
        renewed = std::chrono::steady_clock::now();
        continue;
      }
      outage_.note(done.error());
      const bool is_anothers = done.error().kind == ErrorKind::Conflict;
      const bool is_late = std::chrono::steady_clock::now() - renewed >= options_.term;
      if (!is_anothers && !is_late) continue;
      hold_ = is_anothers ? Hold::Anothers : Hold::Late;
      stop_.request_stop();
      if (is_anothers) return;
    }
  }

  Store& store_;
  const Job& job_;
  const WorkerOptions& options_;
  Outage& outage_;
  std::atomic<Hold> hold_ = Hold::Ours;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::stop_callback<std::function<void()>> outer_;
  std::jthread thread_;  // ends first
};

// Tells the store how a job ended. Each call waits for a database that is away, until the context ends: an
// outage must cost neither a result nor an attempt. Each is safe to repeat. The answer is whether it was told
// now. It wasn't if somebody else has the job by now, or an earlier call, whose answer was lost, had ended
// it; then the job is over for this worker, too. Errors: of the store.
class Ending {
 public:
  Ending(Store& store, const Job& job, Clock& clock, Duration pause, Outage& outage, EventSink& events,
         const Context& context)
      : store_(store),
        job_(job),
        clock_(clock),
        pause_(pause),
        outage_(outage),
        events_(events),
        context_(context) {}

  Result<bool> finish(bool passed) const {
    return told([&] { return store_.finish(job_, passed); });
  }
  Result<bool> give_back(Duration rest) const {
    return told([&] { return store_.give_back(job_, rest); });
  }
  Result<bool> give_up(const Step& why) const {
    return told([&] { return store_.give_up(job_, why); });
  }
  // After that long, it is any worker's next attempt.
  Result<bool> retry_after(Duration rest) const {
    return told([&] { return store_.retry_after(job_, rest); });
  }

 private:
  Result<bool> told(const std::function<Status()>& tell) const {
    for (bool is_first = true;; is_first = false) {
      const Status done = tell();
      if (done.ok()) return true;
      const Error& failure = done.error();
      outage_.note(failure);
      if (failure.kind == ErrorKind::Conflict) {
        warn(fmt::format("{}{}", failure.to_line(),
                         is_first ? "" : ", or the database recorded its end before it went away"));
        return false;
      }
      if (!is_away(failure) || !context_.check().ok()) return failure;
      if (is_first) warn(fmt::format("trying again, because {}", failure.to_line()));
      if (!clock_.sleep(pause_, context_.stop())) return failure;
    }
  }
  void warn(const std::string& text) const {
    events_.warn(fmt::format("{} {}: {}", job_.package, job_.version, text));
  }

  Store& store_;
  const Job& job_;
  Clock& clock_;
  const Duration pause_;
  Outage& outage_;
  EventSink& events_;
  const Context& context_;
};

// Every other package would fail of it, too.
bool is_of_installation(const Error& failure) {
  return failure.detail<package::InstallationFault>() != nullptr || failure.detail<ClusterFault>() != nullptr;
}

// After an outage, the leases of living workers look expired until they have renewed them. One that asked a
// server that went away without a word knows that only after 20 s (postgres/database.cc), and asks again
// then. So a worker takes no job before a whole term has passed since the database is back.
void let_others_renew(Store& store, const WorkerOptions& options, Clock& clock, const Context& context) {
  while (context.check().ok()) {
    const Status done = store.check_writable();
    const bool is_back = done.ok() || !is_away(done.error());
    const Duration pause = is_back ? std::max(options.pause, options.term) : options.pause;
    if (!clock.sleep(pause, context.stop()) || is_back) return;
  }
}

Status test_job(Store& store, const Job& job, const TrialDependencies& dependencies,
                const WorkerOptions& options, Outage& outage, EventSink& events, const Context& context) {
  events.info(fmt::format("{} {}: testing, attempt {}", job.package, job.version, job.attempt));
  Lease lease(store, job, options, outage, context);
  const TrialReport report{.step = [&](const Step& step) { return store.add_step(job, step); },
                           .nodes = [&](TestNodes nodes) { return store.note_nodes(job, nodes); },
                           .objects = [&](const VersionObjects& objects) -> Status {
                             std::string text;
                             if (!objects.text.empty()) {
                               MIST_TRY(const crypto::Digest digest, dependencies.blobs.put(objects.text));
                               text = digest.str();
                             }
                             return store.note_objects(job, objects.graph, objects.security, text);
                           },
                           .warn = [&](const std::string& text) { events.warn(text); }};
  const Context leased = context.with_stop(lease.token());
  const auto passed =
      dependencies.run ? dependencies.run(job, report, leased) : run_trial(dependencies, job, report, leased);
  if (!passed.ok() && is_storage_fault(passed.error())) outage.note(passed.error());
  const Ending ending(store, job, dependencies.clock, options.pause, outage, events, context);
  const Hold hold = lease.hold();
  if (hold != Hold::Ours) {
    events.warn(fmt::format("{} {}: the lease was lost", job.package, job.version));
    // Perhaps to nobody, because the database was away for everybody.
    if (hold == Hold::Late) MIST_TRY_VOID(ending.give_back(Duration::zero()));
    return {};
  }
  if (passed.ok()) {
    MIST_TRY(const bool is_told, ending.finish(*passed));
    if (is_told)
      events.info(fmt::format("{} {}: {}", job.package, job.version, *passed ? "passed" : "failed"));
    return {};
  }
  const Error& failure = passed.error();
  if (context.stop().stop_requested()) {
    MIST_TRY_VOID(ending.give_back(Duration::zero()));
    return {};
  }
  if (is_of_installation(failure)) {
    MIST_TRY_VOID(ending.give_back(Duration::zero()));
    return failure;
  }
  if (failure.detail<HeldByAnotherTest>() != nullptr) {
    events.info(fmt::format("{} {}: later, because {}", job.package, job.version, failure.to_line()));
    MIST_TRY_VOID(ending.give_back(options.long_pause));
    return {};
  }
  events.warn(fmt::format("{} {}: {}", job.package, job.version, failure.to_line()));
  // Until somebody repairs what the catalog keeps; other versions may be whole.
  if (is_storage_fault(failure)) {
    MIST_TRY_VOID(ending.give_back(options.long_pause));
    return {};
  }
  // It may work later; but who can't be tested at all shouldn't wait for ever.
  if (job.counted_attempts() >= Store::kMostAttempts) {
    MIST_TRY_VOID(ending.give_up({.name = "worker",
                                  .state = StepState::Failed,
                                  .summary = "the catalog couldn't test it",
                                  .log = failure.to_line(),
                                  .began = dependencies.clock.now()}));
    return {};
  }
  const bool is_of_pod = failure.detail<SaidByPod>() != nullptr;
  MIST_TRY_VOID(
      ending.retry_after((is_of_pod ? options.long_pause : options.pause) * job.counted_attempts() * 5));
  return {};
}

}  // namespace

Result<bool> work_once(Store& store, const TrialDependencies& dependencies, const WorkerOptions& options,
                       EventSink& events, const Context& context) {
  MIST_TRY(const std::optional<Job> job, store.lease(options.holder, options.term));
  if (!job) return false;
  Outage outage;
  const Status done = test_job(store, *job, dependencies, options, outage, events, context);
  if (outage.was_seen()) let_others_renew(store, options, dependencies.clock, context);
  if (!done.ok()) return done.error();
  return true;
}

Status work(Store& store, const TrialDependencies& dependencies, const WorkerOptions& options,
            EventSink& events, const Context& context) {
  remove_left_files(dependencies,
                    [&](std::int64_t job, int attempt) { return store.is_being_tested(job, attempt); });
  while (context.check().ok()) {
    const auto worked = work_once(store, dependencies, options, events, context);
    if (worked.ok() && *worked) continue;
    const bool is_broken = !worked.ok() && is_of_installation(worked.error());
    if (is_broken)
      events.warn(fmt::format("nothing can be tested here: {}", worked.error().to_line()));
    else if (!worked.ok())
      events.warn(fmt::format("the queue: {}", worked.error().to_line()));
    if (!is_broken && !worked.ok() && is_away(worked.error())) {
      let_others_renew(store, options, dependencies.clock, context);
      continue;
    }
    if (!dependencies.clock.sleep(is_broken ? options.long_pause : options.pause, context.stop())) break;
  }
  return {};
}

}  // namespace mist::catalog
