#include "apply/wait.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "apply/binding_modes.h"
#include "apply/earlier_failure.h"
#include "apply/finished_job.h"
#include "apply/marks.h"
#include "apply/pod_trouble.h"
#include "apply/root_cause.h"
#include "apply/waiting_rules.h"
#include "base/duration.h"
#include "base/text.h"

namespace mist::apply {
namespace {

const GroupKind kPodKind{"", "Pod"};

struct Open {
  kube::ResourceInfo resource;
  Duration timeout{};
  SteadyTime deadline;
  std::string why = "it is not there yet";
  Value live = {};  // as it was last seen
  std::optional<Duration> removal_delay = {};
  std::string uid = {};
  EarlierFailure earlier_failure = EarlierFailure();
  PodTrouble trouble = {};  // of its Pods

  // The cause first: a line of progress may have room for no more.
  std::string detail() const { return trouble.text.empty() ? why : fmt::format("{}; {}", trouble.text, why); }
};

struct Group {
  kube::ResourceInfo resource;
  std::string ns;
  // Only its own thread touches them.
  std::size_t open = 0;
  std::set<ObjectKey> seen = {};  // of what is awaited, as long as it is there
};

// kstatus takes a Job that runs for one that is as it should be.
bool is_begun_job(const Value& object) {
  return object.string_at("kind") == "Job" && object.string_at("apiVersion") == "batch/v1" &&
         !object.string_at({"status", "startTime"}).empty();
}

// What the watching threads and the one that keeps the time share.
class Waiting {
 public:
  Waiting(kube::Client& client, const Owner& release, const WaitOptions& options, EventSink& events,
          const Context& context)
      : client_(client),
        release_(release),
        options_(options),
        events_(events),
        context_(context),
        binding_(client) {}

  void add(const AwaitedObject& object, Duration timeout, SteadyTime now) {
    // A time-out of years must not overflow the clock.
    const Duration bounded = std::min<Duration>(timeout, std::chrono::hours(24 * 365));
    const auto deadline = now + std::chrono::duration_cast<SteadyTime::duration>(bounded);
    const auto [place, fresh] =
        open_.emplace(object.key, Open{.resource = object.resource,
                                       .timeout = timeout,
                                       .deadline = deadline,
                                       .removal_delay = object.removal_delay,
                                       .uid = object.uid,
                                       .earlier_failure = EarlierFailure(object.earlier_failure)});
    if (!fresh) return;
    Group& group = groups_[{object.key.group_kind, object.key.ns}];
    group.resource = object.resource;
    group.ns = object.key.ns;
    ++group.open;
  }

  /// Until nothing is open, or something failed, or time is over.
  void run() {
    pods_.emplace(
        client_, [this](const ObjectKey& key, const PodTrouble& trouble) { explain(key, trouble); }, context_,
        options_.pods_after);
    {
      std::vector<std::jthread> threads;
      for (auto& [place, group] : groups_)
        threads.emplace_back([this, &group = group] { end(watch(group)); });
      keep_time();
      stop_.request_stop();
    }
    pods_.reset();
  }

  bool all_ready() const { return open_.empty(); }
  const std::optional<Error>& failure() const { return failure_; }
  /// What is to blame; after run().
  std::vector<Unready> to_blame() const {
    std::vector<Unready> result;
    for (const auto& [key, object] : open_) {
      if (blamed_.contains(key)) result.push_back({key, object.resource, object.live, object.why});
    }
    return result;
  }
  /// The time that all that is overdue had, if it was the same.
  std::optional<Duration> common_timeout() const {
    std::optional<Duration> common;
    for (const auto& [key, object] : open_) {
      if (!blamed_.contains(key)) continue;
      if (common && *common != object.timeout) return std::nullopt;
      common = object.timeout;
    }
    return common;
  }

