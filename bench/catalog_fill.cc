// catalog_fill DATA PACKAGES: a catalog of so many packages in the directory DATA, made through the catalog's
// own stores, as its poller and its workers do it, each with the steps of a test that passed. The same ones
// each time. For bench/catalog.py.
//
// Standard output: "package NAME VERSION DIGEST" of each version that is listed first, "reader NAME TOKEN" of
// accounts that rate and comment (kPassword lets them in, too, where the line ends with "password").
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/random.h"
#include "base/text.h"
#include "catalog/admit.h"
#include "catalog/backup.h"
#include "catalog/blobs.h"
#include "catalog/catalog_database.h"
#include "catalog/password.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_feedback_store.h"
#include "catalog/sql_store.h"
#include "catalog/token.h"
#include "encoding/json.h"
#include "registry/package_files.h"

namespace {

using namespace mist;
using namespace mist::catalog;

constexpr int kAuthors = 400;
constexpr int kReaders = 500;
constexpr int kReadersWithPassword = 20;
constexpr std::string_view kPassword = "correct horse battery";

constexpr std::array<std::string_view, 40> kThings{
    "etcd",     "redis",   "nginx",     "postgres", "kafka",   "rabbitmq", "minio",    "grafana",
    "consul",   "vault",   "keycloak",  "gitea",    "jenkins", "harbor",   "nats",     "mysql",
    "mongo",    "traefik", "envoy",     "haproxy",  "coredns", "fluentd",  "loki",     "tempo",
    "ponycorn", "wiki",    "shop",      "blog",     "mail",    "chat",     "registry", "proxy",
    "cache",    "queue",   "scheduler", "backup",   "metrics", "tracing",  "gateway",  "dashboard"};
constexpr std::array<std::string_view, 40> kQualities{
    "single",   "small",     "fast",     "standalone", "clustered", "replicated", "sharded",  "secure",
    "minimal",  "managed",   "modern",   "classic",    "tiny",      "elastic",    "local",    "shared",
    "private",  "public",    "simple",   "robust",     "quiet",     "bright",     "portable", "hybrid",
    "stateful", "ephemeral", "regional", "global",     "staging",   "production", "tested",   "typed",
    "signed",   "audited",   "cached",   "streaming",  "batched",   "leased",     "elected",  "pinned"};
constexpr std::array<std::string_view, 32> kWords{
    "instance", "server",  "with",     "persistent", "storage", "for",        "teams",   "and",
    "services", "of",      "a",        "cluster",    "without", "operator",   "behind",  "an",
    "ingress",  "keeps",   "data",     "on",         "volumes", "configured", "by",      "values",
    "the",      "default", "replicas", "exposes",    "metrics", "in",         "several", "zones"};

class Filler {
 public:
  Filler(const Path& root, const std::shared_ptr<SqlConnections>& database)
      : blobs_(files_, DataPlaces{root}.blobs()),
        store_(*open_store(database, clock_, random_)),
        accounts_(account_store_in(database, clock_, random_)),
        feedback_(feedback_store_in(database, clock_)) {}

  Status accounts() {
    PasswordHasher passwords(random_);
    MIST_TRY(const std::string hash, passwords.hash(SecretString(std::string(kPassword))));
    for (int i = 0; i < kAuthors; ++i)
      MIST_TRY_VOID(accounts_->add(fmt::format("author-{}", i), Role::Author, ""));
    for (int i = 0; i < kReaders; ++i) {
      const std::string name = fmt::format("reader-{}", i);
      const bool has_password = i < kReadersWithPassword;
      MIST_TRY_VOID(accounts_->add(name, Role::Author, has_password ? hash : ""));
      MIST_TRY(const SecretString token, token_of(name));
      std::printf("reader %s %s%s\n", name.c_str(), token.reveal().c_str(), has_password ? " password" : "");
    }
    MIST_TRY_VOID(accounts_->add("moderator", Role::Moderator, ""));
    MIST_TRY(const SecretString token, token_of("moderator"));
    std::printf("moderator moderator %s\n", token.reveal().c_str());
    return {};
  }

