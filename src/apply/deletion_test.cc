// What the answers to a DELETE prove.

#include "apply/deletion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/yaml.h"
#include "testing/fake_cluster.h"

namespace mist::apply {
namespace {

using ::testing::HasSubstr;

class DeletionTest : public ::testing::Test {
 protected:
  Result<Deletion> remove(std::string uid) {
    return delete_object(cluster, ref, {.uid = std::move(uid)}, Context());
  }
  std::string put(std::string_view more = "") {
    return std::string(cluster
                           .put(*encoding::parse_yaml(fmt::format(
                               "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: one {}}}}}", more)))
                           .string_at({"metadata", "uid"}));
  }
  // As admission webhooks do: with whatever status they like, before anything is deleted.
  void deny(ErrorKind kind) {
    cluster.set_before([kind](const testing::FakeCall& call) -> std::optional<Error> {
      if (call.verb != "delete") return std::nullopt;
      return error(kind, "cannot delete ConfigMap default/one")
          .with_because("admission webhook \"usages.example.com\" denied the request: in use");
    });
  }

  testing::FakeCluster cluster;
  kube::ObjectRef ref{{{"", "v1", "ConfigMap"}, "configmaps", true, {}}, "default", "one"};
};

TEST_F(DeletionTest, AWebhookThatDeniesItIsNoProofThatItIsGone) {
  const std::string uid = put();
  for (const ErrorKind kind : {ErrorKind::Conflict, ErrorKind::NotFound, ErrorKind::Forbidden}) {
    deny(kind);
    const auto refused = remove(uid);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, kind);
    EXPECT_THAT(refused.error().because, HasSubstr("denied the request: in use"));
  }
  cluster.set_before({});
  EXPECT_EQ(*remove(uid), Deletion::Gone);
  EXPECT_EQ(*remove(uid), Deletion::Gone);
}

TEST_F(DeletionTest, AnotherObjectOfThatNameIsLeftAlone) {
  const std::string uid = put();
  cluster.drop({{"", "ConfigMap"}, "default", "one"});
  put();
  EXPECT_EQ(*remove(uid), Deletion::Other);
  EXPECT_TRUE(cluster.has("ConfigMap", "default", "one"));
}

TEST_F(DeletionTest, WhatIsBeingDeletedAlreadyIsGoing) {
  const std::string uid = put(", finalizers: [example.com/wait]");
  EXPECT_EQ(*remove(uid), Deletion::Going);
  deny(ErrorKind::Conflict);  // as a namespace does that is being emptied
  EXPECT_EQ(*remove(uid), Deletion::Going);
}

}  // namespace
}  // namespace mist::apply
