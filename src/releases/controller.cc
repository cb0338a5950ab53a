#include "releases/controller.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "apimachinery/conditions.h"
#include "apimachinery/label_selector.h"
#include "base/text.h"
#include "kube/multi_namespace_informer.h"
#include "operator/executor.h"
#include "operator/work_queue.h"
#include "releases/claims.h"
#include "releases/pause.h"
#include "releases/status_write.h"
#include "releases/waiting.h"

namespace mist::releases {
namespace {

constexpr Duration kUnservedPause = std::chrono::seconds(5);
// As metrics call them.
constexpr const char* kQueue = "releases";
constexpr std::string_view kController = "Release";
constexpr std::string_view kNoReason = "Unknown";  // no status was written yet

// Removes fields that nobody reads here.
void prune(Value& object) {
  if (Value* const metadata = object.find("metadata")) metadata->erase("managedFields");
}

// The facts that a reconciliation depends on, beside what it reads.
struct Wish {
  std::string uid;
  std::int64_t generation = 0;
  bool terminating = false;
  std::string asked;  // kReconcileAnnotation
  friend bool operator==(const Wish&, const Wish&) = default;
};

Wish wish_of(const Value& object) {
  return {std::string(object.string_at({"metadata", "uid"})), generation_of(object),
          apimachinery::is_terminating(object),
          std::string(object.string_at({"metadata", "annotations", kReconcileAnnotation}))};
}

}  // namespace

class Controller::State {
 public:
  State(Dependencies dependencies, operator_::Metrics& metrics, Scope scope, int workers)
      : dependencies_(std::move(dependencies)),
        metrics_(metrics),
        scope_(std::move(scope)),
        workers_(workers),
        queue_(dependencies_.clock),
        reconciler_(dependencies_) {}

  Status run(const Context& context) {
    MIST_TRY(const std::optional<kube::ResourceInfo> kind, served_kind(context));
    if (!kind) return {};
    {
      // Its thread waits for the lock before it uses the informer.
      const std::lock_guard lock(mutex_);
      informer_ = std::make_unique<kube::MultiNamespaceInformer>(
          dependencies_.client, *kind, kube::ListOptions{.label_selector = scope_.selector},
          scope_.namespaces.names(), prune, [this](const std::optional<Key>& key) { changed(key); },
          dependencies_.clock, dependencies_.events, [this] { changed(std::nullopt); });
    }
    dependencies_.events.info(fmt::format(
        "watching Releases {} {}", scope_.namespaces.are_all() ? "of" : "in", scope_.namespaces.display()));
    {
      // Which of two Releases is the older one isn't known before. See knows_elders().
      std::unique_lock lock(mutex_);
      synced_.wait(lock, context.stop(), [this] { return is_settled_; });
    }
    metrics_.watch_queue(kQueue, [this] { return queue_.state(); });
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(workers_));
    for (int i = 0; i < workers_; ++i)
      threads.emplace_back([&] {
        while (const std::optional<Key> key = queue_.take(context.stop())) work(*key, context);
      });
    threads.clear();
    metrics_.watch_queue(kQueue, {});
    metrics_.keeps_no_releases();
    return {};
  }

 private:
  // A status that is true and that the server hasn't stored.
  struct Unstored {
    std::string uid;  // of the Release that it is about
    Value status;
  };

  // The facts about a Release that are known beside the object.
  struct Kept {
    std::optional<Wish> reconciled;           // as which it was reconciled last
    std::optional<SteadyTime> due;            // of the next one; nullopt: when something happens
    bool woken = false;                       // what it waits for has changed
    std::optional<Outcome> untold;            // the last one, of which the status is to be written once more
    std::optional<Unstored> unstored;         // the last status, if the server took none since
    std::string counted;                      // as which metrics count it; empty: they don't
    std::optional<Wish> in_hand;              // as which it is reconciled now
    std::stop_source stop{std::nostopstate};  // of that
  };

  // nullopt: stopped.
  Result<std::optional<kube::ResourceInfo>> served_kind(const Context& context) {
    bool told = false;
    while (!context.stop().stop_requested()) {
      auto kind = dependencies_.client.resource_for({std::string(kGroup), std::string(kKind)},
                                                    std::string(kVersion), context);
      if (kind.ok()) {
        MIST_TRY_VOID(check_rights(*kind, context));
        return std::optional(*std::move(kind));
      }
      if (kind.error().kind != ErrorKind::NotFound) return std::move(kind).error();
      if (!std::exchange(told, true))
        dependencies_.events.warn(
            "the cluster doesn't serve the kind Release yet: mistletoe-operator --crds | kubectl apply -f -");
      std::unique_lock lock(mutex_);
      synced_.wait_for(lock, context.stop(), kUnservedPause, [] { return false; });
      lock.unlock();
      dependencies_.client.invalidate_discovery();
    }
    return std::optional<kube::ResourceInfo>();
  }

