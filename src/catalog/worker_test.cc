#include "catalog/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "action/deploy/deploy.h"
#include "base/storage_fault.h"
#include "catalog/backup.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_connections.h"
#include "catalog/sql_dialect.h"
#include "catalog/sql_store.h"
#include "package/installation_fault.h"
#include "package/objects.h"
#include "registry/package_files.h"
#include "release/lock.h"
#include "sqlite/database.h"
#include "testing/fake_cluster.h"
#include "testing/home_fixture.h"
#include "testing/yaml.h"

namespace mist::catalog {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kNoDigest(64, '0');
constexpr std::string_view kRole =
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules: []\n";
constexpr std::string_view kRoleOfAnotherTest = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader, annotations: {mistletoe.dev/release: catalog-test-77-1/other}}
rules: []
)";
constexpr std::string_view kNamespaceOfAnotherTest =
    "{apiVersion: v1, kind: Namespace, metadata: {name: catalog-test-77-1, finalizers: [example.com/stays]}}";
constexpr std::string_view kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n";

/// The real clock, but for the time of day. Sleeping takes its time: who waits must not make a test old.
class ShiftedClock final : public Clock {
 public:
  explicit ShiftedClock(WallTime now) : shift_(now - real_.now()) {}
  WallTime now() const override { return real_.now() + shift_; }
  SteadyTime steady_now() const override { return real_.steady_now(); }
  BootTime boot_now() const override { return real_.boot_now(); }
  bool sleep(Duration duration, std::stop_token stop) override {
    return real_.sleep(duration, std::move(stop));
  }
  void advance(Duration by) { shift_ += std::chrono::duration_cast<WallTime::duration>(by); }

 private:
  SystemClock real_;
  WallTime::duration shift_;
};

/// The real clock, but for sleeps that the test takes the place of.
class InterruptedClock final : public Clock {
 public:
  /// Whether it took the place of a sleep of that length.
  using Instead = std::function<bool(Duration)>;
  explicit InterruptedClock(Instead instead) : instead_(std::move(instead)) {}
  WallTime now() const override { return real_.now(); }
  SteadyTime steady_now() const override { return real_.steady_now(); }
  BootTime boot_now() const override { return real_.boot_now(); }
  bool sleep(Duration duration, std::stop_token stop) override {
    return instead_(duration) || real_.sleep(duration, std::move(stop));
  }

 private:
  SystemClock real_;
  Instead instead_;
};

/// Changes that a database refuses, as one that is away for a moment, or makes without an answer. Any thread.
class Outage {
 public:
  /// The next changes that begin so.
  void refuse(std::string begin, int count) {
    const std::lock_guard lock(mutex_);
    left_[std::move(begin)] = count;
  }
  bool refuses(std::string_view sql) {
    const std::lock_guard lock(mutex_);
    for (auto& [begin, count] : left_) {
      if (count == 0 || !sql.starts_with(begin)) continue;
      --count;
      ++refused_;
      return true;
    }
    return false;
  }
  /// The next transaction with a change that begins so is committed, and its answer is lost.
  void lose_answer(std::string begin) {
    const std::lock_guard lock(mutex_);
    lost_ = std::move(begin);
  }
  bool loses_answer(std::string_view sql) {
    const std::lock_guard lock(mutex_);
    if (lost_.empty() || !sql.starts_with(lost_)) return false;
    lost_.clear();
    return true;
  }
  /// How many changes will be refused.
  int left() const {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [begin, count] : left_) sum += count;
    return sum;
  }
  int refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> left_;
  std::string lost_;
  int refused_ = 0;
};

class UnsteadyDatabase final : public sql::Database {
 public:
  UnsteadyDatabase(sqlite::Database database, Outage& outage)
      : database_(std::move(database)), outage_(outage) {}

  Result<std::int64_t> run(std::string_view sql, sql::Params params) override {
    if (outage_.refuses(sql)) return away();
    if (outage_.loses_answer(sql)) loses_answer_ = true;
    return database_.run(sql, params);
  }
  Status query(std::string_view sql, sql::Params params, const sql::OnRow& row) override {
    return database_.query(sql, params, row);
  }
  Status script(const std::string& sql) override { return database_.script(sql); }
  Status transaction(const std::function<Status()>& work) override {
    MIST_TRY_VOID(database_.transaction(work));
    if (std::exchange(loses_answer_, false)) return away();
    return {};
  }
  Status reading(const std::function<Status()>& work) override { return database_.reading(work); }
  Status migrate(std::span<const std::string_view> scripts) override { return database_.migrate(scripts); }

 private:
  static Error away() {
    return error(ErrorKind::Retryable, "the database is away").with_detail(StorageFault());
  }