 private:
  Status watch(Group& group) {
    kube::ListOptions options;
    options.ns = group.ns;
    options.label_selector = fmt::format("{}={}", kPartOfLabel, apply_set_id(release_));
    const Context context = context_.with_stop(stop_.get_token());
    const GroupKind kind = group.resource.gvk.group_kind();
    return client_.watch(
        group.resource, options,
        [&](const kube::WatchEvent& event) {
          // A Bookmark ends a listing: what was not in it is not there.
          if (event.type == kube::WatchEventType::Bookmark)
            return look_for_gone(group, context) && look_for_unlabelled(group, context);
          const ObjectKey key{kind, std::string(event.object.string_at({"metadata", "namespace"})),
                              std::string(event.object.string_at({"metadata", "name"}))};
          return take(key, event, group, context);
        },
        context);
  }

  // What is awaited of this group and was not listed.
  std::vector<ObjectKey> unseen(const Group& group) {
    const std::scoped_lock lock(mutex_);
    std::vector<ObjectKey> keys;
    for (const auto& [key, object] : open_) {
      const bool here = key.ns == group.ns && key.group_kind == group.resource.gvk.group_kind();
      if (here && !group.seen.contains(key)) keys.push_back(key);
    }
    return keys;
  }

  // Jobs of this group that removed themselves before they were seen. False: as take().
  bool look_for_gone(Group& group, const Context& context) {
    return std::ranges::all_of(unseen(group), [&](const ObjectKey& key) {
      const std::optional<GoneJob> job = what_removes_itself(key);
      return !job || take_gone(*job, group, context);
    });
  }

  // False: as take().
  bool take_gone(const GoneJob& job, Group& group, const Context& context) {
    const std::optional<Readiness> state = gone_job(client_, job, context);
    return state ? settle(job.key, *state, nullptr, group) : lose(job.key, group, context);
  }

  /// False: this group needs no more watching.
  bool take(const ObjectKey& key, const kube::WatchEvent& event, Group& group, const Context& context) {
    const bool deleted = event.type == kube::WatchEventType::Deleted;
    Readiness state;
    if (!deleted) {
      group.seen.insert(key);
      state = readiness(event.object, binding_.as_rule(context));
    } else {
      group.seen.erase(key);
      // After a break of the watch no more is known than that it is gone.
      const std::optional<GoneJob> job =
          event.object.find("status") == nullptr ? what_removes_itself(key) : std::nullopt;
      if (job) return take_gone(*job, group, context);
      auto ended = ended_job(event.object);
      if (!ended) return lose(key, group, context);
      state = *std::move(ended);
    }
    if (!options_.jobs_end && state.health == Health::InProgress && is_begun_job(event.object))
      state.health = Health::Ready;
    return settle(key, std::move(state), &event.object, group);
  }

  std::optional<GoneJob> what_removes_itself(const ObjectKey& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(key);
    if (found == open_.end() || !found->second.removal_delay) return std::nullopt;
    return GoneJob{key, found->second.uid, *found->second.removal_delay};
  }

  // Objects of this group that lost our label before they were seen. False: as take().
  bool look_for_unlabelled(const Group& group, const Context& context) {
    return std::ranges::all_of(unseen(group), [&](const ObjectKey& key) {
      return !lost_label({group.resource, key.ns, key.name}, context) || lose(key, lost_label_words());
    });
  }

  // The watch selects by our label: what it doesn't list, or no longer lists, may be there without it.
  bool lost_label(const kube::ObjectRef& ref, const Context& context) {
    const auto there = client_.get(ref, context);
    return there.ok() && there->string_at({"metadata", "labels", kPartOfLabel}) != apply_set_id(release_);
  }
  static std::string lost_label_words() {
    return fmt::format("lost the label {}, by which it is the release's", kPartOfLabel);
  }

  // What is awaited was deleted, or somebody made it another's.
  bool lose(const ObjectKey& key, const Group& group, const Context& context) {
    const bool there = lost_label({group.resource, key.ns, key.name}, context);
    return lose(key, there ? lost_label_words() : "was deleted while it was waited for");
  }
  bool lose(const ObjectKey& key, const std::string& how) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(key);
    if (found == open_.end()) return true;
    found->second.why = fmt::format("it {}", how);
    events_.object({key.display(), "failed", found->second.why});
    blamed_.insert(key);
    fail(error(ErrorKind::Invalid, "{} {}", key.display(), how));
    return false;
  }

