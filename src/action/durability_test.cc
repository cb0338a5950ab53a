// A release survives these: every verb, with each of its requests failing once, losing its answer once, and
// with its process dying before or after it. The next run always finds a release that it can go on with; no
// object is left that no inventory names; the end is one of the states that somebody asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "action/recover/recover.h"
#include "action/recover/rollback.h"
#include "apply/reserved_metadata.h"
#include "base/parallel.h"
#include "package/objects.h"
#include "testing/fake_cluster.h"
#include "testing/stopped_boot_clock.h"

namespace mist::action {
namespace {

using release::RevisionStatus;
using testing::FakeCall;
using testing::FakeCluster;

using Texts = std::map<std::string, std::string>;  // ConfigMap → its text
const Texts kNothing = {};
const Texts kFirst = {{"same", "same"}, {"changed", "1"}, {"only-1", "x"}, {"later-1", "x"}};
const Texts kSecond = {{"same", "same"}, {"changed", "2"}, {"only-2", "x"}, {"later-2", "x"}};

enum class Verb : std::uint8_t {
  Install,
  Upgrade,
  Rollback,
  Recover,
  Undo,
  UndoInstall,
  Uninstall,
  AutoRollback,
  Trim,  // an upgrade that leaves two revisions of four
};
enum class Fault : std::uint8_t {
  Fails,       ///< one request never arrives
  Lost,        ///< one answer never arrives
  DiesBefore,  ///< that request and all later ones never arrive
  DiesAfter,   ///< that request is done; its answer and all later requests never arrive
};
enum class Next : std::uint8_t { Write, Recover, Undo, Uninstall };

constexpr std::string_view kVerbs[] = {"install",
                                       "upgrade",
                                       "rollback",
                                       "recover",
                                       "undo",
                                       "undo install",
                                       "uninstall",
                                       "upgrade that rolls back",
                                       "upgrade that trims"};
constexpr std::string_view kFaults[] = {"fails", "lost", "dies before", "dies after"};
constexpr std::string_view kNexts[] = {"write", "recover", "recover --undo", "uninstall"};

// Of a chart: a hook that goes when it succeeded and one that stays, around every verb.
constexpr std::string_view kHooks = R"(---
apiVersion: batch/v1
kind: Job
metadata:
  name: goes
  annotations:
    helm.sh/hook: pre-install,post-upgrade,pre-rollback,post-delete
    helm.sh/hook-delete-policy: hook-succeeded
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: stays
  annotations: {helm.sh/hook: "post-install,pre-upgrade,post-rollback,pre-delete"}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
)";

struct Point {
  Verb verb;
  bool chart;
  Fault fault;
  std::size_t request;
  Next next;
  std::string display() const {
    return fmt::format("{}{}: request {} {}, then {}", chart ? "chart, " : "", kVerbs[static_cast<int>(verb)],
                       request, kFaults[static_cast<int>(fault)], kNexts[static_cast<int>(next)]);
  }
};

// One cluster with one release, seen by who fails and by who comes next.
class Scene {
 public:
  Scene(Verb verb, bool chart) : verb_(verb), chart_(chart), empty_(cluster_.objects()) {
    cluster_.set_instant_controllers(chart);
  }

  // Everything before the verb.
  Status prepare() {
    if (verb_ == Verb::Install) return {};
    if (verb_ == Verb::UndoInstall) {
      refuse("later-1");
      if (deploy(calm(), id_, install_intent(rendering(kFirst)), {}, Context()).ok())
        return error(ErrorKind::Internal, "it should fail");
      cluster_.set_before({});
      return {};
    }
    MIST_TRY_VOID(done(deploy(calm(), id_, install_intent(rendering(kFirst)), {}, Context())));
    if (verb_ == Verb::Trim) {
      const Environment calmly = calm();
      MIST_TRY_VOID(done(deploy(calmly, id_, upgrade_intent(rendering(kSecond)), {}, Context())));
      return done(deploy(calmly, id_, rollback_intent(calmly, 0, Context()), {}, Context()));
    }
    if (verb_ == Verb::Rollback)
      return done(deploy(calm(), id_, upgrade_intent(rendering(kSecond)), {}, Context()));
    if (verb_ == Verb::Recover || verb_ == Verb::Undo) {
      refuse("later-2");
      if (deploy(calm(), id_, upgrade_intent(rendering(kSecond)), {}, Context()).ok())
        return error(ErrorKind::Internal, "it should fail");
      cluster_.set_before({});
    }
    return {};
  }

