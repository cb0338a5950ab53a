// One set of expectations for every implementation of Client: the fake cluster, and a real API server when
// MIST_TEST_KUBECONFIG names one. Tests with the fake may rely on everything that passes here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "encoding/yaml.h"
#include "kube/api_failure.h"
#include "kube/connect.h"
#include "testing/fake_cluster.h"
#include "testing/temp_dir.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

enum class Server { Fake, Real };

class ClientContract : public ::testing::TestWithParam<Server> {
 protected:
  void SetUp() override {
    if (GetParam() == Server::Fake) {
      client = std::make_unique<mist::testing::FakeCluster>();
    } else {
      const char* path = std::getenv("MIST_TEST_KUBECONFIG");
      if (path == nullptr) GTEST_SKIP() << "MIST_TEST_KUBECONFIG is not set";
      ConnectOptions options;
      options.kubeconfig = path;
      options.user_agent = user_agent("kube_test", "0");
      auto connected = connect(options, {fs, processes, clock, random, events,
                                         [](std::string_view) { return std::nullopt; }, false});
      ASSERT_TRUE(connected.ok()) << connected.error().to_line();
      client = *std::move(connected);
    }
    ns = "contract-" + random.token(4);
    ASSERT_TRUE(client
                    ->create(resource("Namespace"), "",
                             yaml("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + ns + "}"), context)
                    .ok());
  }
  void TearDown() override {
    if (client && !ns.empty()) (void)client->remove({resource("Namespace"), "", ns}, {}, context);
  }

  static Value yaml(std::string_view text) { return *encoding::parse_yaml(text); }
  ResourceInfo resource(std::string_view kind) {
    return *client->resource_for(apimachinery::parse_group_kind(kind), "", context);
  }
  ObjectRef ref(std::string_view kind, std::string_view name) {
    return {resource(kind), ns, std::string(name)};
  }
  Result<Value> apply(std::string_view text, const ApplyOptions& options = {}) {
    const Value object = yaml(text);
    const auto parsed = apimachinery::Object::from_value(object);
    const auto kind = client->resource_for(parsed->gvk().group_kind(), parsed->gvk().version, context);
    return client->apply({*kind, ns, std::string(parsed->name())}, object, options, context);
  }
  static std::string words(const Result<Value>& result) {
    return result.ok() ? "ok" : fmt::format("{}: {}", to_string(result.error().kind), result.error().because);
  }
  static std::string deployment(std::string_view rest) {
    return fmt::format(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: api}}\nspec:\n  selector: {{matchLabels: "
        "{{a: b}}}}\n"
        "  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      containers:\n{}",
        rest);
  }

  HostFileSystem fs;
  HostProcessRunner processes;
  SystemClock clock;
  SystemRandom random;
  NullEventSink events;
  Context context = Context().with_timeout(60s);
  std::unique_ptr<Client> client;
  std::string ns;
};

TEST_P(ClientContract, ApplyMergesRemovesAndConflicts) {
  ASSERT_EQ(
      words(apply(
          "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {l: v}}, data: {x: '1', w: '2'}}")),
      "ok");
  ASSERT_EQ(words(apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {z: '3'}}",
                        {.field_manager = "other"})),
            "ok");
  const auto fewer = apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}");
  EXPECT_EQ(*fewer->find("data"), Value::object({{"x", "1"}, {"z", "3"}}));
  EXPECT_EQ(fewer->at_path({"metadata", "labels"}), nullptr) << "an emptied map goes with its last key";
  EXPECT_EQ(words(apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {z: '4'}}")),
            "Conflict: Apply failed with 1 conflict: conflict with \"other\": .data.z");
  const auto forced =
      apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {z: '4'}}", {.force = true});
  EXPECT_EQ(*forced->find("data"), Value::object({{"z", "4"}}));
  const auto same = apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {z: '4'}}");
  EXPECT_EQ(same->string_at({"metadata", "resourceVersion"}),
            forced->string_at({"metadata", "resourceVersion"}));
}

TEST_P(ClientContract, SeveralConflictsAreListed) {
  ASSERT_EQ(words(apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1', w: '1'}}",
                        {.field_manager = "other"})),
            "ok");
  EXPECT_EQ(words(apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '2', w: '2'}}")),
            "Conflict: Apply failed with 2 conflicts: conflicts with \"other\":\n- .data.w\n- .data.x");
  const auto refused = apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '2'}}");
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(is_field_conflict(refused.error()));
  EXPECT_TRUE(is_conflict_only_of(refused.error(), ".data.x"));
  EXPECT_FALSE(is_conflict_only_of(refused.error(), ".data.w"));
  EXPECT_FALSE(is_other_object(refused.error()));
}

