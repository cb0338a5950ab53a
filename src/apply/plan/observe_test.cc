#include "apply/plan/observe.h"
#include "apply/reserved_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/client_with_logs.h"
#include "testing/fake_cluster.h"

namespace mist::apply {
namespace {

using encoding::Value;
using testing::FakeCall;
using testing::FakeCluster;

// Remembers how many objects each list was to have at first.
class PagesClient : public testing::ClientWithLogs {
 public:
  using ClientWithLogs::ClientWithLogs;
  Result<kube::ObjectList> list(const kube::ResourceInfo& resource, const kube::ListOptions& options,
                                const Context& context) override {
    pages.push_back(options.page_size);
    return ClientWithLogs::list(resource, options, context);
  }
  std::vector<int> pages;
};

class ObserveTest : public ::testing::Test {
 protected:
  static Value config_map(const std::string& name, std::string_view part_of = "") {
    Value object = Value::object({{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", Value::object({{"name", name}, {"namespace", "shop"}})},
                                  {"data", Value::object({{"of", "somebody"}})}});
    if (!part_of.empty())
      object["metadata"].set("labels", Value::object({{std::string(kPartOfLabel), part_of}}));
    return object;
  }

  // The state as seen by a release that wants these ConfigMaps and owns `owned` of them.
  LiveState look(const std::vector<std::string>& names, std::size_t owned,
                 const ObserveOptions& options = {}) {
    std::vector<RenderedObject> objects;
    std::vector<InventoryItem> inventory;
    for (const std::string& name : names) {
      RenderedObject rendered{*apimachinery::Object::from_value(config_map(name)), "all.yaml", 1};
      if (inventory.size() < owned)
        inventory.push_back({.key = rendered.object.key(), .version = "v1", .uid = "u"});
      objects.push_back(std::move(rendered));
    }
    auto desired = prepare(std::move(objects), id, cluster, Context());
    EXPECT_TRUE(desired.ok());
    cluster.clear_calls();
    auto live = observe(client, id, *desired, inventory, Context(), options);
    EXPECT_TRUE(live.ok());
    return live.ok() ? *std::move(live) : LiveState();
  }

  static ObjectKey key(const std::string& name) { return {{"", "ConfigMap"}, "shop", name}; }

  void SetUp() override {
    cluster.put(Value::object(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", "shop"}})}}));
  }

  FakeCluster cluster;
  PagesClient client{cluster};
  const Owner id{"shop", "web"};
  const std::string ours = apply_set_id(id);
};

TEST_F(ObserveTest, WhereNothingIsOwnedOneListOfMetadataTellsWhatIsInTheWay) {
  cluster.put(config_map("b", "applyset-of-another-v1"));
  cluster.put(config_map("not-wanted"));
  const LiveState live = look({"a", "b", "c"}, 0);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_FALSE(live.at(key("b")).whole);
  const std::vector<FakeCall> calls = cluster.calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].verb, "list");
  EXPECT_TRUE(calls[0].metadata_only);
}

TEST_F(ObserveTest, WhatCarriesOurMarkComesWholeThoughNoRecordKnowsIt) {
  cluster.put(config_map("b", ours));
  const LiveState live = look({"a", "b"}, 0);
  ASSERT_TRUE(live.contains(key("b")));
  EXPECT_TRUE(live.at(key("b")).whole);
  EXPECT_EQ(live.at(key("b")).value.string_at({"data", "of"}), "somebody");
}

TEST_F(ObserveTest, AThousandObjectsComeInOnePageAndVeryManyDoNot) {
  const auto first_page_of = [&](int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.push_back(fmt::format("c{}", i));
      cluster.put(config_map(names.back(), ours));
    }
    client.pages.clear();
    look(names, names.size());
    EXPECT_EQ(client.pages.size(), 1U) << count;
    return client.pages.empty() ? 0 : client.pages.front();
  };
  EXPECT_EQ(first_page_of(3), 500);
  EXPECT_GE(first_page_of(1000), 1000);
  EXPECT_EQ(first_page_of(2500), 500);
}

TEST_F(ObserveTest, ASingleObjectIsReadByItself) {
  cluster.put(config_map("a"));
  const LiveState live = look({"a"}, 0);
  ASSERT_TRUE(live.contains(key("a")));
  EXPECT_TRUE(live.at(key("a")).whole);
  EXPECT_EQ(cluster.count("get"), 1U);
  EXPECT_EQ(cluster.calls().size(), 1U);
}

TEST_F(ObserveTest, WhereSomethingIsOwnedOneListOfOursIsEnough) {
  for (const char* name : {"a", "b", "c"}) cluster.put(config_map(name, ours));
  const LiveState live = look({"a", "b", "c"}, 3);
  EXPECT_EQ(live.size(), 3U);
  EXPECT_TRUE(live.at(key("c")).whole);
  const std::vector<FakeCall> calls = cluster.calls();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_FALSE(calls[0].metadata_only);
  EXPECT_THAT(calls[0].label_selector, ::testing::HasSubstr(ours));
}

TEST_F(ObserveTest, WhatIsTakenOverComesWholeThoughNothingIsOwnedYet) {
  const Owner other{"shop", "old"};
  cluster.put(config_map("a", apply_set_id(other)));
  cluster.put(config_map("b", apply_set_id(other)));
  const LiveState live = look({"a", "b"}, 0, {.take_over_from = other});
  EXPECT_TRUE(live.at(key("a")).whole);
  EXPECT_TRUE(live.at(key("b")).whole);
}

TEST_F(ObserveTest, WhereListIsForbiddenEachIsRead) {
  cluster.put(config_map("b"));
  cluster.set_before([](const FakeCall& call) -> std::optional<Error> {
    if (call.verb == "list") return error(ErrorKind::Forbidden, "you may not list");
    return std::nullopt;
  });
  for (const std::size_t owned : {0U, 1U}) {
    const LiveState live = look({"a", "b", "c"}, owned);
    EXPECT_EQ(live.size(), 1U);
    EXPECT_EQ(cluster.count("get"), 3U);
  }
}

}  // namespace
}  // namespace mist::apply
