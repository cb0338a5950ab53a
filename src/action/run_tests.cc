#include "action/run_tests.h"

#include <fnmatch.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "action/deploy/deploy.h"
#include "apply/execute/remove.h"
#include "apply/plan/finished_job.h"
#include "apply/plan/hooks.h"
#include "apply/plan/observe.h"
#include "apply/plan/test_objects.h"
#include "apply/wait/pod_logs.h"
#include "apply/wait/pod_trouble.h"
#include "apply/wait/root_cause.h"
#include "apply/wait/wait.h"
#include "apply/wait/waiting_rules.h"
#include "base/text.h"
#include "release/command_text.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using apply::DesiredObject;
using encoding::Value;
using release::RenderedObject;

namespace {

constexpr Duration kCleaningLimit = std::chrono::seconds(60);

const GroupKind kPod{"", "Pod"};
const GroupKind kJob{"batch", "Job"};

bool is_run(const ObjectKey& key) { return key.group_kind == kPod || key.group_kind == kJob; }

std::vector<const RenderedObject*> recorded_tests(const ReleaseState& state) {
  std::vector<const RenderedObject*> tests;
  const auto look = [&](const release::Revision& revision) {
    for (const RenderedObject& test : revision.tests) tests.push_back(&test);
  };
  if (state.deployed) look(*state.deployed);
  for (const release::Revision& revision : state.unfinished) look(revision);
  return tests;
}

// One LIST for each kind and namespace that tests of the record have.
Result<std::vector<apply::Removal>> leftovers(const Environment& environment, const ReleaseState& state,
                                              const Context& context) {
  std::vector<apply::Removal> found;
  std::set<std::pair<GroupKind, std::string>> looked_at;
  const std::string part_of = apply::apply_set_id(apply::test_set(state.id));
  for (const RenderedObject* test : recorded_tests(state)) {
    const auto& gvk = test->object.gvk();
    auto resource = environment.client.resource_for(gvk.group_kind(), gvk.version, context);
    if (!resource.ok()) {
      if (resource.error().kind == ErrorKind::NotFound) continue;  // the kind is gone, and they with it
      return std::move(resource).error();
    }
    const std::string own(test->object.ns());
    const std::string ns = !resource->namespaced ? "" : own.empty() ? state.id.ns : own;
    if (!looked_at.emplace(gvk.group_kind(), ns).second) continue;
    kube::ListOptions options;
    options.ns = ns;
    options.label_selector = fmt::format("{}={}", apply::kPartOfLabel, part_of);
    options.metadata_only = true;
    const auto list = environment.client.list(*resource, options, context);
    if (!list.ok()) {
      // A caller that may not look there made nothing there; objects of others go with the release's record.
      if (list.error().kind == ErrorKind::Forbidden) continue;
      return list.error();
    }
    for (const Value& item : list->items)
      found.push_back({.key = {gvk.group_kind(), std::string(item.string_at({"metadata", "namespace"})),
                               std::string(item.string_at({"metadata", "name"}))},
                       .version = resource->gvk.version,
                       .uid = std::string(item.string_at({"metadata", "uid"})),
                       .resource_version = std::string(item.string_at({"metadata", "resourceVersion"}))});
  }
  return found;
}

Status remove_leftovers(const Environment& environment, const ReleaseState& state, const Context& context) {
  auto removals = leftovers(environment, state, context);
  if (!removals.ok())
    return std::move(removals).error().with_frame("while looking for what earlier tests left");
  if (removals->empty()) return {};
  environment.events.info(
      fmt::format("removing {} that an earlier run of tests left", plural(removals->size(), "object")));
  apply::RemovalReport report =
      apply::execute_removals(environment.client, *removals, apply::apply_set_id(apply::test_set(state.id)),
                              {.wait = true}, environment.events, context);
  if (!report.failure) return {};
  return (*std::move(report.failure)).with_frame("while removing what earlier tests left");
}

// The owner of a release's tests, whose anchor is another Secret.
release::ReleaseId tests_of(const release::ReleaseId& release) {
  const apply::Owner set = apply::test_set(release);
  return {set.ns, set.name};
}

// The right to run the tests of a release: a Secret of its own, mistletoe.<name>.test, that is there as long
// as a run goes on. It is also the ApplySet parent (KEP-3659) that the tests' objects name.
class TestLock {
 public:
  static Result<std::unique_ptr<TestLock>> take(const Environment& environment, const ReleaseState& state,
                                                const Context& context) {
    std::unique_ptr<TestLock> lock(new TestLock(environment));
    MIST_TRY(lock->held_, lock->acquire(state, context));
    return lock;
  }

