// Conclusions from an answer to DELETE, and how a DELETE that comes late is kept from an object that somebody
// else has written since. The real server's treatment of preconditions is tested in client_contract_test.cc
// and tests/e2e/test_stopped.py.

#include "kube/deletion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "kube/api_failure.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"

namespace mist::kube {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeCluster;

class DeletionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Value made = put("data: {a: '1'}");
    target.uid = made.string_at({"metadata", "uid"});
    target.resource_version = made.string_at({"metadata", "resourceVersion"});
  }
  Value put(const std::string& data, const std::string& metadata = "") {
    return cluster.put(*encoding::parse_yaml(
        fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default{}}}, {}}}",
                    metadata, data)));
  }
  bool there() const { return cluster.has("ConfigMap", "default", "a"); }
  Result<Deletion> remove() { return remove(Context().with_clock(clock)); }
  Result<Deletion> remove(const Context& context) { return delete_object(cluster, ref, target, context); }
  std::vector<std::string> verbs() const {
    std::vector<std::string> all;
    for (const FakeCall& call : cluster.calls()) all.push_back(call.verb);
    return all;
  }

  FakeCluster cluster;
  testing::FakeClock clock;
  const ObjectRef ref{{{"", "v1", "ConfigMap"}, "configmaps", true, {}}, "default", "a"};
  DeletionTarget target;
};

TEST_F(DeletionTest, WhatIsAsItWasSeenTakesOneRequest) {
  EXPECT_EQ(*remove(), Deletion::Gone);
  EXPECT_THAT(verbs(), ElementsAre("delete"));
}

TEST_F(DeletionTest, WhatChangedIsLookedAtAndDeletedAtItsNewVersion) {
  put("data: {a: '2'}");
  int asked = 0;
  target.recheck = [&](const Value& now) -> Status {
    ++asked;
    EXPECT_EQ(now.string_at({"data", "a"}), "2");
    return {};
  };
  EXPECT_EQ(*remove(), Deletion::Gone);
  EXPECT_THAT(verbs(), ElementsAre("delete", "get", "delete"));
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(there());
}

TEST_F(DeletionTest, WhatIsSomebodyElsesByNowStays) {
  put("data: {a: '2'}");
  target.recheck = [](const Value&) -> Status { return error(ErrorKind::Conflict, "not ours"); };
  const auto refused = remove();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "not ours");
  EXPECT_TRUE(there());
}

TEST_F(DeletionTest, ARequestThatArrivesAfterTheSuccessorsWriteDeletesNothing) {
  bool ours = true;
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete") return std::nullopt;
    put("data: {a: 'the successor'}");  // while it was on its way
    ours = false;
    return std::nullopt;
  });
  const auto refused = remove(Context().with_guard(
      [&]() -> Status { return ours ? Status() : error(ErrorKind::Conflict, "the lock ran out"); }));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(there());
  EXPECT_EQ(cluster.count("delete"), 1u);
}

TEST_F(DeletionTest, WithoutAVersionItIsLookedAtFirst) {
  target.resource_version.clear();
  EXPECT_EQ(*remove(), Deletion::Gone);
  EXPECT_THAT(verbs(), ElementsAre("get", "delete"));
}

TEST_F(DeletionTest, WhatChangesAllTheTimeGoesByItsUidInTheEnd) {
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete") put(fmt::format("data: {{a: 'change {}'}}", call.number));
    return std::nullopt;
  });
  int asked = 0;
  target.recheck = [&](const Value&) {
    ++asked;
    return Status();
  };
  EXPECT_EQ(*remove(), Deletion::Gone);
  EXPECT_FALSE(there());
  EXPECT_GT(asked, 10);
  EXPECT_EQ(clock.sleeps().front(), std::chrono::milliseconds(5));
  EXPECT_EQ(clock.sleeps().back(), std::chrono::milliseconds(200));
}

TEST_F(DeletionTest, WhatChangesAllTheTimeStaysAsSoonAsItMay) {
  cluster.set_before([&](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "delete") put(fmt::format("data: {{a: 'change {}'}}", call.number));
    return std::nullopt;
  });
  int asked = 0;
  target.recheck = [&](const Value&) -> Status {
    if (++asked < 5) return {};
    return error(ErrorKind::Conflict, "it is another release's now");
  };
  EXPECT_EQ(remove().error().message, "it is another release's now");
  EXPECT_TRUE(there());
}

// As admission webhooks do: with whatever status they like, before anything is deleted.
TEST_F(DeletionTest, ADenialIsNoProofThatItIsGoneAndNotTriedAgain) {
  for (const ErrorKind kind : {ErrorKind::Conflict, ErrorKind::NotFound, ErrorKind::Forbidden}) {
    cluster.set_before([kind](const FakeCall& call) -> std::optional<Error> {
      if (call.verb != "delete") return std::nullopt;
      return error(kind, "cannot delete").with_because("admission webhook denied it: in use");
    });
    cluster.clear_calls();
    const auto refused = remove();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, kind);
    EXPECT_EQ(refused.error().because, "admission webhook denied it: in use");
    EXPECT_EQ(cluster.count("delete"), 1u);
  }
}

TEST_F(DeletionTest, WhatIsBeingDeletedAlreadyIsGoing) {
  const Value held = put("data: {a: '1'}", ", finalizers: [example.com/wait]");
  target.resource_version = held.string_at({"metadata", "resourceVersion"});
  EXPECT_EQ(*remove(), Deletion::Terminating);
  cluster.set_before(
      [](const FakeCall& call) -> std::optional<Error> {  // as a namespace does that is emptied
        if (call.verb != "delete") return std::nullopt;
        return error(ErrorKind::Conflict, "cannot delete");
      });
  EXPECT_EQ(*remove(), Deletion::Terminating);
}

TEST_F(DeletionTest, AnotherObjectOfItsNameStays) {
  cluster.drop({{"", "ConfigMap"}, "default", "a"});
  EXPECT_EQ(*remove(), Deletion::Gone);
  put("data: {}");
  EXPECT_EQ(*remove(), Deletion::Other);
  EXPECT_TRUE(there());
}

TEST_F(DeletionTest, AFourHundredAndFourOfThePathIsNoProofThatItIsGone) {
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb != "delete") return std::nullopt;
    return as_not_served(error(ErrorKind::NotFound, "cannot delete"));
  });
  const auto refused = remove();
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(is_not_served(refused.error()));
}

}  // namespace
}  // namespace mist::kube
