// Blueprints that nobody evaluates any more; tests/e2e/test_operator.py has the others.

#include "operator/revisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "kube/client_pool.h"
#include "operator/words.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

class RevisionsTest : public ::testing::Test {
 protected:
  // The blueprint default/app lost its label while no operator ran, so its instances are only torn down.
  void SetUp() override {
    cluster_.register_kind({{"example.com", "v1", "App"}, "apps", true, {}, true});
    Value map = testing::yaml(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: default, "
        "annotations: {mistletoe.dev/kind: example.com/v1/App}}}");
    map["metadata"].set("finalizers", Value::array({kFinalizer}));
    cluster_.put(map);
  }
  void put_instance() {
    cluster_.put(
        testing::yaml("{apiVersion: example.com/v1, kind: App, metadata: {name: one, namespace: default}}"));
  }
  void load() {
    std::unique_lock lock(mutex_);
    const Status loaded = revisions_.load("app", lock, Context());
    EXPECT_TRUE(loaded.ok()) << loaded.error().to_line();
  }
  void begin(std::size_t instances) {
    ASSERT_TRUE(revisions_.start(Context()).ok());
    load();
    ASSERT_TRUE(is_watched());
    ASSERT_TRUE(knows(instances));
  }
  bool is_watched() { return revisions_.of("app").instances != nullptr; }
  bool knows(std::size_t instances) {
    const std::shared_ptr<kube::MultiNamespaceInformer> watched = revisions_.of("app").instances;
    for (int i = 0; i < 3000; ++i) {
      if (watched->synced() && watched->keys().size() == instances) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  std::string status() {
    const auto map = cluster_.find("ConfigMap", "default", "app");
    return std::string(map->string_at({"metadata", "annotations", apply::kStatusAnnotation}));
  }
  // In place of the one without the label: one that names a part.
  void put_blueprint_of_parts() {
    drop_blueprint();
    cluster_.put(
        testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: default, "
                      "labels: {mistletoe.dev/blueprint: 'true'}, "
                      "annotations: {mistletoe.dev/blueprint-parts: lib}}, data: {blueprint.ncl: '1'}}"));
  }
  void put_part() {
    cluster_.put(
        testing::yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: lib, namespace: default, "
                      "labels: {mistletoe.dev/blueprint: part}}, data: {lib.ncl: '2'}}"));
  }
  bool is_woken(const std::string& blueprint) {
    for (int i = 0; i < 3000; ++i) {
      {
        const std::lock_guard lock(woken_mutex_);
        if (woken_.erase(Item{blueprint}) > 0) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  // As workers do, until the blueprint has that status.
  bool load_until(const std::string& status_wanted) {
    for (int i = 0; i < 3000; ++i) {
      {
        std::unique_lock lock(mutex_);
        for (const char* each : {"lib", "app"}) static_cast<void>(revisions_.load(each, lock, Context()));
      }
      if (status() == status_wanted) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  std::string message() {
    const auto map = cluster_.find("ConfigMap", "default", "app");
    return std::string(map->string_at({"metadata", "annotations", apply::kMessageAnnotation}));
  }
  void drop_blueprint() { cluster_.drop({{"", "ConfigMap"}, "default", "app"}); }

  testing::FakeCluster cluster_;
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  std::mutex mutex_;
  std::mutex woken_mutex_;
  std::set<Item> woken_;
  const Observer::Wake wake_ = [this](const Item& item) {
    const std::lock_guard lock(woken_mutex_);
    woken_.insert(item);
  };
  package::Renderer renderer_{{}, events_};
  Notices notices_{cluster_, clock_, events_};
  Metrics metrics_{"test"};
  const WatchedNamespaces namespaces_;
  kube::Share share_ = kube::Share::all();
  Actors actors_{
      [this](const Account&) -> Result<std::shared_ptr<kube::Client>> { return kube::borrowed(cluster_); },
      "default",
      {},
      clock_,
      events_,
      wake_,
      mutex_,
      Crds::Role::Writes};
  Revisions revisions_{
      {cluster_, renderer_, clock_, events_, notices_, actors_, "", share_, metrics_, namespaces_},
      "default",
      wake_};
};

TEST_F(RevisionsTest, TheWatchOfADeletedBlueprintEndsWhereItHasNoInstances) {
  begin(0);
  drop_blueprint();
  load();
  EXPECT_FALSE(is_watched());
}

TEST_F(RevisionsTest, TheWatchOfADeletedBlueprintEndsAfterItsLastInstance) {
  put_instance();
  begin(1);
  drop_blueprint();
  load();
  ASSERT_TRUE(is_watched());
  ASSERT_TRUE(revisions_.guard("app", false, Context()).ok());
  ASSERT_TRUE(is_watched()) << "the instance has to be torn down";
  cluster_.drop({{"example.com", "App"}, "default", "one"});
  ASSERT_TRUE(knows(0));
  ASSERT_TRUE(revisions_.guard("app", false, Context()).ok());
  EXPECT_FALSE(is_watched());
}

TEST_F(RevisionsTest, ABlueprintThatLacksAPartIsRejectedUntilThePartIsThere) {
  put_blueprint_of_parts();
  ASSERT_TRUE(revisions_.start(Context()).ok());
  ASSERT_TRUE(load_until("Rejected"));
  EXPECT_THAT(message(), ::testing::HasSubstr("its part lib is missing"));
  put_part();
  ASSERT_TRUE(is_woken("lib"));
  {
    const std::lock_guard lock(woken_mutex_);
    woken_.clear();
  }
  {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(revisions_.load("lib", lock, Context()).ok());
  }
  EXPECT_TRUE(is_woken("app")) << "it names that part";
  // This test has no engine: that is what evaluating it finds first.
  EXPECT_TRUE(load_until("NotEvaluated"));
  cluster_.drop({{"", "ConfigMap"}, "default", "lib"});
  EXPECT_TRUE(load_until("Rejected"));
  EXPECT_THAT(message(), ::testing::HasSubstr("its part lib is missing"));
}

TEST_F(RevisionsTest, APartIsNoBlueprint) {
  put_part();
  ASSERT_TRUE(revisions_.start(Context()).ok());
  ASSERT_TRUE(is_woken("lib"));
  cluster_.clear_calls();
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(revisions_.load("lib", lock, Context()).ok());
  cluster_.drop({{"", "ConfigMap"}, "default", "lib"});
  lock.unlock();
  ASSERT_TRUE(is_woken("lib"));
  lock.lock();
  EXPECT_TRUE(revisions_.load("lib", lock, Context()).ok());
  EXPECT_EQ(cluster_.writes(), 0U);
  EXPECT_EQ(cluster_.count("list"), 0U) << "it is not looked for as a blueprint that is gone";
}

// Somebody reads it, and the next operator decides by it.
TEST_F(RevisionsTest, AStatusThatCannotBeWrittenIsWrittenLater) {
  put_instance();
  ASSERT_TRUE(revisions_.start(Context()).ok());
  cluster_.set_before([](const testing::FakeCall& call) -> std::optional<Error> {
    if (call.verb != "apply") return std::nullopt;
    return error(ErrorKind::Retryable, "the connection was reset");
  });
  {
    std::unique_lock lock(mutex_);
    const Status loaded = revisions_.load("app", lock, Context());
    ASSERT_FALSE(loaded.ok()) << "nobody would try again";
    EXPECT_TRUE(loaded.error().to_line().contains("was reset")) << loaded.error().to_line();
  }
  EXPECT_EQ(status(), "");
  cluster_.set_before({});
  load();
  EXPECT_EQ(status(), "LabelMissing");
  cluster_.clear_calls();
  load();
  EXPECT_EQ(cluster_.writes(), 0U);
}

}  // namespace
}  // namespace mist::operator_
