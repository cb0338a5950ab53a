#include "catalog/worker.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/storage_fault.h"
#include "package/installation_fault.h"

namespace mist::catalog {
namespace {

// Renews a lease until it ends; when somebody else has it, or nobody could be told for a whole term, what it
// protects is stopped.
class Lease {
 public:
  Lease(Store& store, const Job& job, const WorkerOptions& options, const Context& context)
      : store_(store),
        job_(job),
        options_(options),
        outer_(context.stop(), [this] { stop_.request_stop(); }),
        thread_([this](const std::stop_token& ended) { renew(ended); }) {}

  std::stop_token token() const { return stop_.get_token(); }
  bool is_lost() const { return lost_; }

 private:
  void renew(const std::stop_token& ended) {
    SteadyTime renewed = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, ended, options_.term / 3, [&] { return ended.stop_requested(); })) {
      const Status done = store_.renew(job_, options_.term);
      if (done.ok()) {
        renewed = std::chrono::steady_clock::now();
        continue;
      }
      const bool late = std::chrono::steady_clock::now() - renewed >= options_.term;
      if (done.error().kind != ErrorKind::Conflict && !late) continue;
      lost_ = true;
      stop_.request_stop();
      return;
    }
  }

  Store& store_;
  const Job& job_;
  const WorkerOptions& options_;
  std::atomic<bool> lost_ = false;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::stop_callback<std::function<void()>> outer_;
  std::jthread thread_;  // ends first
};

// Every other package would fail of it, too.
bool is_of_installation(const Error& failure) {
  return failure.detail<package::InstallationFault>() != nullptr || failure.detail<ClusterFault>() != nullptr;
}

}  // namespace

Result<bool> work_once(Store& store, const TrialWorld& world, const WorkerOptions& options, EventSink& events,
                       const Context& context) {
  MIST_TRY(const std::optional<Job> job, store.lease(options.holder, options.term));
  if (!job) return false;
  events.info(fmt::format("{} {}: testing, attempt {}", job->package, job->version, job->attempt));
  Lease lease(store, *job, options, context);
  const TrialReport report{.step = [&](const Step& step) { return store.add_step(*job, step); },
                           .nodes = [&](const std::string& nodes) { return store.note_nodes(*job, nodes); },
                           .objects = [&](const VersionObjects& objects) -> Status {
                             std::string text;
                             if (!objects.text.empty()) {
                               MIST_TRY(const crypto::Digest digest, world.blobs.put(objects.text));
                               text = digest.str();
                             }
                             return store.note_objects(*job, objects.graph, objects.security, text);
                           },
                           .warn = [&](const std::string& text) { events.warn(text); }};
  const auto passed = run_trial(world, *job, report, context.with_stop(lease.token()));
  if (lease.is_lost()) {
    events.warn(fmt::format("{} {}: the lease was lost", job->package, job->version));
    return true;
  }
  if (passed.ok()) {
    MIST_TRY_VOID(store.finish(*job, *passed));
    events.info(fmt::format("{} {}: {}", job->package, job->version, *passed ? "passed" : "failed"));
    return true;
  }
  const Error& failure = passed.error();
  if (context.stop().stop_requested()) {
    MIST_TRY_VOID(store.give_back(*job, Duration::zero()));
    return true;
  }
  if (is_of_installation(failure)) {
    MIST_TRY_VOID(store.give_back(*job, Duration::zero()));
    return failure;
  }
  if (failure.detail<HeldByAnotherTest>() != nullptr) {
    events.info(fmt::format("{} {}: later, because {}", job->package, job->version, failure.to_line()));
    MIST_TRY_VOID(store.give_back(*job, options.long_pause));
    return true;
  }
  events.warn(fmt::format("{} {}: {}", job->package, job->version, failure.to_line()));
  // Until somebody repairs what the catalog keeps; other versions may be whole.
  if (is_storage_fault(failure)) {
    MIST_TRY_VOID(store.give_back(*job, options.long_pause));
    return true;
  }
  // It may work later; but who can't be tested at all shouldn't wait for ever.
  if (job->attempt >= Store::kMostAttempts) {
    MIST_TRY_VOID(store.add_step(*job, {.name = "worker",
                                        .state = StepState::Failed,
                                        .summary = "the catalog couldn't test it",
                                        .log = failure.to_line(),
                                        .began = world.clock.now()}));
    MIST_TRY_VOID(store.finish(*job, false));
    return true;
  }
  MIST_TRY_VOID(store.renew(*job, options.pause * job->attempt * 5));
  return true;
}

Status work(Store& store, const TrialWorld& world, const WorkerOptions& options, EventSink& events,
            const Context& context) {
  remove_left_files(world,
                    [&](std::int64_t job, int attempt) { return store.is_being_tested(job, attempt); });
  while (context.check().ok()) {
    const auto worked = work_once(store, world, options, events, context);
    if (worked.ok() && *worked) continue;
    const bool is_broken = !worked.ok() && is_of_installation(worked.error());
    if (is_broken)
      events.warn(fmt::format("nothing can be tested here: {}", worked.error().to_line()));
    else if (!worked.ok())
      events.warn(fmt::format("the queue: {}", worked.error().to_line()));
    if (!world.clock.sleep(is_broken ? options.long_pause : options.pause, context.stop())) break;
  }
  return {};
}

}  // namespace mist::catalog