  Context context() const { return held_->context(); }
  bool lost() const { return held_->lost(); }
  Error loss() const { return held_->loss(); }

  /// Nothing of the run is left.
  void give_back() {
    if (held_->lost()) return;
    held_->drop();
    const Status removed = store_.delete_anchor(held_->anchor(), Context().with_timeout(kCleaningLimit));
    if (!removed.ok())
      environment_.events.warn(
          fmt::format("{}; the next run waits until it is seen to be abandoned", removed.error().to_line()));
  }

 private:
  explicit TestLock(const Environment& environment) : environment_(environment), store_(environment.client) {}

  Result<std::unique_ptr<release::ReleaseLock>> acquire(const ReleaseState& state, const Context& context) {
    const release::LockDependencies dependencies = lock_dependencies(environment_, store_);
    const release::LockOptions options = lock_options(environment_, "test", ReleaseState());
    const release::ReleaseId id = tests_of(state.id);
    for (int attempt = 1;; ++attempt) {
      release::Anchor fresh;
      fresh.id = id;
      fresh.tests_of = apply::anchor_name(state.id);
      fresh.tests_of_uid = state.anchor->uid;
      auto lock = release::ReleaseLock::create(dependencies, std::move(fresh), options, context);
      if (lock.ok() || !release::anchor_moved(lock.error())) return lock;
      MIST_TRY(std::optional<release::Anchor> there, store_.read_anchor(id, context));
      if (there) {
        const std::optional<release::Lock> holder = there->lock;
        lock = release::ReleaseLock::acquire(dependencies, *std::move(there), {}, options, context);
        if (lock.ok()) return lock;
        const bool moved = release::anchor_moved(lock.error());
        if (!moved && lock.error().kind == ErrorKind::Conflict && holder) return running(state.id, *holder);
        if (!moved) return lock;
      }
      if (attempt == kMostAttempts) return lock;
    }
  }

  static Error running(const release::ReleaseId& id, const release::Lock& holder) {
    return error(ErrorKind::Conflict, "the tests of release {} are being run: {} began at {}", id.display(),
                 holder.holder, holder.acquired)
        .with_hint("wait for that run, or let this command wait with --lock-wait 5m");
  }

  const Environment& environment_;
  release::Store store_;
  std::unique_ptr<release::ReleaseLock> held_;
};

// Why a test has not ended yet, as soon as it, its Pods or their absence tell.
class TestProgress {
 public:
  TestProgress(kube::Client& client, EventSink& events, ObjectKey key, const Context& context)
      : events_(events),
        key_(std::move(key)),
        pods_(
            client, [this](const ObjectKey&, const apply::PodTrouble& trouble) { hear(trouble); }, context) {}

  void waits(const Value& live) {
    pods_.follow(key_, live);
    const std::scoped_lock lock(mutex_);
    detail_ = apply::hook_state(live).detail;
    if (key_.group_kind == kPod) trouble_ = apply::next_trouble(trouble_, apply::trouble_of(live));
    tell();
  }

  void ended(const TestResult& result) {
    pods_.forget(key_);
    const std::scoped_lock lock(mutex_);
    over_ = true;
    if (!told_.empty())
      events_.object({key_.display(), std::string(to_string(result.outcome)), result.message});
  }

 private:
  // From a thread of pods_.
  void hear(const apply::PodTrouble& trouble) {
    const std::scoped_lock lock(mutex_);
    trouble_ = apply::next_trouble(trouble_, trouble);
    tell();
  }

  // Under the lock. A test that runs as it should needs no word.
  void tell() {
    if (over_ || (trouble_.text.empty() && told_.empty())) return;
    std::string now = trouble_.text.empty() ? detail_ : fmt::format("{}; {}", trouble_.text, detail_);
    if (now == told_) return;
    told_ = std::move(now);
    events_.object({key_.display(), "waiting", told_});
  }