  sqlite::Database database_;
  Outage& outage_;
  bool loses_answer_ = false;
};

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest()
      : blobs_(files_, places_.blobs()),
        types_{package::KubeTypesDigest{36, kNoDigest}},
        engines_{package::EngineDigest{.name = "jinja", .sha256 = kNoDigest}} {
    const auto database =
        *SqlConnections::open(sqlite_dialect(), [this]() -> Result<std::unique_ptr<sql::Database>> {
          MIST_TRY(sqlite::Database opened, sqlite::Database::open(places_.database()));
          return std::make_unique<UnsteadyDatabase>(std::move(opened), outage_);
        });
    store_ = *open_store(database, clock_, random_);
    EXPECT_TRUE(account_store_in(database, clock_, random_)->add("ann", Role::Author, "").ok());
    link("etcd");
  }

  void link(const std::string& package) {
    EXPECT_TRUE(store_
                    ->add_project({.name = package,
                                   .owner = "ann",
                                   .url = "https://git.example.com/" + package,
                                   .path = "",
                                   .webhook_secret = SecretString("s")})
                    .ok());
  }
  void submit(std::vector<registry::PackageFile> files, const std::string& version = "1.0.0",
              const std::string& package = "etcd") {
    const registry::PackageTree tree{std::move(files)};
    NewVersion made{
        .package = package, .version = version, .tag = "v" + version, .commit = std::string(40, 'a')};
    made.digest = blobs_.put(tree.encode())->str();
    ASSERT_TRUE(store_->submit(made).ok());
  }
  TrialDependencies dependencies() {
    package::RendererOptions engines;
    engines.engines = package::EngineStore(dir_.path() / "engines", engines_);
    return {.files = files_,
            .processes = processes_,
            .clock = *cluster_time_,
            .random = random_,
            .blobs = blobs_,
            .paths = paths_,
            .engines = std::move(engines),
            .types = package::TypeStore(dir_.path() / "schemas", types_),
            .connect = [](EventSink&) -> Result<std::unique_ptr<kube::Client>> {
              return error(ErrorKind::Retryable, "no cluster here");
            },
            .directory = dir_.path() / "work",
            .instance = "test"};
  }
  // That checks nothing against schemas.
  TrialDependencies dependencies_on(
      std::function<Result<std::unique_ptr<kube::Client>>(EventSink&)> connect) {
    TrialDependencies made = dependencies();
    made.types = {};
    made.connect = std::move(connect);
    made.timeout = std::chrono::seconds(5);
    return made;
  }
  TrialDependencies dependencies_on_cluster() {
    return dependencies_on([this](EventSink&) -> Result<std::unique_ptr<kube::Client>> {
      return std::unique_ptr<kube::Client>(cluster_.client_for("w"));
    });
  }
  VersionState state(const std::string& package = "etcd") {
    const auto version = store_->version(package, "1.0.0");
    EXPECT_TRUE(version.ok() && *version);
    return (*version)->state;
  }
  // The only version is as if nobody had tried it.
  void expect_waiting() {
    EXPECT_EQ(state(), VersionState::Queued);
    const auto job = store_->lease("another", std::chrono::seconds(30));
    ASSERT_TRUE(job.ok() && *job) << "it waits for another worker";
    EXPECT_EQ((*job)->attempt, 1);
  }
  // While this worker tests etcd, the lease of another one, which tests redis, runs out because of an outage.
  // It must not be taken over before that worker could renew it, which it does in the pause for that.
  void expect_another_keeps_its_test(const WorkerOptions& options, const std::function<Job()>& another) {
    std::optional<Job> others;
    std::stop_source stopped;
    int pauses = 0, looks = 0;
    InterruptedClock clock([&](Duration duration) {
      if (duration == options.term) {
        ++pauses;
        EXPECT_EQ(outage_.left(), 0) << "the database is still away";
        EXPECT_TRUE(others && store_->renew(*others, std::chrono::seconds(30)).ok());
        return true;
      }
      const bool is_tested = others && state() == VersionState::Passed;
      if (is_tested && (pauses > 0 || ++looks > 20)) stopped.request_stop();  // nothing is left to do
      return false;
    });
    cluster_time_ = &clock;
    cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb == "apply" && call.key.name == "a" && !call.dry_run && !others) others = another();
      return std::nullopt;
    });
    ASSERT_TRUE(
        work(*store_, dependencies_on_cluster(), options, events_, Context(stopped.get_token())).ok());
    cluster_time_ = &clock_;
    ASSERT_TRUE(others);
    EXPECT_GT(pauses, 0);
    EXPECT_EQ(state("redis"), VersionState::Testing);
    EXPECT_TRUE(*store_->is_being_tested(others->id, others->attempt)) << "it was taken over, or given up";
  }
  // Its lease has just run out.
  Job another_workers_job(int attempt) {
    std::optional<Job> job;
    for (int i = 0; i < attempt; ++i) job = *store_->lease("another", Duration::zero());
    EXPECT_TRUE(job && job->package == "redis" && job->attempt == attempt);
    return *job;
  }
  void submit_two() {
    submit({{"map.yaml", std::string(kMap)}});
    link("redis");
    submit({{"map.yaml", std::string(kMap)}}, "1.0.0", "redis");
  }
  // And has an object of the whole cluster, kRole.
  void another_test_began(Duration ago) {
    const encoding::Value made = cluster_.put(mist::testing::yaml(kNamespaceOfAnotherTest));
    cluster_.put(mist::testing::yaml(kRoleOfAnotherTest));
    const auto began = parse_time(made.string_at({"metadata", "creationTimestamp"}));
    ASSERT_TRUE(began);
    cluster_time_ = &cluster_clock_.emplace(*began);
    cluster_clock_->advance(ago);
  }
  // With an object of the whole cluster, as a killed worker leaves it.
  void leave_release(const release::ReleaseId& id, const std::string& text = std::string(kRole)) {
    action::Environment environment{cluster_, clock_, random_, events_, "w"};
    const action::Render render = [&](const action::ReleaseState&) -> Result<action::RenderedRelease> {
      NullEventSink nobody;
      MIST_TRY(auto objects, package::parse_objects({{"role.yaml", text}}, nobody));
      return action::RenderedRelease{.package = {"other:1", "other", "1", "sha256:1", "helm"},
                                     .user_values = encoding::Value::object(),
                                     .objects = std::move(objects)};
    };
    ASSERT_TRUE(action::deploy(environment, id, action::install_intent(render), {}, Context()).ok());
  }
  // As a Pod with the right to write Secrets may.
  void forge_record(const release::ReleaseId& id) {
    const apimachinery::ObjectKey key{apimachinery::kSecret, id.ns, apply::anchor_name(id)};
    auto secret = cluster_.find(key);
    ASSERT_TRUE(secret) << key.display();
    cluster_.drop(key);
    secret->set("type", "Opaque");
    cluster_.put(*std::move(secret));
  }
  // The namespace of a test that died, and whose release may be removed by others.
  release::ReleaseId abandoned() {
    const encoding::Value made =
        cluster_.put(mist::testing::yaml("{apiVersion: v1, kind: Namespace, metadata: {name: "
                                         "catalog-test-55-1, labels: {mistletoe.dev/catalog: "
                                         "test}}}"));
    cluster_time_ = &cluster_clock_.emplace(*parse_time(made.string_at({"metadata", "creationTimestamp"})));
    cluster_clock_->advance(std::chrono::minutes(30));
    return {"catalog-test-55-1", "other"};
  }
  void expect_abandoned_gone() {
    ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
    EXPECT_EQ(state(), VersionState::Passed);
    EXPECT_THAT(cluster_.objects(), IsEmpty());
  }
  // The server refuses so many deletions of kRole, -1: all of them.
  void refuse_deletions(int count) {
    // Shared, as the cluster copies what it is given.
    cluster_.set_before(
        [left = std::make_shared<int>(count)](const mist::testing::FakeCall& call) -> std::optional<Error> {
          if (call.verb != "delete" || call.dry_run || call.key.name != "reader" || *left == 0)
            return std::nullopt;
          if (*left > 0) --*left;
          return error(ErrorKind::Forbidden, "ClusterRoles stay");
        });
  }
  void expect_failure_after_three_tries() {
    const WorkerOptions options{.holder = "w", .pause = Duration::zero()};
    for (int i = 0; i < Store::kMostAttempts; ++i) {
      EXPECT_NE(state(), VersionState::Failed);
      const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
      ASSERT_TRUE(worked.ok()) << worked.error().to_line();
    }
    EXPECT_EQ(state(), VersionState::Failed);
    const Step last = (*store_->last_run("etcd", "1.0.0"))->steps.back();
    EXPECT_EQ(last.name, "worker") << "no step of the package's own";
    EXPECT_THAT(last.log, HasSubstr("catalog-test-77-1/other"));
  }
  void expect_waiting_however_often_it_is_tried() {
    const WorkerOptions options{.holder = "w", .long_pause = Duration::zero()};
    for (int i = 0; i < 2 * Store::kMostAttempts; ++i) {
      const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
      ASSERT_TRUE(worked.ok()) << worked.error().to_line();
      EXPECT_TRUE(*worked);
    }
    expect_waiting();
  }
  template <typename Fault = package::InstallationFault>
  void expect_untouched(const TrialDependencies& dependencies) {
    for (int i = 0; i < 2 * Store::kMostAttempts; ++i) {
      const auto worked = work_once(*store_, dependencies, {.holder = "w"}, events_, Context());
      ASSERT_FALSE(worked.ok());
      EXPECT_NE(worked.error().detail<Fault>(), nullptr) << worked.error().to_line();
    }
    expect_waiting();
  }

  mist::testing::TempDir dir_;
  DataPlaces places_{dir_.path()};
  HostFileSystem files_;
  HostProcessRunner processes_;
  SystemClock clock_;
  std::optional<ShiftedClock> cluster_clock_;  // the time of cluster_
  Clock* cluster_time_ = &clock_;
  SystemRandom random_;
  mist::testing::RecordedEvents events_;
  config::Paths paths_ = testing::paths_below(dir_.path() / "home");
  Outage outage_;
  std::unique_ptr<Store> store_;
  FileBlobs blobs_;
  std::array<package::KubeTypesDigest, 1> types_;
  std::array<package::EngineDigest, 1> engines_;
  mist::testing::FakeCluster cluster_;
};

