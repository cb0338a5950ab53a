// Against a real API server: set MIST_TEST_KUBECONFIG to the kubeconfig of a cluster that may be written to
// (devcluster up prints one). Each test works in a namespace of its own and leaves its deletion to the
// server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "encoding/json.h"
#include "kube/connect.h"
#include "testing/temp_dir.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;
using mist::testing::TempDir;
using ::testing::Contains;
using ::testing::HasSubstr;

class Warnings final : public EventSink {
 public:
  void message(const Message& event) override {
    const std::lock_guard lock(mutex_);
    if (event.level == EventLevel::Warning) texts_.push_back(event.text);
  }
  void began(const ActivityBegan&) override {}
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}
  std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

class RealClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("MIST_TEST_KUBECONFIG");
    if (path == nullptr) GTEST_SKIP() << "MIST_TEST_KUBECONFIG is not set";
    kubeconfig = path;
    auto connected = connect_with(kubeconfig);
    ASSERT_TRUE(connected.ok()) << connected.error().to_line();
    client = *std::move(connected);
    ns = "kube-test-" + random.token(4);
    const Value object = Value::object(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", ns}})}});
    const auto made = client->create(resource("Namespace"), "", object, context);
    ASSERT_TRUE(made.ok()) << made.error().to_line();
  }
  void TearDown() override {
    if (client) (void)client->remove({resource("Namespace"), "", ns}, {}, context);
  }

  ConnectDependencies dependencies() {
    return {fs, processes, clock, random, events, [](std::string_view) { return std::nullopt; }, false};
  }
  Result<std::unique_ptr<RestClient>> connect_with(const std::string& path) {
    ConnectOptions options;
    options.kubeconfig = path;
    options.user_agent = user_agent("kube_test", "0");
    options.cache_directory = directory.path() / "cache";
    return connect(options, dependencies());
  }
  ResourceInfo resource(std::string_view kind) {
    auto found = client->resource_for(apimachinery::parse_group_kind(kind), "", context);
    EXPECT_TRUE(found.ok()) << found.error().to_line();
    return *found;
  }
  ObjectRef config_map_ref(std::string name) { return {resource("ConfigMap"), ns, std::move(name)}; }
  Value config_map(std::string_view name, Value data) {
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "ConfigMap"},
                          {"metadata", Value::object({{"name", name}, {"namespace", ns}})},
                          {"data", std::move(data)}});
  }
  Result<Value> apply(const Value& object, const ApplyOptions& options = {}) {
    return client->apply(config_map_ref(std::string(object.string_at({"metadata", "name"}))), object, options,
                         context);
  }
  // A kubeconfig for the same server that differs in one way.
  std::string variant(std::string_view cluster_lines, std::string_view user_lines) {
    const auto resolved = resolve_context({.kubeconfig = kubeconfig}, dependencies());
    const std::string text = fmt::format(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: k, "
        "user: u}}\n"
        "clusters:\n- name: k\n  cluster:\n    server: {}\n{}users:\n- name: u\n  user:\n{}",
        resolved->cluster.server, cluster_lines, user_lines);
    const Path path = directory.path() / random.token(4);
    EXPECT_TRUE(fs.write(path, text).ok());
    return path.string();
  }
  std::string ca_line() {
    const auto resolved = resolve_context({.kubeconfig = kubeconfig}, dependencies());
    if (!resolved->cluster.ca_pem.empty())
      return fmt::format("    certificate-authority-data: {}\n", base64_encode(resolved->cluster.ca_pem));
    return fmt::format("    certificate-authority: {}\n", resolved->cluster.certificate_authority.string());
  }

  HostFileSystem fs;
  HostProcessRunner processes;
  SystemClock clock;
  SystemRandom random;
  Warnings events;
  TempDir directory;
  Context context = Context().with_timeout(60s);
  std::string kubeconfig, ns;
  std::unique_ptr<RestClient> client;
};