  Status run(const Environment& environment) {
    const Context context;
    switch (verb_) {
      case Verb::Install:
        return done(deploy(environment, id_, install_intent(rendering(kFirst)), {}, context));
      case Verb::Upgrade:
        return done(deploy(environment, id_, upgrade_intent(rendering(kSecond)), {}, context));
      case Verb::Trim:
        return done(
            deploy(environment, id_, upgrade_intent(rendering(kSecond)), {.history_max = 2}, context));
      case Verb::AutoRollback:
        return done(deploy(environment, id_, upgrade_intent(rendering(kSecond)),
                           {.rollback_on_failure = true}, context));
      case Verb::Rollback:
        return done(deploy(environment, id_, rollback_intent(environment, 0, context), {}, context));
      case Verb::Recover:
        return done(recover(environment, id_, {.undo = false, .deploy = {}}, context));
      case Verb::Undo:
      case Verb::UndoInstall:
        return done(recover(environment, id_, {.undo = true, .deploy = {}}, context));
      case Verb::Uninstall:
        return uninstall_with(environment);
    }
    return {};
  }

  // The verb with its fault; true if it was reached.
  bool run_with(Fault fault, std::size_t request) {
    std::atomic<std::size_t> count{0};
    std::atomic<bool> dead{false}, reached{false};
    const bool after = fault == Fault::Lost || fault == Fault::DiesAfter;
    const bool dies = fault == Fault::DiesBefore || fault == Fault::DiesAfter;
    const bool refuses = verb_ == Verb::AutoRollback;
    const Error gone = error(ErrorKind::Retryable, "connection reset");
    // `count` is the number of the call, but for a thread's luck between two at once.
    cluster_.set_before([&, after, dies, refuses](const FakeCall& call) -> std::optional<Error> {
      if (dead) return gone;
      // To die while the server is asked what it would do is to die before anything is written.
      if (dies && call.dry_run) return std::nullopt;
      const std::size_t number = ++count;
      if (!after && number == request) {
        reached = true;
        dead = dies;
        return gone;
      }
      if (refuses && call.verb == "apply" && !call.dry_run && call.key.name == "later-2")
        return error(ErrorKind::Forbidden, "quota exceeded");
      return std::nullopt;
    });
    cluster_.set_after([&, after, dies](const FakeCall&) -> std::optional<Error> {
      if (!after || dead || count < request || reached.exchange(true)) return std::nullopt;
      dead = dies;
      return gone;
    });
    // A run that dies has a short term, so that the next one doesn't wait for long.
    Environment failing = calm();
    failing.holder = "failing";
    if (dies) failing.lock_term = std::chrono::milliseconds(150);
    outcome_ = run(failing);
    cluster_.set_before({});
    cluster_.set_after({});
    return reached;
  }

  Status next(Next next) {
    const Environment calmly = calm();
    switch (next) {
      case Next::Write: {
        Status written = done(deploy(calmly, id_, upgrade_intent(rendering(kSecond)), {}, Context()));
        if (written) return is(kSecond);
        if (written.error().kind != ErrorKind::NotFound) {
          // A half removed release wants to be recovered first.
          if (written.error().message.find("half uninstalled") == std::string::npos) return written;
          return done(recover(calmly, id_, {.undo = false, .deploy = {}}, Context()));
        }
        MIST_TRY_VOID(is(kNothing));
        MIST_TRY_VOID(done(deploy(calmly, id_, install_intent(rendering(kSecond)), {}, Context())));
        return is(kSecond);
      }
      case Next::Recover:
      case Next::Undo: {
        auto report = recover(calmly, id_, {.undo = next == Next::Undo, .deploy = {}}, Context());
        if (!report.ok() && report.error().message.find("can't be applied again") != std::string::npos)
          return done(recover(calmly, id_, {.undo = false, .deploy = {}}, Context()));
        if (!report.ok()) return report.error().kind == ErrorKind::NotFound ? is(kNothing) : done(report);
        // Once more, it has nothing to do.
        auto again = recover(calmly, id_, {.undo = next == Next::Undo, .deploy = {}}, Context());
        if (again.ok() && again->outcome != Recovered::Nothing)
          return error(ErrorKind::Internal, "recovering once was not enough: {}", again->found);
        return {};
      }
      case Next::Uninstall: {
        Status gone = uninstall_with(calmly);
        return gone || gone.error().kind == ErrorKind::NotFound ? is(kNothing) : std::move(gone);
      }
    }
    return {};
  }