  EventSink& events_;
  const ObjectKey key_;
  std::mutex mutex_;
  std::string detail_, told_;  // guarded by mutex_
  apply::PodTrouble trouble_;  // guarded by mutex_
  bool over_ = false;          // guarded by mutex_
  apply::PodWatch pods_;       // last: it calls hear()
};

class TestRun {
 public:
  TestRun(const Environment& environment, const ReleaseState& state, const TestOptions& options,
          const OnTestResult& on_result)
      : environment_(environment),
        client_(environment.client),
        state_(state),
        options_(options),
        on_result_(on_result),
        set_(tests_of(state.id)) {
    report_.id = state.id;
    report_.revision = state.deployed->number;
  }

  Result<TestReport> run(const Context& context) {
    MIST_TRY_VOID(choose(context));
    if (tests_.empty()) return std::move(report_);
    MIST_TRY(lock_, TestLock::take(environment_, state_, context));
    Status done = locked(lock_->context());
    lock_->give_back();
    if (lock_->lost()) return lock_->loss();
    if (!done.ok()) return std::move(done).error();
    return std::move(report_);
  }

 private:
  Status locked(const Context& context) {
    MIST_TRY_VOID(remove_leftovers(environment_, state_, context));
    MIST_TRY_VOID(refuse_strangers(context));
    Status done = everything(context);
    clean_up();
    return done;
  }

  // The tests that the filter leaves, and what all tests need.
  Status choose(const Context& context) {
    MIST_TRY(std::vector<DesiredObject> all, apply::prepare(state_.deployed->tests, set_, client_, context));
    std::vector<std::string> names;
    for (DesiredObject& object : all) {
      own(object);
      if (!is_run(object.key)) {
        needed_.push_back(std::move(object));
        continue;
      }
      names.push_back(object.key.name);
      if (options_.filter.empty() || ::fnmatch(options_.filter.c_str(), object.key.name.c_str(), 0) == 0)
        tests_.push_back(std::move(object));
    }
    if (!tests_.empty() || options_.filter.empty()) return {};
    return error(ErrorKind::NotFound, "no test of release {} fits \"{}\"", state_.id.display(),
                 escape_controls(options_.filter))
        .with_hint(names.empty() ? "it has no Pods or Jobs among its tests"
                                 : "its tests are " + join(names, ", "));
  }

  // Should everything else fail, they go with the release's record.
  void own(DesiredObject& object) const {
    if (!object.resource.namespaced || object.key.ns != state_.id.ns) return;
    object.rendered.object.mutable_value()["metadata"]["ownerReferences"].push_back(
        Value::object({{"apiVersion", "v1"},
                       {"kind", "Secret"},
                       {"name", apply::anchor_name(state_.id)},
                       {"uid", state_.anchor->uid}}));
  }

  // A live object that isn't a test's is never overwritten.
  Status refuse_strangers(const Context& context) {
    std::vector<DesiredObject> wanted = needed_;
    wanted.insert(wanted.end(), tests_.begin(), tests_.end());
    MIST_TRY(const apply::LiveState live, apply::observe(client_, set_, wanted, {}, context));
    for (const DesiredObject& object : wanted) {
      if (!live.contains(object.key)) continue;
      return error(ErrorKind::Conflict, "{} exists, but no run of these tests made it", object.key.display())
          .at({.file = object.rendered.file, .line = object.rendered.line, .column = 0, .excerpt = {}})
          .with_hint("give the test another name, or remove that object");
    }
    return {};
  }

  Status everything(const Context& context) {
    if (Status ready = provide(context); !ready.ok()) {
      for (const DesiredObject& test : tests_) skip(test, "the objects that the tests need are not there");
      return ready;
    }
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      if (Status still = context.check(); !still.ok()) {
        for (std::size_t j = i; j < tests_.size(); ++j) skip(tests_[j], "the run was stopped");
        return still;
      }
      report_.tests.push_back(run_one(tests_[i], context));
      on_result_(report_.tests.back());
    }
    return context.check();
  }

  void skip(const DesiredObject& test, std::string why) {
    report_.tests.push_back({.key = test.key, .outcome = TestOutcome::Skipped, .message = std::move(why)});
    on_result_(report_.tests.back());
  }

  // Applies objects and notes them for cleaning up. Returns the first one's uid.
  Result<std::string> send(const std::vector<DesiredObject>& objects, const Context& context) {
    MIST_TRY(const apply::Plan plan, apply::make_plan(set_, objects, {}, {}, state_.deployed->number, {}));
    const apply::Execution execution = apply::execute_writes(client_, plan, {}, environment_.events, context);
    for (std::size_t i = 0; i < plan.writes.size(); ++i) {
      // Of what was begun and has no uid nobody knows whether it is there; its label tells.
      if (execution.writes[i] != apply::Outcome::NotStarted)
        created_.push_back({.key = plan.writes[i].key,
                            .version = plan.writes[i].resource.gvk.version,
                            .uid = execution.uids[i],
                            .resource_version = execution.versions[i]});
    }
    if (execution.failure) return *execution.failure;
    return execution.uids.empty() ? std::string() : execution.uids.front();
  }