  // Says at once what is wrong with permissions. A namespace that is gone, or that lacks its Role, stops
  // nothing in the others; its informer asks again.
  Status check_rights(const kube::ResourceInfo& kind, const Context& context) {
    std::vector<std::string> places = scope_.namespaces.names();
    if (places.empty()) places.emplace_back();
    std::vector<std::pair<std::string, Error>> refused;
    for (const std::string& ns : places) {
      auto listed = dependencies_.client.list(
          kind, {.ns = ns, .label_selector = scope_.selector, .metadata_only = true}, context);
      if (listed.ok()) continue;
      if (listed.error().kind != ErrorKind::Forbidden) return std::move(listed).error();
      refused.emplace_back(ns, std::move(listed).error());
    }
    if (refused.size() == places.size()) return refused.front().second;
    for (const auto& [ns, failure] : refused)
      dependencies_.events.warn(fmt::format(
          "Releases in namespace {} can't be listed, and stay as they are until they can; so do those whose "
          "release is in another namespace than they are: {}",
          ns, failure.to_line()));
    return {};
  }

  // Whether every Release is known that may be an older one of the same release. That of the release's own
  // namespace goes first, so that another namespace that can't be listed makes no difference to it.
  bool knows_elders(const Key& key, const Value& object) const {
    return informer_->synced(key.first) && (release_of(object).first == key.first || informer_->synced());
  }

  // On the informer's thread.
  void changed(const std::optional<Key>& key) {
    const std::lock_guard lock(mutex_);
    if (!key) {
      is_settled_ |= informer_->settled();
      for (const Key& each : std::exchange(without_elders_, {})) queue_.add(each);
      return synced_.notify_all();
    }
    const std::optional<Value> object = informer_->get(*key);
    std::set<Key> wake = claims_.rivals(*key);
    claims_.note(*key, object);
    wake.merge(claims_.rivals(*key));
    wake.merge(waiting_.take(*key));
    for (const Key& each : wake) {
      if (!scope_.share.has(each.first)) continue;
      kept_[each].woken = true;
      queue_.add(each);
    }
    if (!scope_.share.has(key->first)) return;
    queue_.add(*key);
    const auto kept = kept_.find(*key);
    if (kept == kept_.end() || !kept->second.in_hand) return;
    const Wish& in_hand = *kept->second.in_hand;
    // One that goes is gone by the work of its reconciliation. Any other may be an operator's by now that
    // selects other labels.
    if (object ? in_hand != wish_of(*object) : !in_hand.terminating) kept->second.stop.request_stop();
  }

  // As which metrics count a Release: one that is suspended keeps the condition Ready of before.
  static std::string counted_reason(const Value& object) {
    for (const std::string_view type : {"Suspended", "Ready"})
      if (const Value* const condition = apimachinery::condition_of(object, type))
        return std::string(condition->string_at("reason"));
    return std::string(kNoReason);
  }

  static std::string why_not_ready(const Outcome& outcome) {
    if (!outcome.status) return {};
    const Value object = Value::object({{"status", *outcome.status}});
    const Value* const ready = apimachinery::condition_of(object, "Ready");
    return ready == nullptr ? std::string() : std::string(ready->string_at("message"));
  }