TEST_P(ClientContract, KeyedListsMergeByKey) {
  ASSERT_EQ(
      words(apply(deployment(
          "      - {name: web, image: 'web:1', env: [{name: A, value: '1'}, {name: B, value: '2'}]}\n"))),
      "ok");
  ASSERT_EQ(
      words(apply(deployment("      - {name: side, image: 'side:1'}\n"), {.field_manager = "injector"})),
      "ok");
  const auto changed =
      apply(deployment("      - {name: web, image: 'web:2', env: [{name: B, value: '2'}]}\n"));
  ASSERT_EQ(words(changed), "ok");
  const Value* containers = changed->at_path({"spec", "template", "spec", "containers"});
  ASSERT_EQ(containers->size(), 2u);
  EXPECT_EQ(containers->as_array()[0].string_at("image"), "web:2");
  EXPECT_EQ(containers->as_array()[0].find("env")->size(), 1u);
  EXPECT_EQ(changed->at_path({"metadata", "generation"})->as_int(), 3);
  EXPECT_EQ(words(apply(deployment("      - {name: web, image: 'web:3'}\n"), {.field_manager = "third"})),
            "Conflict: Apply failed with 1 conflict: conflict with \"mistctl\": "
            ".spec.template.spec.containers[name=\"web\"].image");
  const auto replaced = apply(deployment("      - {name: job, image: 'job:1'}\n"));
  containers = replaced->at_path({"spec", "template", "spec", "containers"});
  ASSERT_EQ(containers->size(), 2u);
  EXPECT_EQ(containers->as_array()[0].string_at("name"), "side");
}

TEST_P(ClientContract, PreconditionsOfApply) {
  constexpr std::string_view kPlanned =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: '1'}, data: {x: '1'}}";
  constexpr std::string_view kOther =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: 11111111-1111-4111-8111-111111111111}}";
  EXPECT_EQ(words(apply(kOther)),
            "Conflict: Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object "
            "specified "
            "uid 11111111-1111-4111-8111-111111111111, and no existing object was found");
  ASSERT_EQ(words(apply(kPlanned)), "ok");
  EXPECT_EQ(words(apply(kPlanned)),
            "Conflict: Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
            "please apply "
            "your changes to the latest version and try again");
  EXPECT_EQ(words(apply(kOther)),
            "Conflict: ConfigMap \"a\" is invalid: metadata.uid: Invalid value: "
            "\"11111111-1111-4111-8111-111111111111\": field is immutable");
  for (const std::string_view object : {kPlanned, kOther}) {
    const auto refused = apply(object);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(is_other_object(refused.error()), object == kOther);
    EXPECT_FALSE(is_field_conflict(refused.error()));
  }
}

TEST_P(ClientContract, CreateAndUpdateAndPatch) {
  const Value object = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1'}}");
  const auto created = client->create(resource("ConfigMap"), ns, object, context);
  ASSERT_EQ(words(created), "ok");
  EXPECT_EQ(words(client->create(resource("ConfigMap"), ns, object, context)),
            "Conflict: configmaps \"a\" already exists");
  const Value patch = yaml("{data: {x: null, w: '2'}}");
  EXPECT_EQ(*client->merge_patch(ref("ConfigMap", "a"), patch, context)->find("data"),
            Value::object({{"w", "2"}}));
  EXPECT_THAT(words(client->update(ref("ConfigMap", "a"), *created, context)),
              HasSubstr("the object has been modified"));
  Value guarded = patch;
  guarded["metadata"].set("resourceVersion", created->string_at({"metadata", "resourceVersion"}));
  EXPECT_THAT(words(client->merge_patch(ref("ConfigMap", "a"), guarded, context)),
              HasSubstr("the object has been modified"));
  EXPECT_EQ(words(client->get(ref("ConfigMap", "b"), context)), "NotFound: configmaps \"b\" not found");
  EXPECT_EQ(words(client->merge_patch(ref("ConfigMap", "b"), patch, context)),
            "NotFound: configmaps \"b\" not found");
}

TEST_P(ClientContract, FinalizersAndDeletion) {
  ASSERT_EQ(
      words(apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [example.com/wait]}}")),
      "ok");
  const auto live = client->get(ref("ConfigMap", "a"), context);
  EXPECT_THAT(words(client->remove(ref("ConfigMap", "a"), {.uid = "x"}, context)), HasSubstr("Conflict"));
  ASSERT_EQ(words(client->remove(ref("ConfigMap", "a"),
                                 {.uid = std::string(live->string_at({"metadata", "uid"}))}, context)),
            "ok");
  EXPECT_FALSE(
      client->get(ref("ConfigMap", "a"), context)->string_at({"metadata", "deletionTimestamp"}).empty());
  ASSERT_EQ(
      words(client->merge_patch(ref("ConfigMap", "a"), yaml("{metadata: {finalizers: null}}"), context)),
      "ok");
  EXPECT_EQ(words(client->get(ref("ConfigMap", "a"), context)), "NotFound: configmaps \"a\" not found");
}