TEST_F(WorkerTest, AnInstallationWithoutSchemasBlamesNoPackage) {
  submit({{"map.yaml", std::string(kMap)}});
  expect_untouched(dependencies());
}

TEST_F(WorkerTest, AnInstallationWithoutItsEnginesBlamesNoPackage) {
  submit({{"K3.yaml", "name: etcd\nversion: 1.0.0\n"}, {"manifests/a.yaml.j2", std::string(kMap)}});
  expect_untouched(dependencies());
}

TEST_F(WorkerTest, FaultsInTheWordsOfAPodFailItsOwnVersionAlone) {
  submit({{"map.yaml", std::string(kMap)}});
  TrialDependencies by_pod = dependencies();
  by_pod.run = [](const Job&, const TrialReport&, const Context&) -> Result<bool> {
    return error(ErrorKind::Retryable, "the cluster for tests is away").with_detail(SaidByPod());
  };
  const WorkerOptions options{.holder = "w", .pause = Duration::zero(), .long_pause = Duration::zero()};
  for (int i = 0; i < Store::kMostAttempts; ++i) {
    EXPECT_NE(state(), VersionState::Failed);
    const auto worked = work_once(*store_, by_pod, options, events_, Context());
    ASSERT_TRUE(worked.ok()) << "a worker goes on with others: " << worked.error().to_line();
  }
  EXPECT_EQ(state(), VersionState::Failed);
}

