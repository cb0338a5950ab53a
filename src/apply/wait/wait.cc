#include "apply/wait/wait.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "apply/plan/finished_job.h"
#include "apply/wait/binding_modes.h"
#include "apply/wait/object_waits.h"
#include "apply/wait/root_cause.h"
#include "apply/wait/waiting_rules.h"
#include "base/duration.h"
#include "base/text.h"

namespace mist::apply {
namespace {

// kstatus takes a Job that runs for one that is as it should be.
bool is_begun_job(const Value& object) {
  return object.string_at("kind") == "Job" && object.string_at("apiVersion") == "batch/v1" &&
         !object.string_at({"status", "startTime"}).empty();
}

// The fate of each object, shared by the threads that watch and the one that waits for them.
class Waiting {
 public:
  Waiting(kube::Client& client, const Owner& release, const std::vector<AwaitedObject>& objects,
          const WaitOptions& options, EventSink& events, const Context& context)
      : client_(client),
        release_(release),
        options_(options),
        events_(events),
        context_(context),
        binding_(client) {
    std::set<ObjectKey> known;
    for (const AwaitedObject& object : objects)
      if (known.insert(object.key).second) objects_.push_back(&object);
    ends_.resize(objects_.size());
    going_ = objects_.size();
  }

  /// Until all are ready, or something failed, or time is over.
  void run() {
    ObjectWaits waits(client_, release_,
                      {.changed =
                           [this](std::size_t i, const std::string& detail) {
                             events_.object({objects_[i]->key.display(), "waiting", detail});
                           },
                       .ended = [this](std::size_t i, WaitEnd end) { take(i, std::move(end)); }},
                      context_, options_.pods_after);
    std::vector<std::pair<ObjectWaits::Id, ObjectWait>> begun;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      begun.emplace_back(i, wait_of(*objects_[i]));
      // No later than that of its wait, and so over when a wait with the same time is.
      deadlines_.push_back(*context_.with_timeout(begun.back().second.limit).deadline());
    }
    waits.begin(std::move(begun));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return going_ == 0 || failure_; });
    // Nothing is gained by waiting for the rest of a broken release.
    lock.unlock();
    waits.stop();
    lock.lock();
    changed_.wait(lock, [&] { return going_ == 0; });
  }

  // After run():

  const std::optional<Error>& failure() const { return failure_; }
  /// The objects to blame.
  std::vector<Unready> to_blame() const {
    std::vector<Unready> result;
    for (const std::size_t i : blamed())
      result.push_back({objects_[i]->key, objects_[i]->resource, ends_[i].live, why(ends_[i])});
    std::ranges::sort(result, {}, &Unready::key);
    return result;
  }
  /// The time that all that is overdue had, if it was the same.
  std::optional<Duration> common_timeout() const {
    std::optional<Duration> common;
    for (const std::size_t i : blamed()) {
      const Duration timeout = timeout_of(*objects_[i]);
      if (common && *common != timeout) return std::nullopt;
      common = timeout;
    }
    return common;
  }

 private:
  Duration timeout_of(const AwaitedObject& object) const { return object.timeout.value_or(options_.timeout); }

  ObjectWait wait_of(const AwaitedObject& object) {
    return {.key = object.key,
            .resource = object.resource,
            .judge = [this](const Value* live) { return judge(*live); },  // ours are never asked of as absent
            .uid = object.uid,
            .removal_delay = object.removal_delay,
            .earlier_failure = EarlierFailure(object.earlier_failure),
            // A time-out of years must not overflow the clock.
            .limit = std::min<Duration>(timeout_of(object), std::chrono::hours(24 * 365))};
  }

  Readiness judge(const Value& live) {
    Readiness state = readiness(live, binding_.as_rule(context_));
    if (!options_.jobs_end && state.health == Health::InProgress && is_begun_job(live))
      state.health = Health::Ready;
    return state;
  }

  void note_completed(const AwaitedObject& object, const WaitEnd& end) const {
    const std::optional<Readiness> job = ended_job(end.live);
    const bool seen = job && job->health == Health::Ready;
    if (options_.job_completed && (seen || end.gone)) options_.job_completed(object.key, seen);
  }

  static std::string why(const WaitEnd& end) {
    if (end.how == WaitEnd::How::Failed) return end.detail;
    if (end.how == WaitEnd::How::Lost) return fmt::format("it {}", end.detail);
    return end.state;
  }

  void take(std::size_t i, WaitEnd end) {
    const std::scoped_lock lock(mutex_);
    const std::string name = objects_[i]->key.display();
    switch (end.how) {
      case WaitEnd::How::Met:
        events_.object({name, "ready", end.detail});
        note_completed(*objects_[i], end);
        break;
      case WaitEnd::How::Failed:
        events_.object({name, "failed", end.detail});
        fail(error(ErrorKind::Invalid, "{} failed", name).with_because(end.detail));
        break;
      case WaitEnd::How::Lost:
        events_.object({name, "failed", why(end)});
        fail(error(ErrorKind::Invalid, "{} {}", name, end.detail));
        break;
      case WaitEnd::How::Late:
        fail(error(ErrorKind::Timeout, "the time is over"));
        break;
      case WaitEnd::How::Stopped:
      case WaitEnd::How::Broken:
        fail(*end.failure);
        break;
    }
    ends_[i] = std::move(end);
    --going_;
    changed_.notify_all();
  }

  // The first one counts. The caller holds mutex_.
  void fail(Error failure) {
    if (failure_) return;
    failure_ = std::move(failure);
    failed_at_ = context_.now();
  }

  // Nothing, where the cluster is to blame.
  std::vector<std::size_t> blamed() const {
    std::vector<std::size_t> all;
    const bool whole = failure_ && failure_->kind == ErrorKind::Cancelled;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const WaitEnd::How how = ends_[i].how;
      const bool overdue = failure_ && failure_->kind == ErrorKind::Timeout && deadlines_[i] <= failed_at_;
      const bool its_own =
          how == WaitEnd::How::Failed || how == WaitEnd::How::Lost || how == WaitEnd::How::Late;
      if (its_own || (how == WaitEnd::How::Stopped && (whole || overdue))) all.push_back(i);
    }
    return all;
  }

  kube::Client& client_;
  const Owner& release_;
  const WaitOptions& options_;
  EventSink& events_;
  const Context& context_;
  BindingModes binding_;
  std::vector<const AwaitedObject*> objects_;
  std::vector<SteadyTime> deadlines_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_ during run().
  std::vector<WaitEnd> ends_;
  std::size_t going_ = 0;
  std::optional<Error> failure_;
  SteadyTime failed_at_{};
};