TEST_F(RealClusterTest, AppliesAndReportsConflicts) {
  ASSERT_TRUE(apply(config_map("a", Value::object({{"x", "1"}})), {.field_manager = "other"}).ok());
  const auto refused = apply(config_map("a", Value::object({{"x", "2"}})));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(refused.error().because, "Apply failed with 1 conflict: conflict with \"other\": .data.x");
  EXPECT_THAT(refused.error().message, HasSubstr("cannot apply ConfigMap " + ns + "/a on https://"));
  const auto forced = apply(config_map("a", Value::object({{"x", "2"}})), {.force = true});
  ASSERT_TRUE(forced.ok()) << forced.error().to_line();
  EXPECT_EQ(forced->string_at({"data", "x"}), "2");
}

TEST_F(RealClusterTest, PlannedCreateIsRefusedWhereSomethingIs) {
  Value planned = config_map("a", Value::object({{"x", "1"}}));
  planned["metadata"].set("resourceVersion", "1");
  const auto created = apply(planned);
  ASSERT_TRUE(created.ok()) << created.error().to_line();
  const auto again = apply(planned);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::Conflict);
  EXPECT_THAT(again.error().because, HasSubstr("the object has been modified"));
}

TEST_F(RealClusterTest, UidGuardsApplyAndDelete) {
  const auto created = apply(config_map("a", Value::object({{"x", "1"}})));
  const std::string uid(created->string_at({"metadata", "uid"}));
  Value guarded = config_map("a", Value::object({{"x", "2"}}));
  guarded["metadata"].set("uid", "11111111-1111-4111-8111-111111111111");
  EXPECT_EQ(apply(guarded).error().kind, ErrorKind::Conflict);
  guarded["metadata"].set("uid", uid);
  EXPECT_TRUE(apply(guarded).ok());
  const auto refused =
      client->remove(config_map_ref("a"), {.uid = "11111111-1111-4111-8111-111111111111"}, context);
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_TRUE(client->remove(config_map_ref("a"), {.uid = uid}, context).ok());
  EXPECT_EQ(client->get(config_map_ref("a"), context).error().kind, ErrorKind::NotFound);
  guarded["metadata"].set("uid", uid);
  EXPECT_EQ(apply(guarded).error().kind, ErrorKind::Conflict) << "not there any more";
}

TEST_F(RealClusterTest, UnknownFieldIsAnError) {
  Value object = config_map("a", Value::object({{"x", "1"}}));
  object.set("dat", "typo");
  const auto refused = apply(object);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Invalid) << refused.error().to_line();
  EXPECT_THAT(refused.error().because, HasSubstr("dat"));
}

TEST_F(RealClusterTest, ListsAllPagesAndOnlyMetadata) {
  for (int i = 0; i < 5; ++i) {
    Value object = config_map(fmt::format("c{}", i), Value::object({{"x", "1"}}));
    object["metadata"]["labels"].set("app", i < 4 ? "yes" : "no");
    ASSERT_TRUE(apply(object).ok());
  }
  const auto all =
      client->list(resource("ConfigMap"), {.ns = ns, .label_selector = "app=yes", .page_size = 2}, context);
  ASSERT_TRUE(all.ok()) << all.error().to_line();
  ASSERT_EQ(all->items.size(), 4u);
  EXPECT_FALSE(all->resource_version.empty());
  EXPECT_EQ(all->items[3].string_at("kind"), "ConfigMap");
  EXPECT_EQ(all->items[3].string_at({"data", "x"}), "1");
  const auto partial =
      client->list(resource("ConfigMap"),
                   {.ns = ns, .label_selector = "app", .metadata_only = true, .page_size = 2}, context);
  ASSERT_EQ(partial->items.size(), 5u);
  EXPECT_EQ(partial->items[0].string_at("kind"), "ConfigMap");
  EXPECT_EQ(partial->items[0].string_at({"metadata", "name"}), "c0");
  EXPECT_EQ(partial->items[0].find("data"), nullptr);
}