  // At any moment: what carries our mark is named by an inventory that counts.
  Status no_orphans() {
    MIST_TRY(const ReleaseState state, read_release(calm(), id_, Context()));
    std::set<apimachinery::ObjectKey> named;
    for (const apply::InventoryItem& item : state.owned()) named.insert(item.key);
    for (const auto& key : cluster_.objects()) {
      const auto object = cluster_.find(key);
      if (object && !object->string_at({"metadata", "labels", apply::kPartOfLabel}).empty() &&
          !named.contains(key))
        return error(ErrorKind::Internal, "nobody owns {}", key.display());
    }
    return {};
  }

  // At the end: one of the states that were asked for, on record and in the cluster; nobody holds the lock.
  Status whole() {
    MIST_TRY_VOID(no_orphans());
    MIST_TRY(const ReleaseState state, read_release(calm(), id_, Context()));
    if (!state.anchor) return cluster_.objects() == empty_ ? Status() : is(kNothing);
    if (state.anchor->lock) return error(ErrorKind::Internal, "still locked");
    if (!state.deployed || !state.unfinished.empty() ||
        state.anchor->head.status != RevisionStatus::Deployed ||
        state.anchor->head.latest != state.anchor->head.deployed)
      return error(ErrorKind::Internal, "not whole: {} at {} of {}", to_string(state.anchor->head.status),
                   state.anchor->head.deployed, state.anchor->head.latest);
    Texts recorded;
    for (const release::RenderedObject& object : state.deployed->objects)
      recorded[std::string(object.object.name())] = object.object.value().string_at({"data", "text"});
    if (recorded != kFirst && recorded != kSecond)
      return error(ErrorKind::Internal, "the record is of neither revision");
    return is(recorded);
  }

  Status gone() {
    Status removed = uninstall_with(calm());
    if (!removed && removed.error().kind != ErrorKind::NotFound) return removed;
    if (cluster_.objects() == empty_) return {};
    std::string left;
    for (const auto& key : cluster_.objects()) left += key.display() + " ";
    return error(ErrorKind::Internal, "left behind: {}", left);
  }

  const Status& outcome() const { return outcome_; }

 private:
  Environment calm() {
    return {.client = cluster_,
            .clock = clock_,
            .random = random_,
            .events = events_,
            .holder = "calm",
            .lock_term = std::chrono::seconds(60),
            .lock_wait = std::chrono::seconds(60)};
  }
  Render rendering(const Texts& texts) {
    return [texts, this](const ReleaseState&) -> Result<RenderedRelease> {
      std::string yaml;
      for (const auto& [name, text] : texts)
        yaml += fmt::format(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}, data: {{text: '{}'}}}}\n", name,
            text);
      if (chart_) yaml += kHooks;
      MIST_TRY(auto objects, package::parse_objects({{"all.yaml", yaml}}, events_));
      return RenderedRelease{.package = {"test:1", "test", "1", "sha256:" + texts.at("changed"),
                                         chart_ ? std::string(apply::kChartEngine) : std::string()},
                             .user_values = encoding::Value::object(),
                             .objects = std::move(objects)};
    };
  }
  void refuse(const std::string& name) {
    cluster_.set_before([name](const FakeCall& call) -> std::optional<Error> {
      if (call.verb == "apply" && !call.dry_run && call.key.name == name)
        return error(ErrorKind::Forbidden, "quota exceeded");
      return std::nullopt;
    });
  }
  template <typename T>
  static Status done(Result<T> result) {
    if (result.ok()) return {};
    return std::move(result).error();
  }
  Status uninstall_with(const Environment& environment) {
    const UninstallOptions options{.rules = {}, .plan_again = true};
    MIST_TRY(UninstallPlan plan, plan_uninstall(environment, id_, options, Context()));
    return done(uninstall(environment, std::move(plan), options, Context()));
  }
  Status is(const Texts& wanted) {
    Texts texts;
    for (const auto& key : cluster_.objects()) {
      if (key.group_kind.kind == "ConfigMap")
        texts[key.name] = cluster_.find(key)->string_at({"data", "text"});
    }
    if (texts == wanted) return {};
    std::string shown;
    for (const auto& [name, text] : texts) shown += fmt::format("{}={} ", name, text);
    return error(ErrorKind::Internal, "the cluster has {}", shown.empty() ? "nothing" : shown);
  }

  const Verb verb_;
  const bool chart_;
  FakeCluster cluster_;
  const std::vector<apimachinery::ObjectKey> empty_;
  testing::StoppedBootClock clock_;
  SystemRandom random_;
  NullEventSink events_;
  const release::ReleaseId id_{"default", "web"};
  Status outcome_;
};