  void work(const Key& key, const Context& context) {
    std::unique_lock lock(mutex_);
    // With the lock, so that a change that comes after it finds which one is in hand.
    std::optional<Value> object = informer_->get(key);
    if (!object) {
      count(kept_[key], {});
      kept_.erase(key);
      waiting_.forget(key);
      let_next_in(key.first);
      return queue_.succeeded(key);
    }
    Kept& kept = kept_[key];
    if (kept.counted.empty()) count(kept, counted_reason(*object));
    if (!knows_elders(key, *object)) {
      without_elders_.insert(key);
      let_next_in(key.first);
      return queue_.put_back(key);
    }
    const Wish wish = wish_of(*object);
    const SteadyTime now = dependencies_.clock.steady_now();
    const bool is_woken = kept.woken && !kept.untold;
    if (kept.reconciled == wish && !is_woken && (!kept.due || *kept.due > now)) {
      if (kept.due) queue_.add(key, *kept.due - now);
      let_next_in(key.first);
      return queue_.put_back(key);
    }
    // A reconciliation may wait for long; those of one namespace leave some to the others.
    if (!has_room(key.first)) {
      std::deque<Key>& crowded = crowded_[key.first];
      if (std::ranges::find(crowded, key) == crowded.end()) crowded.push_back(key);
      return queue_.put_back(key);
    }
    ++running_of_[key.first];
    leave_crowd(key);
    if (kept.reconciled && *kept.reconciled != wish) queue_.forgive(key);
    // The findings of a reconciliation, such as how often an upgrade has failed, count for the next one.
    if (kept.unstored && kept.unstored->uid == wish.uid) object->set("status", kept.unstored->status);
    const std::optional<Outcome> untold =
        kept.reconciled == wish ? std::exchange(kept.untold, {}) : std::optional<Outcome>();
    kept.untold.reset();
    if (!untold) kept.woken = false;
    kept.in_hand = wish;
    kept.stop = std::stop_source();
    const std::stop_token token = kept.stop.get_token();
    lock.unlock();
    const std::stop_callback whole(context.stop(), [source = kept.stop]() mutable { source.request_stop(); });
    const Result<Outcome> outcome =
        untold ? Result<Outcome>(*untold) : reconcile(key, *object, context, context.with_stop(token));
    const std::optional<Value> status = outcome.ok() ? to_be_written(key, wish, *outcome) : std::nullopt;
    const Status told = status ? write(*object, *status, context) : Status();
    lock.lock();
    if (--running_of_[key.first] == 0) running_of_.erase(key.first);
    let_next_in(key.first);
    Kept& after = kept_[key];
    after.in_hand.reset();
    if (context.stop().stop_requested()) return;
    if (!outcome.ok() && token.stop_requested()) {
      // Overtaken: what is wanted now is reconciled.
      after.reconciled.reset();
      queue_.add(key);
      return queue_.succeeded(key);
    }
    if (!outcome.ok())
      dependencies_.events.warn(fmt::format("Release {}: {}", display(key), outcome.error().to_line()),
                                fields_of(key));
    const Outcome done = outcome.ok() ? *outcome : Outcome{.failed = true};
    after.reconciled = wish;
    after.due.reset();
    std::optional<Duration> again;
    if (!told) {
      // Somebody has to learn of it; others may wait for this one to be ready. Writing it again changes
      // nothing else.
      dependencies_.events.warn(told.error().to_line(), fields_of(key));
      const ErrorKind why = told.error().kind;
      // A server that refuses it may refuse it for ever: the Release has to be reconciled all the same, with
      // the status that it should have.
      if (why == ErrorKind::Retryable || why == ErrorKind::Timeout) after.untold = done;
      again = pause_after(Outcome{.failed = true, .wrote = done.wrote}, queue_.failed(key));
    } else if (done.failed) {
      again = pause_after(done, queue_.failed(key));
    } else {
      again = pause_after(done, {});
      queue_.succeeded(key);
    }
    if (again) {
      after.due = dependencies_.clock.steady_now() + std::chrono::duration_cast<SteadyTime::duration>(*again);
      queue_.add(key, *again);
    }
    // Since before the status was written.
    if (after.woken && !after.untold) queue_.add(key);
  }

  // `ours` is stopped when the reconciliation is overtaken.
  Result<Outcome> reconcile(const Key& key, const Value& object, const Context& context,
                            const Context& ours) {
    const operator_::Metrics::Working working(metrics_, kController);
    const SteadyTime began = dependencies_.clock.steady_now();
    operator_::Span span = operator_::begin_trace(dependencies_.traces, "reconcile Release");
    span.set("k8s.namespace.name", key.first);
    span.set("mistletoe.release", key.second);
    auto outcome = reconciler_.reconcile(
        object,
        {[this](const Key& other) { return informer_->get(other); },
         [this](const Value& about) { return elder(about); },
         [this](const Key& on, const Key& who) { wake_for(on, who); }},
        [&](const Value& status) {
          if (const Status told = write(object, status, context); !told)
            dependencies_.events.warn(told.error().to_line(), fields_of(key));
        },
        ours);
    if (!outcome.ok()) span.fails(outcome.error().to_line());
    if (outcome.ok() && outcome->failed) span.fails(why_not_ready(*outcome));
    if (outcome.ok() || !ours.stop().stop_requested())
      metrics_.reconciled(kController, outcome.ok() && !outcome->failed,
                          dependencies_.clock.steady_now() - began);
    return outcome;
  }

  // nullopt: what is stored is true.
  std::optional<Value> to_be_written(const Key& key, const Wish& wish, const Outcome& outcome) {
    if (outcome.status) return outcome.status;
    const std::lock_guard lock(mutex_);
    const std::optional<Unstored>& unstored = kept_[key].unstored;
    return unstored && unstored->uid == wish.uid ? std::optional(unstored->status) : std::nullopt;
  }