TEST_F(RealClusterTest, UpdateAndMergePatchAreGuarded) {
  const auto first = apply(config_map("a", Value::object({{"x", "1"}})));
  const Value patch = Value::object({{"data", Value::object({{"y", "2"}})}});
  ASSERT_TRUE(client->merge_patch(config_map_ref("a"), patch, context).ok());
  const Value& stale = *first;
  EXPECT_EQ(client->update(config_map_ref("a"), stale, context).error().kind, ErrorKind::Conflict);
  Value current = *client->get(config_map_ref("a"), context);
  current["data"].set("z", "3");
  const auto updated = client->update(config_map_ref("a"), current, context);
  ASSERT_TRUE(updated.ok()) << updated.error().to_line();
  EXPECT_EQ(updated->find("data")->size(), 3u);
}

TEST_F(RealClusterTest, DryRunWritesNothing) {
  ASSERT_TRUE(apply(config_map("a", Value::object()), {.dry_run = DryRun::Server}).ok());
  EXPECT_EQ(client->get(config_map_ref("a"), context).error().kind, ErrorKind::NotFound);
}

TEST_F(RealClusterTest, WatchSeesWhatHappens) {
  ASSERT_TRUE(apply(config_map("a", Value::object({{"x", "1"}}))).ok());
  std::vector<std::string> seen;
  const auto handler = [&](const WatchEvent& event) {
    const std::string_view name = event.object.string_at({"metadata", "name"});
    if (name == "kube-root-ca.crt") return true;
    constexpr std::string_view kNames[] = {"added", "modified", "deleted", "complete"};
    seen.push_back(fmt::format("{} {}", kNames[static_cast<int>(event.type)], name));
    if (event.type == WatchEventType::Bookmark) {
      EXPECT_TRUE(apply(config_map("a", Value::object({{"x", "2"}}))).ok());
      EXPECT_TRUE(apply(config_map("b", Value::object())).ok());
      EXPECT_TRUE(client->remove(config_map_ref("a"), {}, context).ok());
    }
    return event.type != WatchEventType::Deleted;
  };
  const auto status =
      client->watch(resource("ConfigMap"), {.ns = ns, .metadata_only = true}, handler, context);
  ASSERT_TRUE(status.ok()) << status.error().to_line();
  EXPECT_THAT(seen, ::testing::ElementsAre("added a", "complete ", "modified a", "added b", "deleted a"));
}

TEST_F(RealClusterTest, WatchEndsWhenStopped) {
  std::stop_source stop;
  const auto handler = [&](const WatchEvent& event) {
    if (event.type == WatchEventType::Bookmark) stop.request_stop();
    return true;
  };
  const auto status =
      client->watch(resource("ConfigMap"), {.ns = ns}, handler, context.with_stop(stop.get_token()));
  EXPECT_EQ(status.error().kind, ErrorKind::Cancelled);
}

TEST_F(RealClusterTest, DiscoveryKnowsKindsAndIsKept) {
  EXPECT_EQ(resource("Deployment.apps").resource, "deployments");
  EXPECT_EQ(client->resource_for_alias("deploy", context)->gvk.kind, "Deployment");
  EXPECT_EQ(client->resource_for({"apps", "Deploymnt"}, "", context).error().hint,
            "did you mean Deployment?");
  EXPECT_EQ(client->resource_for({"apps", "Deployment"}, "v1beta1", context).error().kind,
            ErrorKind::NotFound);
  const auto files = fs.list(directory.path() / "cache");
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->size(), 1u);
  const auto all = client->all_resources(context);
  EXPECT_GT(all->size(), 40u);
}