TEST_P(ClientContract, MissingNamespaceAndBadBodies) {
  const Value object = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
  EXPECT_EQ(words(client->apply({resource("ConfigMap"), ns + "-no", "a"}, object, {}, context)),
            fmt::format("NotFound: namespaces \"{}-no\" not found", ns));
  const auto wrong_name = client->apply(ref("ConfigMap", "b"), object, {}, context);
  EXPECT_EQ(wrong_name.error().kind, ErrorKind::Invalid) << words(wrong_name);
  const auto bad_name = apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: A_b}}");
  EXPECT_EQ(bad_name.error().kind, ErrorKind::Invalid) << words(bad_name);
  ResourceInfo unknown = resource("ConfigMap");
  unknown.resource = "toys";
  unknown.gvk = {"example.com", "v1", "Toy"};
  EXPECT_TRUE(is_not_served(client->get({unknown, ns, "a"}, context).error()));
  EXPECT_TRUE(is_not_served(client->list(unknown, {.ns = ns}, context).error()));
  EXPECT_TRUE(is_not_served(client->apply({unknown, ns, "a"}, object, {}, context).error()));
  EXPECT_FALSE(is_not_served(client->get(ref("ConfigMap", "no"), context).error()));
}

TEST_P(ClientContract, NamespacesHaveTheirContents) {
  const auto inside = client->watch(
      resource("ConfigMap"), {.ns = ns},
      [](const WatchEvent& event) {
        return event.object.string_at({"metadata", "name"}) != "kube-root-ca.crt";
      },
      context);
  EXPECT_TRUE(inside.ok());
  const auto live = client->get({resource("Namespace"), "", ns}, context);
  EXPECT_EQ(live->string_at({"metadata", "labels", "kubernetes.io/metadata.name"}), ns);
  EXPECT_EQ(live->string_at({"status", "phase"}), "Active");
  ASSERT_EQ(words(client->remove({resource("Namespace"), "", ns}, {}, context)), "ok");
  const auto late = apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}");
  EXPECT_FALSE(late.ok());
}

TEST_P(ClientContract, SecretsAndSelectors) {
  const auto secret =
      apply("{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {app: x}}, stringData: {k: v}}");
  EXPECT_EQ(secret->string_at({"data", "k"}), "dg==");
  EXPECT_EQ(secret->string_at("type"), "Opaque");
  const auto count = [&](std::string selector) {
    const auto all =
        client->list(resource("Secret"), {.ns = ns, .label_selector = std::move(selector)}, context);
    return all.ok() ? static_cast<int>(all->items.size()) : -static_cast<int>(all.error().kind);
  };
  EXPECT_EQ(count("app=x"), 1);
  EXPECT_EQ(count("app in (x,y),app!=y"), 1);
  EXPECT_EQ(count("!app"), 0);
  EXPECT_EQ(count("app notin (x)"), 0);
  EXPECT_EQ(count("a b"), -static_cast<int>(ErrorKind::Invalid));
}

// The record of a release has to fit into these (release/store.h).
TEST_P(ClientContract, SecretsAndConfigMapsHoldAMebibyteInAll) {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  const auto too_long = HasSubstr("may not be more than 1048576 bytes");
  const auto sized = [&](std::string_view kind, std::size_t first, std::size_t second) {
    const auto text = [&](std::size_t size) {
      const std::string bytes(size, 'x');
      return kind == "Secret" ? base64_encode(bytes) : bytes;
    };
    Value object = yaml(fmt::format("{{apiVersion: v1, kind: {}, metadata: {{name: large}}}}", kind));
    object.set("data", Value::object({{"first", text(first)}, {"second", text(second)}}));
    return object;
  };
  for (const std::string_view kind : {"Secret", "ConfigMap"}) {
    EXPECT_THAT(words(client->create(resource(kind), ns, sized(kind, kLimit - 1000, 1001), context)),
                too_long);
    ASSERT_EQ(words(client->create(resource(kind), ns, sized(kind, kLimit - 1000, 1000), context)), "ok");
    const Value more = sized(kind, kLimit - 1000, 1001);
    EXPECT_THAT(words(client->merge_patch(ref(kind, "large"), Value::object({{"data", *more.find("data")}}),
                                          context)),
                too_long);
  }
}

INSTANTIATE_TEST_SUITE_P(Clients, ClientContract, ::testing::Values(Server::Fake, Server::Real),
                         [](const auto& test) { return test.param == Server::Fake ? "Fake" : "Real"; });

}  // namespace
}  // namespace mist::kube