std::string cut_list(std::vector<std::string> lines) {
  constexpr std::size_t kShown = 20;
  if (lines.size() > kShown) {
    const std::size_t more = lines.size() - kShown;
    lines.resize(kShown);
    lines.push_back(fmt::format("and {} more", more));
  }
  return join(lines, "\n");
}

Error not_ready(const Waiting& waiting, ErrorKind kind, const std::vector<Unready>& blamed) {
  if (kind == ErrorKind::Cancelled)
    return error(kind, "stopped on request while {} {} not ready", plural(blamed.size(), "object"),
                 blamed.size() == 1 ? "was" : "were");
  std::string after;
  if (kind == ErrorKind::Timeout) {
    const std::optional<Duration> common = waiting.common_timeout();
    after = common ? fmt::format(" after {}", format_elapsed(*common)) : " in time";
  }
  Error failure = error(kind, "{} {} not ready{}", plural(blamed.size(), "object"),
                        blamed.size() == 1 ? "is" : "are", after);
  if (kind == ErrorKind::Timeout)
    failure.hint = fmt::format(
        "fix the cause; if it only needs longer, allow more time with --timeout, or for one object with the "
        "annotation {}",
        kTimeoutAnnotation);
  return failure;
}

}  // namespace

std::vector<AwaitedObject> awaited_objects(const Plan& plan, const Execution& execution) {
  std::vector<AwaitedObject> objects;
  for (std::size_t i = 0; i < plan.writes.size(); ++i) {
    const PlannedAction& action = plan.writes[i];
    const Value& wanted = plan.desired[action.desired].rendered.object.value();
    if (!is_worth_waiting(wanted) || plan.is_hook(action) || action.live.finished) continue;
    // It isn't what is waited for, and may be what has to be undone.
    if (action.recorded.left || (i < execution.left.size() && !execution.left[i].empty())) continue;
    const auto rules = waiting_rules(wanted);  // a bad one was refused when the objects were prepared
    objects.push_back({.key = action.key,
                       .resource = action.resource,
                       .timeout = rules.ok() ? rules->timeout : std::nullopt,
                       .removal_delay = removal_delay(wanted),
                       .uid = i < execution.uids.size() ? execution.uids[i] : action.uid,
                       .earlier_failure = i < execution.earlier_failures.size()
                                              ? execution.earlier_failures[i]
                                              : std::optional<std::string>("")});
    if (const auto sent = execution.late.find(i); sent != execution.late.end()) {
      objects.back().resource = sent->second.resource;
      objects.back().key.ns = sent->second.ns;
    }
  }
  return objects;
}