  Status package(int number) {
    const std::string name = fmt::format("{}-{}-{}", pick(kQualities), pick(kThings), number);
    MIST_TRY(const Project project, store_->add_project({.name = name,
                                                         .owner = fmt::format("author-{}", number % kAuthors),
                                                         .url = "https://git.example.com/" + name + ".git",
                                                         .path = "",
                                                         .webhook_secret = SecretString(random_.token(32))}));
    // A repository that nobody can reach isn't polled meanwhile.
    MIST_TRY_VOID(store_->note_poll(project, "", std::chrono::hours(24 * 365)));
    description_ = fmt::format("{} is a {} {} {}", name, pick(kQualities), pick(kThings), words(8));
    const int versions = number % 100 == 0 ? 30 : 1 + number % 3;
    std::string digest, version;
    for (int i = 0; i < versions; ++i) {
      version = fmt::format("1.{}.{}", i, number % 7);
      MIST_TRY(digest, publish(name, version, number % 5 == 0));
    }
    for (int i = 0; i < 2 + (number % 50 == 0 ? 30 : 0); ++i) {
      const std::string reader = fmt::format("reader-{}", (number + i) % kReaders);
      MIST_TRY_VOID(feedback_->rate(name, reader, 1 + static_cast<int>(twister_() % 5)));
      if (i % 2 == 0) MIST_TRY_VOID(feedback_->add_comment(name, reader, words(30)));
    }
    std::printf("package %s %s %s\n", name.c_str(), version.c_str(), digest.c_str());
    return {};
  }