  // With the lock. Where all Releases are of one namespace, there is nobody to leave any to.
  bool has_room(const std::string& ns) const {
    const int share = scope_.namespaces.names().size() == 1 ? workers_ : std::max(1, workers_ / 4);
    const auto running = running_of_.find(ns);
    return running == running_of_.end() || running->second < static_cast<std::size_t>(share);
  }

  // With the lock, whenever one of the namespace needs no reconciliation or has had it.
  void let_next_in(const std::string& ns) {
    const auto crowded = crowded_.find(ns);
    if (crowded == crowded_.end() || !has_room(ns)) return;
    queue_.add(crowded->second.front());
    crowded->second.pop_front();
    if (crowded->second.empty()) crowded_.erase(crowded);
  }

  // With the lock. One that came in because it has changed would else be let in once more, in place of
  // another.
  void leave_crowd(const Key& key) {
    const auto crowded = crowded_.find(key.first);
    if (crowded == crowded_.end()) return;
    std::erase(crowded->second, key);
    if (crowded->second.empty()) crowded_.erase(crowded);
  }

  std::optional<Key> elder(const Value& object) {
    const std::lock_guard lock(mutex_);
    return claims_.elder(object);
  }

  void wake_for(const Key& on, const Key& who) {
    const std::lock_guard lock(mutex_);
    waiting_.add(on, who);
  }

  Status write(const Value& object, const Value& status, const Context& context) {
    const kube::ObjectRef ref{informer_->resource(), std::string(object.string_at({"metadata", "namespace"})),
                              std::string(object.string_at({"metadata", "name"}))};
    const Key key{ref.ns, ref.name};
    note_reason(key, counted_reason(Value::object({{"status", status}})));
    auto written = write_status(dependencies_.client, ref, operator_::identity(object), status, context);
    if (written.ok()) {
      note_unstored(key, {});
      if (written->is_crd_older) tell_of_older_crd();
      informer_->put(std::move(written->object));
      return {};
    }
    const ErrorKind kind = written.error().kind;
    // Gone meanwhile, or made again under its name.
    if (kind == ErrorKind::NotFound || kind == ErrorKind::Conflict || kind == ErrorKind::Cancelled) return {};
    note_unstored(key, Unstored{std::string(object.string_at({"metadata", "uid"})), status});
    return std::move(written).error().with_frame(
        fmt::format("while the status of Release {}/{} was written", ref.ns, ref.name));
  }

  // With the lock.
  void count(Kept& kept, std::string_view reason) {
    metrics_.release(kept.counted, reason);
    kept.counted = reason;
  }

  void note_reason(const Key& key, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (const auto kept = kept_.find(key); kept != kept_.end() && !kept->second.counted.empty())
      count(kept->second, reason);
  }

  void note_unstored(const Key& key, std::optional<Unstored> unstored) {
    const std::lock_guard lock(mutex_);
    kept_[key].unstored = std::move(unstored);
  }

  void tell_of_older_crd() {
    if (!is_crd_told_.exchange(true))
      dependencies_.events.warn(
          "the CRD of Releases is of an older operator, so their status says less: mistletoe-operator --crds "
          "| "
          "kubectl apply -f -");
  }

  const Dependencies dependencies_;
  operator_::Metrics& metrics_;
  const Scope scope_;
  const int workers_;
  operator_::WorkQueue<Key> queue_;
  const Reconciler reconciler_;
  std::atomic<bool> is_crd_told_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable_any synced_;
  bool is_settled_ = false;
  std::set<Key> without_elders_;  // that wait until it is known whether there are older ones
  Claims claims_;
  std::map<Key, Kept> kept_;
  // By namespace: reconciliations that go on, and Releases that wait until one of these ends.
  std::map<std::string, std::size_t> running_of_;
  std::map<std::string, std::deque<Key>> crowded_;
  Waiting waiting_;
  std::unique_ptr<kube::MultiNamespaceInformer> informer_;  // last: its thread uses the others
};

Controller::Controller(Dependencies dependencies, operator_::Metrics& metrics, Scope scope, int workers)
    : state_(std::make_unique<State>(std::move(dependencies), metrics, std::move(scope), workers)) {}
Controller::~Controller() = default;

Status Controller::run(const Context& context) { return state_->run(context); }

std::string Controller::why_not_kept(const Scope& scope, const Value& release) {
  if (!scope.namespaces.has(release.string_at({"metadata", "namespace"})))
    return fmt::format(
        "this operator looks only at Releases of {}: start it with --releases all, and, where it has "
        "--watch-namespace, with that namespace too",
        scope.namespaces.display());
  if (apimachinery::selects(scope.selector, release)) return {};
  return fmt::format(
      "this operator looks only at Releases whose labels match {} (--release-selector), and "
      "a node's function may give its labels",
      scope.selector);
}

}  // namespace mist::releases