TEST_F(WorkerTest, FilesOfKilledWorkersGoWhenOneStartsAndThoseOfLivingOnesStay) {
  submit({{"map.yaml", std::string(kMap)}});
  const auto job = store_->lease("living", std::chrono::seconds(30));
  ASSERT_TRUE(job.ok() && *job);
  const Path work_place = dependencies().directory;
  const std::string living = fmt::format("job-{}-1", (*job)->id);
  const auto file_in = [&](const std::string& name) { return work_place / name / "a.yaml"; };
  for (const std::string& name : {living, living + "-previous", std::string("job-77-1"),
                                  std::string("job-77-1-previous"), std::string("job-of-ours")})
    ASSERT_TRUE(files_.write(file_in(name), kMap).ok());
  std::stop_source stopped;
  stopped.request_stop();
  ASSERT_TRUE(work(*store_, dependencies(), {.holder = "w"}, events_, Context(stopped.get_token())).ok());
  EXPECT_TRUE(files_.exists(file_in(living)));
  EXPECT_TRUE(files_.exists(file_in(living + "-previous")));
  EXPECT_TRUE(files_.exists(file_in("job-of-ours"))) << "it is nobody's";
  EXPECT_FALSE(files_.exists(work_place / "job-77-1"));
  EXPECT_FALSE(files_.exists(work_place / "job-77-1-previous"));
}

TEST_F(WorkerTest, FilesOfAnEarlierAttemptGoWithTheNextOne) {
  submit({{"map.yaml", std::string(kMap)}});
  const auto job = store_->lease("killed", Duration::zero());
  ASSERT_TRUE(job.ok() && *job);
  const Path left = dependencies().directory / fmt::format("job-{}-1", (*job)->id);
  ASSERT_TRUE(files_.write(left / "a.yaml", kMap).ok());
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->attempt, 2);
  EXPECT_FALSE(files_.exists(left));
}

TEST_F(WorkerTest, BytesThatTheCatalogLostBlameNoPackage) {
  submit({{"map.yaml", std::string(kMap)}});
  ASSERT_TRUE(files_.remove_all(places_.blobs()).ok());
  expect_waiting_however_often_it_is_tried();
  EXPECT_TRUE(events_.has(places_.blobs().string()));
}

TEST_F(WorkerTest, AnOutageOfTheDatabaseAtTheEndOfATestCostsNoResult) {
  submit({{"map.yaml", std::string(kMap)}});
  outage_.refuse("UPDATE jobs SET open = 0", 3);
  const WorkerOptions options{.holder = "w", .pause = std::chrono::milliseconds(1)};
  InterruptedClock clock([&](Duration duration) { return duration == options.term; });
  cluster_time_ = &clock;
  const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
  ASSERT_TRUE(worked.ok()) << worked.error().to_line();
  EXPECT_EQ(outage_.refused(), 3);
  EXPECT_EQ(state(), VersionState::Passed);
  EXPECT_EQ((*store_->last_run("etcd", "1.0.0"))->attempt, 1);
  EXPECT_TRUE(events_.has("trying again, because the database is away"));
}