  Status provide(const Context& context) {
    if (needed_.empty()) return {};
    Activity activity(environment_.events,
                      fmt::format("applying {} that the tests need", plural(needed_.size(), "object")));
    auto applied = send(needed_, context);
    if (!applied.ok()) {
      activity.fail();
      return std::move(applied).error().with_frame("while applying what the tests need");
    }
    std::vector<apply::AwaitedObject> awaited;
    for (const DesiredObject& object : needed_) {
      if (apply::is_worth_waiting(object.rendered.object.value()))
        awaited.push_back({object.key, object.resource, timeout_of(object)});
    }
    Status ready = apply::wait_until_ready(client_, set_, awaited, {.timeout = options_.timeout},
                                           environment_.events, context);
    if (ready.ok()) return {};
    activity.fail();
    return std::move(ready).error().with_frame("while waiting for what the tests need");
  }

  static std::optional<Duration> timeout_of(const DesiredObject& object) {
    const auto rules = apply::waiting_rules(object.rendered.object.value());
    return rules.ok() ? rules->timeout : std::nullopt;
  }

  TestResult run_one(const DesiredObject& test, const Context& context) {
    Activity activity(environment_.events, fmt::format("testing {}", test.key.display()));
    TestResult result{.key = test.key};
    const SteadyTime began = environment_.clock.steady_now();
    auto uid = send({test}, context);
    if (!uid.ok()) {
      result.outcome = TestOutcome::Failed;
      result.message = uid.error().to_line();
    } else {
      await(test, *uid, result, context);
    }
    result.elapsed = environment_.clock.steady_now() - began;
    if (result.outcome != TestOutcome::Passed) activity.fail();
    return result;
  }

  // Of a Job that is gone. Nullopt: it doesn't remove itself, or it was somebody else.
  std::optional<apply::Readiness> gone_job(const DesiredObject& test, const std::string& uid, Duration limit,
                                           const Context& context) {
    const std::optional<Duration> delay = apply::removal_delay(test.rendered.object.value());
    return delay ? apply::gone_job(client_, {test.key, uid, *delay}, context.with_timeout(limit))
                 : std::nullopt;
  }

  void await(const DesiredObject& test, const std::string& uid, TestResult& result, const Context& context) {
    const Duration limit = timeout_of(test).value_or(options_.timeout);
    Value last;
    TestProgress progress(client_, environment_.events, test.key, context);
    const auto over = [&](const Value* live) {
      if (const auto ended = live == nullptr ? gone_job(test, uid, limit, context) : std::nullopt) {
        result.outcome = ended->health == apply::Health::Failed ? TestOutcome::Failed : TestOutcome::Passed;
        result.message = ended->detail;
        return true;
      }
      if (live == nullptr || live->string_at({"metadata", "uid"}) != uid) {
        result.outcome = TestOutcome::Failed;
        result.message =
            live == nullptr ? "it was deleted while it ran" : "another run of the tests took its place";
        return true;
      }
      last = *live;
      if (judge(*live, result)) return true;
      progress.waits(*live);
      return false;
    };
    const Status waited = apply::wait_for(client_, {test.resource, test.key.ns, test.key.name}, over,
                                          context.with_timeout(limit));
    const bool stopped = !waited.ok() && !context.check().ok();
    if (!waited.ok()) {
      result.outcome = TestOutcome::Failed;
      result.message = stopped                                     ? "the run was stopped"
                       : waited.error().kind == ErrorKind::Timeout ? "it did not end within its time"
                                                                   : waited.error().to_line();
    }
    progress.ended(result);
    if (stopped || last.is_null()) return;
    collect_logs(test, uid, last, result, context);
    if (result.outcome == TestOutcome::Failed) explain(test, last, result, context);
  }