// One point; nullopt: the verb sends fewer requests.
std::optional<std::string> survives(const Point& point, bool& reached) {
  Scene scene(point.verb, point.chart);
  const auto because = [&](std::string_view when, const Status& status) {
    return fmt::format("{}\n  {}: {}\n  the failing run said: {}", point.display(), when,
                       status.error().to_line(),
                       scene.outcome().ok() ? "ok" : scene.outcome().error().to_line());
  };
  if (const Status prepared = scene.prepare(); !prepared) return because("preparing", prepared);
  reached = scene.run_with(point.fault, point.request);
  if (!reached) return std::nullopt;
  if (const Status owned = scene.no_orphans(); !owned) return because("right after", owned);
  if (const Status next = scene.next(point.next); !next) return because("next", next);
  if (const Status whole = scene.whole(); !whole && point.next != Next::Write) return because("then", whole);
  if (const Status gone = scene.gone(); !gone) return because("at the end", gone);
  return std::nullopt;
}

class EveryRequest : public ::testing::TestWithParam<std::pair<Verb, bool>> {};

TEST_P(EveryRequest, MayFailOrBeTheLast) {
  std::mutex mutex;
  std::vector<std::string> problems;  // guarded by mutex
  std::atomic<std::size_t> points{0};
  for (const Fault fault : {Fault::Fails, Fault::Lost, Fault::DiesBefore, Fault::DiesAfter}) {
    std::atomic<bool> more{true};
    // As many at once as wait for locks that ran out.
    for (std::size_t request = 1; more && request < 200; request += 4) {
      ASSERT_TRUE(parallel_for(16, 16, [&](std::size_t i) -> Status {
                    const Point point{GetParam().first, GetParam().second, fault, request + i / 4,
                                      static_cast<Next>(i % 4)};
                    bool reached = false;
                    const auto problem = survives(point, reached);
                    if (reached) ++points;
                    if (!reached) more = false;
                    if (!problem) return {};
                    const std::scoped_lock lock(mutex);
                    problems.push_back(*problem);
                    return {};
                  }).ok());
    }
    EXPECT_FALSE(more) << "it never ended";
  }
  EXPECT_GT(points, 100u);
  for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 8); ++i) ADD_FAILURE() << problems[i];
  EXPECT_EQ(problems.size(), 0u) << "of " << points << " points";
  RecordProperty("points", static_cast<int>(points));
}

std::string test_name(const ::testing::TestParamInfo<std::pair<Verb, bool>>& info) {
  std::string name(kVerbs[static_cast<int>(info.param.first)]);
  std::erase(name, ' ');
  return name;
}

constexpr auto kPlain = [](Verb verb) { return std::pair(verb, false); };
constexpr auto kChart = [](Verb verb) { return std::pair(verb, true); };

INSTANTIATE_TEST_SUITE_P(OfEveryVerb, EveryRequest,
                         ::testing::Values(kPlain(Verb::Install), kPlain(Verb::Upgrade),
                                           kPlain(Verb::Rollback), kPlain(Verb::Recover), kPlain(Verb::Undo),
                                           kPlain(Verb::UndoInstall), kPlain(Verb::Uninstall),
                                           kPlain(Verb::AutoRollback), kPlain(Verb::Trim)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(OfEveryVerbOfCharts, EveryRequest,
                         ::testing::Values(kChart(Verb::Install), kChart(Verb::Upgrade),
                                           kChart(Verb::Rollback), kChart(Verb::Recover), kChart(Verb::Undo),
                                           kChart(Verb::UndoInstall), kChart(Verb::Uninstall),
                                           kChart(Verb::AutoRollback)),
                         test_name);

}  // namespace
}  // namespace mist::action