TEST_F(WorkerTest, AnOutageOfTheDatabaseInATestCostsNoAttempt) {
  submit({{"map.yaml", std::string(kMap)}});
  outage_.refuse("INSERT INTO steps", 1);
  outage_.refuse("DELETE FROM steps", 3);  // what gives the job back
  const WorkerOptions options{
      .holder = "w", .pause = std::chrono::milliseconds(1), .long_pause = Duration::zero()};
  InterruptedClock clock([&](Duration duration) { return duration == options.term; });
  cluster_time_ = &clock;
  const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
  ASSERT_TRUE(worked.ok()) << worked.error().to_line();
  EXPECT_EQ(outage_.refused(), 4);
  expect_waiting();
}

TEST_F(WorkerTest, ALeaseThatNobodyCouldRenewAndNobodyTookCostsNoAttempt) {
  submit({{"map.yaml", std::string(kMap)}});
  outage_.refuse("UPDATE jobs SET until", 1'000'000);
  // Until the lease was found to be late: in the fourth third of its term, at the latest.
  cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "a" && !call.dry_run)
      while (outage_.refused() < 4) std::this_thread::yield();
    return std::nullopt;
  });
  const WorkerOptions options{
      .holder = "w", .term = std::chrono::milliseconds(30), .pause = std::chrono::milliseconds(10)};
  const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
  ASSERT_TRUE(worked.ok()) << worked.error().to_line();
  EXPECT_TRUE(events_.has("the lease was lost"));
  expect_waiting();
}

TEST_F(WorkerTest, AResultIsKeptThoughTheAnswerOfTheDatabaseWasLost) {
  submit({{"map.yaml", std::string(kMap)}});
  outage_.lose_answer("UPDATE jobs SET open = 0");
  const WorkerOptions options{.holder = "w", .pause = std::chrono::milliseconds(1)};
  InterruptedClock clock([&](Duration duration) { return duration == options.term; });
  cluster_time_ = &clock;
  const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
  ASSERT_TRUE(worked.ok()) << worked.error().to_line();
  EXPECT_TRUE(*worked);
  EXPECT_EQ(state(), VersionState::Passed);
  EXPECT_TRUE(events_.has("recorded its end before it went away"));
}

TEST_F(WorkerTest, AVersionThatCannotBeTestedIsToldSoOnceThoughAnAnswerWasLost) {
  submit({{"role.yaml", std::string(kRole)}});
  cluster_.put(mist::testing::yaml(kRoleOfAnotherTest));
  outage_.lose_answer("UPDATE jobs SET open = 0");
  InterruptedClock clock([](Duration duration) { return duration == WorkerOptions().term; });
  cluster_time_ = &clock;
  expect_failure_after_three_tries();
  const std::vector<Step> steps = (*store_->last_run("etcd", "1.0.0"))->steps;
  EXPECT_EQ(std::ranges::count(steps, "worker", &Step::name), 1);
}

TEST_F(WorkerTest, ALeaseThatNobodyCouldRenewIsLeftToTheWorkerThatTookIt) {
  submit({{"map.yaml", std::string(kMap)}});
  std::optional<Job> taken;
  cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.key.name != "a" || call.dry_run || taken) return std::nullopt;
    outage_.refuse("UPDATE jobs SET until", 1'000'000);
    // As soon as the lease has ended.
    for (int i = 0; i < 1000 && !taken; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      taken = *store_->lease("another", std::chrono::seconds(30));
    }
    return std::nullopt;
  });
  const WorkerOptions options{
      .holder = "w", .term = std::chrono::seconds(1), .pause = std::chrono::milliseconds(10)};
  const auto worked = work_once(*store_, dependencies_on_cluster(), options, events_, Context());
  ASSERT_TRUE(worked.ok()) << worked.error().to_line();
  EXPECT_TRUE(*worked);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->attempt, 2);
  EXPECT_TRUE(*store_->is_being_tested(taken->id, taken->attempt));
}

TEST_F(WorkerTest, AnOutageAtTheEndOfATestCostsNoOtherWorkerItsTest) {
  submit_two();
  outage_.refuse("UPDATE jobs SET open = 0", 3);
  expect_another_keeps_its_test({.holder = "w", .pause = std::chrono::milliseconds(1)},
                                [&] { return another_workers_job(Store::kMostAttempts); });
}

TEST_F(WorkerTest, AnOutageThatOnlyARenewalMetCostsNoOtherWorkerItsTest) {
  submit_two();
  const WorkerOptions options{
      .holder = "w", .term = std::chrono::seconds(3), .pause = std::chrono::milliseconds(1)};
  expect_another_keeps_its_test(options, [&] {
    const Job job = another_workers_job(Store::kMostAttempts);
    outage_.refuse("UPDATE jobs SET until", 1);
    while (outage_.left() > 0) std::this_thread::yield();
    return job;
  });
}