  // True when it is over.
  static bool judge(const Value& live, TestResult& result) {
    const apply::Readiness state = apply::readiness(live);
    if (state.health == apply::Health::Failed) {
      result.outcome = TestOutcome::Failed;
      result.message = state.detail;
      return true;
    }
    bool complete = live.string_at({"status", "phase"}) == "Succeeded";
    if (const Value* conditions = live.at_path({"status", "conditions"});
        conditions != nullptr && conditions->is_array())
      for (const Value& condition : conditions->as_array())
        complete =
            complete || (live.string_at("kind") == "Job" && condition.string_at("type") == "Complete" &&
                         condition.string_at("status") == "True");
    if (complete) result.outcome = TestOutcome::Passed;
    return complete;
  }

  void collect_logs(const DesiredObject& test, const std::string& uid, const Value& last, TestResult& result,
                    const Context& context) {
    std::vector<Value> pods{last};
    if (test.key.group_kind != kPod) {
      auto found = apply::pods_of_job(client_, test.key, uid, context);
      if (!found.ok())
        return environment_.events.warn(
            fmt::format("the pods of {} can't be read: {}", test.key.display(), found.error().to_line()));
      pods = *std::move(found);
    }
    for (const Value& pod : pods) {
      std::vector<apply::ContainerLog> logs = apply::pod_logs(client_, pod, environment_.events, context);
      result.logs.insert(result.logs.end(), std::make_move_iterator(logs.begin()),
                         std::make_move_iterator(logs.end()));
    }
  }

  void explain(const DesiredObject& test, const Value& last, TestResult& result, const Context& context) {
    const Diagnosis all = apply::diagnose(client_, "Release", state_.id.display(),
                                          {{test.key, test.resource, last, result.message}},
                                          context.with_timeout(std::chrono::seconds(10)));
    result.diagnosis = std::make_shared<Diagnosis>(all.children.front());
  }

  // Also after a failure and after Ctrl-C. Without the lock, what has no uid may be another run's by now.
  void clean_up() {
    if (lock_->lost())
      std::erase_if(created_, [](const apply::Removal& object) { return object.uid.empty(); });
    if (created_.empty()) return;
    if (options_.keep) {
      for (const apply::Removal& object : created_) report_.kept.push_back(object.key.display());
      return;
    }
    Activity activity(environment_.events,
                      fmt::format("removing {} of the tests", plural(created_.size(), "object")));
    const Context brief = Context().with_timeout(kCleaningLimit);
    const apply::RemovalReport removed =
        apply::execute_removals(client_, created_, apply::apply_set_id(set_), {}, environment_.events, brief);
    if (!removed.failure) return;
    activity.fail();
    for (std::size_t i = 0; i < created_.size(); ++i)
      if (removed.outcomes[i] != apply::Outcome::Done) report_.kept.push_back(created_[i].key.display());
    environment_.events.warn(fmt::format("{}; the next run of the tests, or uninstall, removes the rest",
                                         removed.failure->to_line()));
  }

  const Environment& environment_;
  kube::Client& client_;
  const ReleaseState& state_;
  const TestOptions& options_;
  const OnTestResult& on_result_;
  const release::ReleaseId set_;
  std::vector<DesiredObject> needed_, tests_;
  std::vector<apply::Removal> created_;
  std::unique_ptr<TestLock> lock_;
  TestReport report_;
};

}  // namespace

std::string_view to_string(TestOutcome outcome) {
  switch (outcome) {
    case TestOutcome::Passed:
      return "passed";
    case TestOutcome::Failed:
      return "failed";
    case TestOutcome::Skipped:
      return "skipped";
  }
  return "skipped";
}

std::size_t TestReport::count(TestOutcome outcome) const {
  return static_cast<std::size_t>(std::ranges::count(tests, outcome, &TestResult::outcome));
}

Result<TestReport> run_tests(const Environment& environment, const release::ReleaseId& id,
                             const TestOptions& options, const OnTestResult& on_result,
                             const Context& context) {
  MIST_TRY(const ReleaseState state, read_release(environment, id, context));
  if (!state.anchor) return missing_release(environment, id, context);
  if (!state.deployed)
    return error(ErrorKind::Conflict, "nothing of release {} is deployed that could be tested", id.display())
        .with_hint("see " + release::command_text("status", id));
  if (state.deployed->tests.empty())
    return TestReport{.id = id, .revision = state.deployed->number, .tests = {}, .kept = {}};
  return TestRun(environment, state, options, on_result).run(context);
}

Status remove_test_leftovers(const Environment& environment, const ReleaseState& state,
                             const Context& context) {
  return remove_leftovers(environment, state, context);
}

}  // namespace mist::action