 private:
  template <std::size_t N>
  std::string_view pick(const std::array<std::string_view, N>& list) {
    return list.at(twister_() % N);
  }
  std::string words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : " ", pick(kWords));
    return text;
  }

  Result<SecretString> token_of(const std::string& account) {
    SecretString token = new_token(random_);
    MIST_TRY_VOID(accounts_->add_token({.account = account,
                                        .digest = token_digest(token.reveal()),
                                        .label = "bench",
                                        .scopes = std::string(kUsualScopes)}));
    return token;
  }

  Result<registry::PackageTree> tree(const std::string& name, const std::string& version, bool is_chart) {
    registry::TreeBuilder builder(name);
    std::string readme = fmt::format("# {}\n\n{}\n", name, description_);
    for (int i = 0; i < 12; ++i)
      readme += fmt::format("\n## {}\n\n{}. See [the manual](https://example.com/{}).\n\n* {}\n* `{}`\n",
                            words(3), words(60), i, words(8), words(2));
    MIST_TRY_VOID(builder.add("README.md", readme));
    const std::string values =
        "replicas: 2\nimage: example.com/server:1.2\nport: 8080\nstorage: {size: 10Gi}\n";
    const std::string deployment = fmt::format(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {0}, labels: {{version: "
        "\"{1}\"}}}}\nspec:\n"
        "  selector: {{matchLabels: {{app: {0}}}}}\n  template:\n    metadata: {{labels: {{app: {0}}}}}\n"
        "    spec: {{containers: [{{name: main, image: example.com/server:1.2}}]}}\n",
        name, version);
    if (is_chart) {
      MIST_TRY_VOID(builder.add("Chart.yaml", fmt::format("apiVersion: v2\nname: {}\nversion: {}\n"
                                                          "description: {}\nhome: https://example.com/{}\n",
                                                          name, version, description_, name)));
      MIST_TRY_VOID(builder.add("values.yaml", values));
      MIST_TRY_VOID(builder.add("templates/deployment.yaml", deployment));
    } else {
      MIST_TRY_VOID(builder.add(
          "K3.yaml", fmt::format("name: {0}\nversion: {1}\nhome: https://example.com/{0}\ndescription: {2}\n"
                                 "details: {3}\nmaintainers:\n  - Ann Author <ann@example.com>\n",
                                 name, version, description_, words(40))));
      MIST_TRY_VOID(builder.add("values.yaml", values));
      MIST_TRY_VOID(builder.add("manifests/deployment.yaml", deployment));
    }
    return std::move(builder).finish();
  }

  Result<std::string> publish(const std::string& name, const std::string& version, bool is_chart) {
    MIST_TRY(const registry::PackageTree files, tree(name, version, is_chart));
    MIST_TRY(const encoding::SemVer number, encoding::SemVer::parse(version));
    MIST_TRY(Admitted admitted, admit(files, name, number));
    MIST_TRY(const crypto::Digest digest, blobs_.put(files.encode()));
    MIST_TRY_VOID(store_->submit({.package = name,
                                  .version = version,
                                  .tag = "v" + version,
                                  .commit = random_.token(20),
                                  .digest = digest.str(),
                                  .facts = std::move(admitted.facts),
                                  .readme = std::move(admitted.readme)}));
    MIST_TRY(const std::optional<Job> job, store_->lease("bench", std::chrono::hours(1)));
    if (!job) return error(ErrorKind::Internal, "there is no job");
    MIST_TRY_VOID(store_->note_nodes(*job, catalog::TestNodes::Simulated));
    MIST_TRY(const crypto::Digest text, blobs_.put("objects of " + name + " " + version));
    MIST_TRY_VOID(store_->note_objects(*job, graph(name), report(name), text.str()));
    for (const std::string_view step :
         {"read", "unpack", "lint", "Kubernetes 1.33", "dry run", "install", "upgrade", "uninstall"})
      MIST_TRY_VOID(store_->add_step(*job, {.name = std::string(step),
                                            .state = StepState::Passed,
                                            .summary = words(6),
                                            .log = words(60),
                                            .began = clock_.now(),
                                            .elapsed = std::chrono::milliseconds(1234)}));
    MIST_TRY_VOID(store_->finish(*job, true));
    return digest.str();
  }

  static encoding::Value graph(const std::string& name) {
    return *encoding::parse_json(fmt::format(
        R"({{"objects": 2, "namespace": "default", "nodes": [
  {{"id": 0, "role": "object", "step": 1, "kind": "ConfigMap", "namespace": "default", "name": "{0}"}},
  {{"id": 1, "role": "object", "step": 2, "kind": "Deployment", "namespace": "default", "name": "{0}"}}],
 "edges": [{{"before": 0, "after": 1, "reason": "a volume of its pods", "implied": false}}]}})",
        name));
  }
  static encoding::Value report(const std::string& name) {
    return *encoding::parse_json(fmt::format(
        R"({{"level": "baseline", "workloads": [{{"object": "Deployment {0}", "level": "baseline",
  "because": ["runAsNonRoot is not true", "seccompProfile is not set"]}}], "rights": [], "cluster": [],
  "exposed": [], "images": [{{"image": "example.com/server:1.2", "fixed": false}}]}})",
        name));
  }

  SystemClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  FileBlobs blobs_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<AccountStore> accounts_;
  std::unique_ptr<FeedbackStore> feedback_;
  std::mt19937_64 twister_{27};
  std::string description_;
};

Status fill(const Path& root, int packages) {
  HostFileSystem files;
  MIST_TRY_VOID(files.make_directories(root, 0700));
  MIST_TRY(const auto database, open_sqlite(DataPlaces{root}.database()));
  Filler filler(root, database);
  MIST_TRY_VOID(filler.accounts());
  for (int i = 0; i < packages; ++i) MIST_TRY_VOID(filler.package(i));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: catalog_fill DATA PACKAGES\n", stderr);
    return 2;
  }
  const Status done = fill(argv[1], std::atoi(argv[2]));
  if (done.ok()) return 0;
  std::fprintf(stderr, "catalog_fill: %s\n", done.error().to_line().c_str());
  return 1;
}