TEST_F(WorkerTest, ARenewalThatFailsIsTriedAgainBeforeTheLeaseEnds) {
  submit({{"map.yaml", std::string(kMap)}});
  bool is_over = false;
  cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply" || call.key.name != "a" || call.dry_run || is_over) return std::nullopt;
    // As many thirds as the lease has.
    outage_.refuse("UPDATE jobs SET until", 3);
    while (outage_.left() > 0) std::this_thread::yield();
    is_over = true;
    return std::nullopt;
  });
  const WorkerOptions options{
      .holder = "w", .term = std::chrono::seconds(3), .pause = std::chrono::milliseconds(1)};
  InterruptedClock clock([&](Duration duration) { return duration == options.term; });
  cluster_time_ = &clock;
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), options, events_, Context()).ok());
  EXPECT_TRUE(is_over);
  EXPECT_FALSE(events_.has("the lease was lost"));
  EXPECT_EQ(state(), VersionState::Passed);
}

TEST_F(WorkerTest, AnIdleWorkerTakesNoTestBeforeTheDatabaseHasBeenBackForAWhile) {
  submit_two();
  expect_another_keeps_its_test({.holder = "w", .pause = std::chrono::milliseconds(1)}, [&] {
    const Job job = another_workers_job(1);
    outage_.refuse("UPDATE jobs SET attempt", 1);
    outage_.refuse("UPDATE counters SET value = value WHERE", 3);
    return job;
  });
}

TEST_F(WorkerTest, AStoppedWorkerDoesNotWaitForTheDatabase) {
  submit({{"map.yaml", std::string(kMap)}});
  outage_.refuse("DELETE FROM steps", 1'000'000);
  std::stop_source stopped;
  stopped.request_stop();
  const auto worked =
      work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context(stopped.get_token()));
  ASSERT_FALSE(worked.ok());
  EXPECT_EQ(worked.error().kind, ErrorKind::Retryable) << worked.error().to_line();
  EXPECT_EQ(outage_.refused(), 1);
}

TEST_F(WorkerTest, BytesOfThePreviousVersionThatAreLostHoldUpNoNewOne) {
  submit({{"map.yaml", std::string(kMap)}});
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  const auto previous = store_->version("etcd", "1.0.0");
  ASSERT_TRUE(previous.ok() && *previous);
  const Path lost = blobs_.place_of(*crypto::Digest::parse((*previous)->digest));
  submit({{"role.yaml", std::string(kRole)}}, "1.1.0");
  ASSERT_TRUE(files_.remove_all(lost).ok());
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  const auto tested = store_->version("etcd", "1.1.0");
  ASSERT_TRUE(tested.ok() && *tested);
  EXPECT_EQ((*tested)->state, VersionState::Passed);
  const std::vector<Step> steps = (*store_->last_run("etcd", "1.1.0"))->steps;
  const auto upgrade = std::ranges::find(steps, "upgrade", &Step::name);
  ASSERT_NE(upgrade, steps.end());
  EXPECT_EQ(upgrade->summary, "not tried, because 1.0.0 can't be read now");
  EXPECT_FALSE(upgrade->log.contains(lost.string())) << "it concerns nobody else";
  EXPECT_TRUE(events_.has(lost.string()));
}

TEST_F(WorkerTest, AClusterThatCannotBeReachedBlamesNoPackage) {
  submit({{"map.yaml", std::string(kMap)}});
  expect_untouched<ClusterFault>(dependencies_on([](EventSink&) -> Result<std::unique_ptr<kube::Client>> {
    return error(ErrorKind::Retryable, "no cluster here");
  }));
}

TEST_F(WorkerTest, AClusterThatLetsUsMakeNoNamespaceBlamesNoPackage) {
  submit({{"map.yaml", std::string(kMap)}});
  cluster_.set_before([](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "create" || call.key.group_kind.kind != "Namespace") return std::nullopt;
    return error(ErrorKind::Forbidden, "no right to create namespaces");
  });
  expect_untouched<ClusterFault>(dependencies_on_cluster());
}

TEST_F(WorkerTest, CredentialsThatEndWhileAPackageIsInstalledBlameNoPackage) {
  submit({{"map.yaml", std::string(kMap)}});
  std::atomic<bool> ended = false;
  cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "apply" && call.key.name == "a" && !call.dry_run) ended = true;
    if (!ended) return std::nullopt;
    return error(ErrorKind::Forbidden, "Unauthorized");
  });
  expect_untouched<ClusterFault>(dependencies_on_cluster());
  EXPECT_TRUE(ended) << "it was never installed";
}

TEST_F(WorkerTest, APackageWaitsForAnothersTestThatHasAnObjectOfTheSameName) {
  submit({{"role.yaml", std::string(kRole)}});
  another_test_began(std::chrono::minutes(20));  // it may be in its removal
  expect_waiting_however_often_it_is_tried();
}

TEST_F(WorkerTest, WhatOutlivedAnothersTestIsWaitedForThreeTimes) {
  submit({{"role.yaml", std::string(kRole)}});
  cluster_.put(mist::testing::yaml(kRoleOfAnotherTest));
  expect_failure_after_three_tries();
}