Status wait_until_ready(kube::Client& client, const Owner& release, const std::vector<AwaitedObject>& objects,
                        const WaitOptions& options, EventSink& events, const Context& context) {
  if (objects.empty()) return {};
  Activity activity(events, fmt::format("waiting for {} to become ready", plural(objects.size(), "object")));
  Waiting waiting(client, release, objects, options, events, context);
  waiting.run();
  if (!waiting.failure()) return {};
  activity.fail();

  Error failure = *waiting.failure();
  const std::vector<Unready> blamed = waiting.to_blame();
  if (blamed.empty()) return failure;  // the cluster's, not an object's
  const bool timed_out = failure.kind == ErrorKind::Timeout, stopped = failure.kind == ErrorKind::Cancelled;
  if (timed_out || stopped) {
    failure = not_ready(waiting, failure.kind, blamed);
    std::vector<std::string> lines;
    for (const Unready& object : blamed)
      lines.push_back(fmt::format("{}: {}", object.key.display(), object.detail));
    failure.because = cut_list(std::move(lines));
  }
  if (stopped || !options.diagnose) return failure;
  Activity looking(events, "looking for the cause");
  Diagnosis diagnosis = diagnose(client, "Release", release.display(), blamed,
                                 Context(context.stop()).with_timeout(kDiagnosisLimit));
  std::vector<std::string> lines;
  for (const Diagnosis& object : diagnosis.children) lines.push_back(in_one_line(object));
  failure.because = cut_list(std::move(lines));
  failure.hint = with_remedy(std::move(failure.hint), diagnosis);
  return diagnosed(std::move(failure), std::move(diagnosis));
}

Status wait_for(kube::Client& client, const kube::ObjectRef& ref,
                const std::function<bool(const Value*)>& done, const Context& context) {
  kube::ListOptions options;
  options.ns = ref.ns;
  options.field_selector = "metadata.name=" + ref.name;
  auto got = client.get(ref, context);
  if (!got.ok() && got.error().kind != ErrorKind::NotFound) return std::move(got).error();
  if (done(got.ok() ? &*got : nullptr)) return {};
  bool satisfied = false, present = false;
  Status watched = client.watch(
      ref.resource, options,
      [&](const kube::WatchEvent& event) {
        // A Bookmark ends a listing: what was not in it is not there.
        if (event.type == kube::WatchEventType::Bookmark && present) return true;
        present = event.type == kube::WatchEventType::Added || event.type == kube::WatchEventType::Modified;
        satisfied = done(present ? &event.object : nullptr);
        return !satisfied;
      },
      context);
  if (satisfied) return {};
  return watched;
}

Status wait_until_gone(kube::Client& client, const kube::ObjectRef& ref, const std::string& uid,
                       Duration limit, const Context& context) {
  std::string why;
  const auto gone = [&](const Value* live) {
    if (live == nullptr || live->string_at({"metadata", "uid"}) != uid) return true;
    if (apimachinery::is_terminating(*live)) why = why_terminating(*live);
    return false;
  };
  Status waited = wait_for(client, ref, gone, context.with_timeout(limit));
  if (!waited.ok() && waited.error().because.empty() && !why.empty())
    return std::move(waited).error().with_because(std::move(why));
  return waited;
}

}  // namespace mist::apply