TEST_F(RealClusterTest, ServiceAccountTokenAuthenticates) {
  Value secret = Value::object({{"apiVersion", "v1"},
                                {"kind", "Secret"},
                                {"type", "kubernetes.io/service-account-token"},
                                {"metadata", Value::object({{"name", "token"}, {"namespace", ns}})}});
  secret["metadata"]["annotations"].set("kubernetes.io/service-account.name", "default");
  // The service account is made by a controller; the secret is refused before that.
  const auto account = client->watch(
      resource("ServiceAccount"), {.ns = ns},
      [](const WatchEvent& event) { return event.type == WatchEventType::Bookmark; }, context);
  ASSERT_TRUE(account.ok());
  ASSERT_TRUE(client->create(resource("Secret"), ns, secret, context).ok());
  std::string token;
  const auto filled = client->watch(
      resource("Secret"), {.ns = ns, .field_selector = "metadata.name=token"},
      [&](const WatchEvent& event) {
        return !base64_decode(event.object.string_at({"data", "token"}), token) || token.empty();
      },
      context);
  ASSERT_TRUE(filled.ok()) << filled.error().to_line();

  const Path token_file = directory.path() / "token";
  ASSERT_TRUE(fs.write(token_file, token + "\n").ok());
  for (const std::string& user :
       {fmt::format("    token: {}\n", token), fmt::format("    tokenFile: {}\n", token_file.string())}) {
    auto account_client = connect_with(variant(ca_line(), user));
    ASSERT_TRUE(account_client.ok()) << account_client.error().to_line();
    const auto refused = (*account_client)->get(config_map_ref("a"), context);
    EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
    EXPECT_THAT(refused.error().because, HasSubstr("system:serviceaccount:" + ns + ":default"));
  }
  auto wrong = connect_with(variant(ca_line(), "    token: wrong\n"));
  const auto refused = (*wrong)->get(config_map_ref("a"), context);
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_THAT(refused.error().hint, HasSubstr("credentials of the user \"u\""));
}

TEST_F(RealClusterTest, ExecPluginsClientCertificateAuthenticates) {
  const auto admin = resolve_context({.kubeconfig = kubeconfig}, dependencies());
  if (admin->user.client_certificate_pem.empty())
    GTEST_SKIP() << "the cluster's user has no client certificate data";
  Value credential =
      Value::object({{"apiVersion", "client.authentication.k8s.io/v1"}, {"kind", "ExecCredential"}});
  credential["status"] = Value::object({{"clientCertificateData", admin->user.client_certificate_pem},
                                        {"clientKeyData", admin->user.client_key_pem.reveal()}});
  ASSERT_TRUE(fs.write(directory.path() / "credential.json", encoding::to_json(credential)).ok());
  ASSERT_TRUE(fs.write(directory.path() / "login",
                       fmt::format("#!/bin/sh\necho run >> {0}/runs\ncat {0}/credential.json\n",
                                   directory.path().string()),
                       {.mode = 0700})
                  .ok());
  auto with_plugin = connect_with(variant(
      ca_line(),
      "    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: Never}\n"));
  ASSERT_TRUE(with_plugin.ok()) << with_plugin.error().to_line();
  for (int i = 0; i < 3; ++i) {
    const auto live = (*with_plugin)->get({resource("Namespace"), "", ns}, context);
    EXPECT_TRUE(live.ok()) << live.error().to_line();
  }
  EXPECT_EQ(*fs.read(directory.path() / "runs"), "run\n");
}

TEST_F(RealClusterTest, WrongCaIsRefusedAndSaidClearly) {
  // The system's roots instead of the cluster's own.
  auto stranger = connect_with(variant("", "    token: x\n"));
  const auto refused = (*stranger)->server_version(context);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden) << refused.error().to_line();
  auto misnamed = connect_with(variant(ca_line() + "    tls-server-name: wrong.example\n", "    token: x\n"));
  EXPECT_THAT((*misnamed)->server_version(context).error().to_line(), HasSubstr("wrong.example"));
  auto careless = connect_with(variant("    insecure-skip-tls-verify: true\n", "    token: x\n"));
  EXPECT_THAT((*careless)->server_version(context).error().because, HasSubstr("Unauthorized"));
}

TEST_F(RealClusterTest, ManyRequestsAtOnce) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(apply(config_map(fmt::format("p{}-{}", t, i), Value::object())).ok());
    });
  threads.clear();
  EXPECT_GE(client->list(resource("ConfigMap"), {.ns = ns}, context)->items.size(), 80u);
}

}  // namespace
}  // namespace mist::kube