TEST_F(WorkerTest, ANamespaceThatIsOlderThanAnyTestHoldsNobody) {
  submit({{"role.yaml", std::string(kRole)}});
  another_test_began(std::chrono::minutes(21));
  expect_failure_after_three_tries();
}

TEST_F(WorkerTest, ANamespaceThatIsBeingDeletedHoldsNobody) {
  submit({{"role.yaml", std::string(kRole)}});
  another_test_began(std::chrono::minutes(1));
  const auto namespaces = cluster_.resource_for({"", "Namespace"}, "v1", Context());
  ASSERT_TRUE(namespaces.ok());
  ASSERT_TRUE(cluster_.remove({*namespaces, {}, "catalog-test-77-1"}, {}, Context()).ok());
  ASSERT_TRUE(cluster_.has("Namespace", "", "catalog-test-77-1")) << "its finalizer";
  expect_failure_after_three_tries();
}

TEST_F(WorkerTest, NamespacesThatDeadTestsLeftAreRemovedByLaterTests) {
  submit({{"map.yaml", std::string(kMap)}});
  const auto left = [&](const std::string& name, const std::string& instance) {
    return cluster_.put(mist::testing::yaml(fmt::format(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {}, labels: {{mistletoe.dev/catalog: {}}}}}}}",
        name, instance)));
  };
  const encoding::Value made = left("catalog-test-55-1", "test");
  left("catalog-other-55-1", "other");
  cluster_time_ = &cluster_clock_.emplace(*parse_time(made.string_at({"metadata", "creationTimestamp"})));
  cluster_clock_->advance(std::chrono::minutes(30));
  leave_release({"catalog-test-55-1", "other"});
  ASSERT_TRUE(cluster_.has("ClusterRole.rbac.authorization.k8s.io", "", "reader"));
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Passed);
  EXPECT_FALSE(cluster_.has("ClusterRole.rbac.authorization.k8s.io", "", "reader"));
  EXPECT_FALSE(cluster_.has("Namespace", "", "catalog-test-55-1"));
  EXPECT_TRUE(cluster_.has("Namespace", "", "catalog-other-55-1")) << "another catalog's";
}

// A later test of another package found it first.
TEST_F(WorkerTest, AVersionWaitsWhileAnotherTestRemovesWhatItsEarlierAttemptLeft) {
  submit({{"map.yaml", std::string(kMap)}});
  const auto job = store_->lease("w", std::chrono::seconds(30));
  ASSERT_TRUE(job.ok() && *job);
  ASSERT_TRUE(store_->give_back(**job, Duration::zero()).ok());
  const release::ReleaseId left(trial_namespace("test", **job, 1), "etcd");
  cluster_.put(mist::testing::yaml(
      fmt::format("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", left.ns)));
  leave_release(left);
  release::Store releases(cluster_);
  const auto anchor = releases.read_anchor(left, Context());
  ASSERT_TRUE(anchor.ok() && *anchor);
  const auto lock =
      release::ReleaseLock::acquire({releases, cluster_, clock_, random_, events_}, **anchor, {},
                                    {.holder = "another", .operation = "uninstall"}, Context());
  ASSERT_TRUE(lock.ok()) << lock.error().to_line();
  expect_waiting_however_often_it_is_tried();
}

TEST_F(WorkerTest, AnUninstallThatFailsLeavesNothingOnTheCluster) {
  submit({{"map.yaml", std::string(kMap)}, {"role.yaml", std::string(kRole)}});
  refuse_deletions(2);  // that of the package, and the one after it
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Failed);
  const Step last = (*store_->last_run("etcd", "1.0.0"))->steps.back();
  EXPECT_EQ(last.name, "uninstall");
  EXPECT_THAT(last.log, HasSubstr("ClusterRoles stay"));
  EXPECT_THAT(cluster_.objects(), IsEmpty());
}

TEST_F(WorkerTest, AForeignServerThatListsNothingFailsNoTest) {
  submit({{"map.yaml", std::string(kMap)}, {"role.yaml", std::string(kRole)}});
  cluster_.register_kind(
      {{"tally.example.com", "v1", "Tally"}, "tallies", true, {"list", "create", "delete"}});
  cluster_.set_before([](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "list" || call.key.group_kind.kind != "Tally") return std::nullopt;
    return error(ErrorKind::Timeout, "cannot list");
  });
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Passed);
  EXPECT_THAT(cluster_.objects(), IsEmpty());
}

TEST_F(WorkerTest, WhatAPackageKeepsFailsItAndGoesAllTheSame) {
  submit({{"hook.yaml", R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: judge, annotations: {mistletoe.dev/keep: "true"}}
)"},
          {"role.yaml", R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader, annotations: {helm.sh/resource-policy: keep}}
rules: []
)"}});
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Failed);
  const Step last = (*store_->last_run("etcd", "1.0.0"))->steps.back();
  EXPECT_EQ(last.name, "uninstall");
  EXPECT_THAT(last.summary, HasSubstr("uninstalling left 2 objects"));
  EXPECT_THAT(cluster_.objects(), IsEmpty());
}