  // `live`: as it was seen; null: it is gone.
  bool settle(const ObjectKey& key, Readiness state, const Value* live, Group& group) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(key);
    if (found == open_.end()) return true;
    Open& object = found->second;
    if (live != nullptr) state = object.earlier_failure.judge(std::move(state), *live);
    if (state.health == Health::Ready) {
      events_.object({key.display(), "ready", state.detail});
      pods_->forget(key);
      open_.erase(found);
      if (open_.empty()) changed_.notify_all();
      return --group.open > 0;
    }
    if (live != nullptr) object.live = *live;
    if (state.health == Health::Failed) {
      events_.object({key.display(), "failed", state.detail});
      object.why = state.detail;
      blamed_.insert(key);
      fail(error(ErrorKind::Invalid, "{} failed", key.display()).with_because(state.detail));
      return false;
    }
    const std::string before = object.detail();
    object.why = state.detail;
    if (live != nullptr && key.group_kind == kPodKind)
      object.trouble = next_trouble(object.trouble, trouble_of(*live));
    else if (live != nullptr)
      pods_->follow(key, *live);
    if (object.detail() != before) events_.object({key.display(), "waiting", object.detail()});
    return true;
  }

  // What its Pods say; from a thread of pods_.
  void explain(const ObjectKey& key, const PodTrouble& trouble) {
    const std::scoped_lock lock(mutex_);
    const auto found = open_.find(key);
    if (found == open_.end() || blamed_.contains(key)) return;
    const std::string before = found->second.detail();
    found->second.trouble = next_trouble(found->second.trouble, trouble);
    if (found->second.detail() != before) events_.object({key.display(), "waiting", found->second.detail()});
  }

  // One watch came to its end.
  void end(Status watched) {
    if (watched.ok()) return;
    const std::scoped_lock lock(mutex_);
    if (stop_.stop_requested()) return;  // we ended it
    if (!context_.check().ok()) return;  // keep_time() says it, with the objects' names
    fail(std::move(watched).error());
  }

  // The first failure ends the other watches: nothing is gained by waiting for the rest of a broken release.
  // The caller holds mutex_.
  void fail(Error failure) {
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

  void keep_time() {
    std::unique_lock lock(mutex_);
    while (!open_.empty() && !failure_) {
      if (Status still = context_.check(); !still.ok()) {
        for (const auto& [key, object] : open_) blamed_.insert(key);
        return fail(std::move(still).error());
      }
      SteadyTime next = context_.deadline().value_or(SteadyTime::max());
      for (const auto& [key, object] : open_) next = std::min(next, object.deadline);
      const SteadyTime now = std::chrono::steady_clock::now();
      if (next <= now) {
        for (const auto& [key, object] : open_)
          if (object.deadline <= now) blamed_.insert(key);
        return fail(error(ErrorKind::Timeout, "the time is over"));
      }
      changed_.wait_until(lock, context_.stop(), next, [&] { return open_.empty() || failure_; });
    }
  }

  kube::Client& client_;
  const Owner& release_;
  const WaitOptions& options_;
  EventSink& events_;
  const Context& context_;
  BindingModes binding_;
  std::map<std::pair<GroupKind, std::string>, Group> groups_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_ while threads run.
  std::map<ObjectKey, Open> open_;
  std::set<ObjectKey> blamed_;
  std::optional<Error> failure_;
  std::optional<PodWatch> pods_;  // during run()
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
    if (!is_worth_waiting(wanted) || plan.is_hook(action) || action.finished) continue;
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
  Waiting waiting(client, release, options, events, context);
  const SteadyTime now = std::chrono::steady_clock::now();
  for (const AwaitedObject& object : objects)
    waiting.add(object, object.timeout.value_or(options.timeout), now);
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