TEST_F(WorkerTest, WhatCannotBeRemovedNowIsRemovedByALaterTest) {
  submit({{"role.yaml", std::string(kRole)}});
  cluster_time_ = &cluster_clock_.emplace(clock_.now());
  refuse_deletions(-1);
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Failed);
  const auto is_namespace = [](const apimachinery::ObjectKey& key) {
    return key.group_kind == apimachinery::kNamespace;
  };
  EXPECT_EQ(std::ranges::count_if(cluster_.objects(), is_namespace), 1) << "its record tells of the role";
  EXPECT_TRUE(events_.has("of a test stays: what catalog-test-")) << "in the worker's log";
  cluster_.set_before({});
  cluster_clock_->advance(std::chrono::hours(1));
  submit({{"map.yaml", std::string(kMap)}}, "1.1.0");
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_THAT(cluster_.objects(), IsEmpty());
}

TEST_F(WorkerTest, ARecordThatThePackageForgesKeepsNothing) {
  submit({{"map.yaml", std::string(kMap)}, {"role.yaml", std::string(kRole)}});
  bool is_forged = false;
  cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    // It is installed.
    if (call.verb == "list" && call.key.group_kind.kind == "Event" && !std::exchange(is_forged, true))
      forge_record({call.key.ns, "etcd"});
    return std::nullopt;
  });
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_TRUE(is_forged);
  EXPECT_EQ(state(), VersionState::Failed);
  EXPECT_THAT(cluster_.objects(), IsEmpty());
}

TEST_F(WorkerTest, AForgedRecordOfADeadTestKeepsNothing) {
  submit({{"map.yaml", std::string(kMap)}});
  const release::ReleaseId left = abandoned();
  leave_release(left);
  forge_record(left);
  expect_abandoned_gone();
}

TEST_F(WorkerTest, AWebhookOfADeadTestThatRefusesNamespacesIsRemoved) {
  submit({{"map.yaml", std::string(kMap)}});
  leave_release(abandoned(), R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: judge}
)");
  cluster_.set_before([this](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "create" || call.key.group_kind != apimachinery::kNamespace ||
        !cluster_.has("ValidatingWebhookConfiguration.admissionregistration.k8s.io", "", "judge"))
      return std::nullopt;
    return error(ErrorKind::Internal, "failed calling webhook");
  });
  expect_abandoned_gone();
}

TEST_F(WorkerTest, RemovingADeadTestTakesNoneOfTheVersionsTime) {
  submit({{"map.yaml", std::string(kMap)}});
  leave_release(abandoned());
  TrialDependencies dependencies = dependencies_on_cluster();
  dependencies.longest = std::chrono::seconds(3);
  cluster_.set_before([&](const mist::testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete" && call.key.name == "catalog-test-55-1") clock_.sleep(dependencies.longest, {});
    return std::nullopt;
  });
  ASSERT_TRUE(work_once(*store_, dependencies, {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Passed);
  EXPECT_THAT(cluster_.objects(), IsEmpty());
}

TEST_F(WorkerTest, NoHookOfADeadTestIsWaitedFor) {
  submit({{"map.yaml", std::string(kMap)}});
  leave_release(abandoned(), std::string(kRole) + R"(---
apiVersion: batch/v1
kind: Job
metadata: {name: endless, annotations: {helm.sh/hook: pre-delete}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
)");
  expect_abandoned_gone();
}

TEST_F(WorkerTest, ANamespaceStaysWhereItsTestMayRun) {
  submit({{"map.yaml", std::string(kMap)}});
  encoding::Value ns = mist::testing::yaml(
      "{apiVersion: v1, kind: Namespace, metadata: {name: catalog-test-55-1, labels: {mistletoe.dev/catalog: "
      "test}}}");
  const encoding::Value made = cluster_.put(ns);
  const WallTime began = *parse_time(made.string_at({"metadata", "creationTimestamp"}));
  // Another worker, which gives tests more time.
  ns["metadata"].set("name", "catalog-test-56-1");
  ns["metadata"]["annotations"].set("mistletoe.dev/catalog-test-until",
                                    format_time(began + std::chrono::hours(1)));
  cluster_.put(ns);
  cluster_time_ = &cluster_clock_.emplace(began);
  cluster_clock_->advance(std::chrono::minutes(20));
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_EQ(state(), VersionState::Passed);
  EXPECT_TRUE(cluster_.has("Namespace", "", "catalog-test-55-1")) << "it may be in its removal";
  cluster_clock_->advance(std::chrono::minutes(30));
  submit({{"map.yaml", std::string(kMap)}}, "1.1.0");
  ASSERT_TRUE(work_once(*store_, dependencies_on_cluster(), {.holder = "w"}, events_, Context()).ok());
  EXPECT_FALSE(cluster_.has("Namespace", "", "catalog-test-55-1"));
  EXPECT_TRUE(cluster_.has("Namespace", "", "catalog-test-56-1"));
}

}  // namespace
}  // namespace mist::catalog
