#include "catalog/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "catalog/backup.h"
#include "catalog/database_fixture.h"
#include "catalog/json_views.h"
#include "catalog/preview_script.h"
#include "catalog/script.h"
#include "catalog/sql_account_store.h"
#include "catalog/sql_feedback_store.h"
#include "catalog/sql_store.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "http/url.h"
#include "registry/index_shards.h"
#include "search/entry.h"
#include "testing/fake_clock.h"
#include "testing/recorded_events.h"
#include "testing/temp_dir.h"

namespace mist::catalog {
namespace {

using encoding::Value;
using http::WebAnswer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Asked {
  std::string as = {};
  std::string body = {};
  http::Headers headers = {};
};

// Counts how often bytes are read.
class CountingBlobs final : public Blobs {
 public:
  explicit CountingBlobs(Blobs& kept) : kept_(kept) {}

  Result<crypto::Digest> put(const std::string& bytes) override { return kept_.put(bytes); }
  Result<std::string> get(const crypto::Digest& digest) const override {
    ++reads;
    return kept_.get(digest);
  }
  Result<std::uint64_t> size(const crypto::Digest& digest) const override { return kept_.size(digest); }

  mutable int reads = 0;

 private:
  Blobs& kept_;
};

class SiteTest : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  SiteTest()
      : store_(*open_store(database_, clock_, random_)),
        accounts_(account_store_in(database_, clock_, random_)),
        feedback_(feedback_store_in(database_, clock_)),
        blobs_(files_, dir_.path() / "blobs"),
        site_(dependencies(blobs_), {.url = "https://catalog.example.com", .reads_per_second = 0}) {
    for (const auto& [name, role] :
         {std::pair("ann", Role::Author), std::pair("bob", Role::Author), std::pair("mod", Role::Moderator),
          std::pair("root", Role::Administrator)}) {
      EXPECT_TRUE(accounts_->add(name, role, "").ok());
      const SecretString token = new_token(random_);
      EXPECT_TRUE(accounts_
                      ->add_token({.account = name,
                                   .digest = token_digest(token.reveal()),
                                   .label = "",
                                   .scopes = std::string(kUsualScopes)})
                      .ok());
      tokens_[name] = token.reveal();
    }
  }

  Site::Dependencies dependencies(Blobs& blobs) {
    return {.store = *store_,
            .accounts = *accounts_,
            .feedback = *feedback_,
            .passwords = passwords_,
            .blobs = blobs,
            .shared = shared_,
            .clock = clock_,
            .random = random_,
            .events = events_,
            .wake_poller = [this] { ++woken_; }};
  }

  WebAnswer ask(const std::string& method, const std::string& target, const Asked& asked = {}) {
    const auto question = target.find('?');
    http::WebRequest request{.method = method,
                             .path = target.substr(0, question),
                             .query = question == std::string::npos ? "" : target.substr(question + 1),
                             .headers = asked.headers,
                             .body = asked.body,
                             .peer = "192.0.2.1"};
    if (!asked.as.empty()) request.headers.push_back({"Authorization", "Bearer " + tokens_[asked.as]});
    if (!asked.body.empty() && http::find_header(request.headers, "Content-Type").empty())
      request.headers.push_back({"Content-Type", "application/json"});
    return site_.answer(request);
  }
  static Value json_of(const WebAnswer& answer) {
    auto value = encoding::parse_json(answer.content());
    EXPECT_TRUE(value.ok()) << answer.content();
    return value.ok() ? *value : Value();
  }
  Value link(const std::string& name, const std::string& as = "ann") {
    const WebAnswer answer = ask(
        "POST", "/api/v1/projects",
        {.as = as, .body = fmt::format(R"({{"name": "{0}", "url": "https://git.example.com/{0}"}})", name)});
    EXPECT_EQ(answer.status, 201) << answer.body;
    return json_of(answer);
  }
  NewVersion version_of(const std::string& name, const std::string& number) {
    NewVersion made{.package = name, .version = number, .tag = "v" + number, .commit = std::string(40, 'a')};
    made.digest = blobs_.put("bytes of " + name + number)->str();
    made.facts.format = "Kube";
    made.facts.description = "a thing";
    made.facts.k3 = fmt::format("name: {}\nversion: {}\n", name, number);
    return made;
  }
  // Bytes among the blobs.
  std::string kept(const std::string& text) { return blobs_.put(text)->str(); }
  void publish(const NewVersion& made) {
    ASSERT_TRUE(store_->submit(made).ok());
    const auto job = store_->lease("w", std::chrono::seconds(30));
    ASSERT_TRUE(job.ok() && *job);
    ASSERT_TRUE(
        store_->add_step(**job, {.name = "install", .summary = "1 object ready", .log = "0.1 created"}).ok());
    ASSERT_TRUE(store_->note_nodes(**job, TestNodes::Simulated).ok());
    ASSERT_TRUE(store_->finish(**job, true).ok());
  }

  mist::testing::TempDir dir_;
  mist::testing::FakeClock clock_;
  SystemRandom random_;
  HostFileSystem files_;
  mist::testing::RecordedEvents events_;
  const std::shared_ptr<SqlConnections> database_ = TestDatabase(GetParam(), dir_.path() / "a.db").open();
  std::unique_ptr<Store> store_;
  std::unique_ptr<AccountStore> accounts_;
  std::unique_ptr<FeedbackStore> feedback_;
  PasswordHasher passwords_{random_, {.n = 2, .r = 1, .p = 1}};
  FileBlobs blobs_;
  SharedBytes shared_;
  int woken_ = 0;
  Site site_;
  std::map<std::string, std::string> tokens_;
};

TEST_P(SiteTest, AnEmptyCatalogHasItsPages) {
  for (const char* path :
       {"/", "/search", "/search?q=etcd", "/submit", "/icon.svg", "/healthz", "/api/v1/index",
        "/api/v1/packages", "/api/v1/openapi.json", "/mistletoe-index.jsonl"})
    EXPECT_EQ(ask("GET", path).status, 200) << path;
  EXPECT_EQ(ask("GET", style_path()).status, 200);
  EXPECT_EQ(ask("GET", script_path()).status, 200);
  EXPECT_EQ(ask("GET", script_path()).content_type, "text/javascript; charset=utf-8");
  for (const char* path :
       {"/nothing", "/packages", "/packages/none", "/packages/none/1.0.0/test", "/assets/style.css",
        "/assets/live.js", "/packages/none/1.0.0/inputs", "/packages/%2e%2e/x", "/packages/a%2fb",
        "/packages/a//b", "/api/v1/nothing", "/api/v1/blobs/../index", "/api/v2/index", "/packages/%00"})
    EXPECT_EQ(ask("GET", path).status, 404) << path;
  EXPECT_EQ(ask("POST", "/").status, 405);
  EXPECT_EQ(ask("PATCH", "/api/v1/projects").status, 405);
}

TEST_P(SiteTest, EveryAnswerForbidsForeignScriptsAndHosts) {
  for (const char* path : {"/", "/nothing", "/api/v1/index", "/api/v1/nothing"}) {
    const WebAnswer answer = ask("GET", path);
    EXPECT_THAT(std::string(http::find_header(answer.headers, "Content-Security-Policy")),
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';"),
                      HasSubstr("connect-src 'self';"), HasSubstr("frame-ancestors 'none'"),
                      Not(HasSubstr("unsafe"))));
    EXPECT_EQ(http::find_header(answer.headers, "X-Content-Type-Options"), "nosniff");
  }
}

TEST_P(SiteTest, OnlyTheWorkerOfPreviewsMayCompile) {
  const WebAnswer worker = ask("GET", preview_worker_path());
  ASSERT_EQ(worker.status, 200);
  EXPECT_EQ(http::find_header(worker.headers, "Content-Security-Policy"), preview_worker_policy());
  EXPECT_EQ(std::ranges::count(worker.headers, "Content-Security-Policy", &http::Header::name), 1);
  EXPECT_THAT(preview_worker_policy(), AllOf(HasSubstr("default-src 'none'"), HasSubstr("'wasm-unsafe-eval'"),
                                             Not(HasSubstr("unsafe-inline"))));
  EXPECT_THAT(
      std::string(http::find_header(ask("GET", preview_script_path()).headers, "Content-Security-Policy")),
      Not(HasSubstr("unsafe")));
}

TEST_P(SiteTest, APreviewIsOfferedOrThePageSaysWhyNot) {
  const Version version{{.package = "a<b", .version = "1.0.0"}};
  const std::string hostile = "<script>1</script>";
  const auto page = [&](const std::optional<Preview>& preview) {
    return inputs_page({"https://c.example"}, version, {}, {}, preview);
  };
  EXPECT_THAT(page(Preview{}),
              AllOf(HasSubstr("data-preview=\"/api/v1/packages/a%3Cb/versions/1.0.0/preview\""),
                    HasSubstr(preview_script_path()), HasSubstr(" hidden>")));
  EXPECT_THAT(page(Preview{.state = PreviewState::Impossible, .problem = hostile}),
              AllOf(HasSubstr("There is no preview of its objects: &lt;script&gt;"), Not(HasSubstr(hostile)),
                    Not(HasSubstr("rendered-start"))));
  EXPECT_THAT(page({}), Not(HasSubstr("review")));
  EXPECT_EQ(ask("GET", "/api/v1/modules/sha256:" + std::string(64, 'a')).status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/modules/nothing").status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/packages/none/versions/1.0.0/preview").status, 404);
}

TEST_P(SiteTest, WithoutARepositoryAPreviewHasNoCommand) {
  EXPECT_TRUE(to_value(PreviewPlan{}).find("command")->is_null());
  EXPECT_EQ(to_value(PreviewPlan{.command = "mistctl generate a"}).string_at("command"),
            "mistctl generate a");
}

TEST_P(SiteTest, APackagesPageShowsAllThatIsKnown) {
  link("etcd");
  NewVersion made = version_of("etcd", "1.0.0");
  made.readme = "# About\n\nIt *works*.\n";
  made.facts.inputs = *encoding::parse_json(
      R"({"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "default": 3,
          "description": "How many"}}})");
  made.facts.dependencies = {{"disk", "^1.0"}};
  made.facts.maintainers = {"Ann <ann@example.com>"};
  publish(made);
  const WebAnswer page = ask("GET", "/packages/etcd");
  ASSERT_EQ(page.status, 200);
  for (const char* piece :
       {"<h1>etcd</h1>", "a thing", "<em>works</em>",
        "kpm archive-add --service catalog https://catalog.example.com", "kpm install etcd:1.0.0",
        "mistctl install etcd --wait", "kubectl apply -f -", "git+https://git.example.com/etcd?ref=v1.0.0",
        "<code>size</code>", "integer, required", "How many", "href=\"/packages/disk\"",
        "Ann &lt;ann@example.com&gt;", "state passed", "1 object ready", "Installed on simulated nodes",
        "/packages/etcd/badge.svg"})
    EXPECT_THAT(page.body, HasSubstr(piece));
  EXPECT_THAT(ask("GET", "/packages/etcd/1.0.0/test").body, HasSubstr("0.1 created"));
  const WebAnswer badge = ask("GET", "/packages/etcd/badge.svg");
  EXPECT_EQ(badge.content_type, "image/svg+xml");
  EXPECT_THAT(badge.body, AllOf(HasSubstr("passed"), HasSubstr("aria-label=\"etcd: passed\"")));
  EXPECT_THAT(ask("GET", "/packages/none/badge.svg").body, HasSubstr("unknown"));
  EXPECT_THAT(ask("GET", "/packages/etcd/9.0.0/badge.svg").body, HasSubstr("unknown"));
  EXPECT_THAT(ask("GET", "/").body, HasSubstr("href=\"/packages/etcd\""));
}

TEST_P(SiteTest, APackagesPageWarnsOfWhatDidNotPass) {
  link("etcd");
  ASSERT_TRUE(store_->submit(version_of("etcd", "1.0.0")).ok());
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("This version has not been tested yet."), HasSubstr("mistctl install etcd"),
                    Not(HasSubstr("kpm install"))));
  const auto job = store_->lease("w", std::chrono::seconds(30));
  ASSERT_TRUE(job.ok() && *job);
  ASSERT_TRUE(store_->finish(**job, false).ok());
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("This version failed its test.</b> <a href=\"/packages/etcd/1.0.0/test\">"),
                    Not(HasSubstr("kpm install"))));
  publish(version_of("etcd", "1.1.0"));
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("kpm install etcd:1.1.0"), Not(HasSubstr("class=\"note"))));
}

TEST_P(SiteTest, TheTableOfInputsIsBoundedAndMarksWhatIsRequired) {
  Version version{{.package = "etcd", .version = "1.0.0"}};
  Value members = Value::object(), required = Value::array();
  for (int i = 0; i < 1002; ++i) {
    members.as_object().push_back({fmt::format("m{}", i), Value::object({{"type", "string"}})});
    if (i % 2 == 1) required.push_back(fmt::format("m{}", i));
  }
  version.facts.inputs = Value::object({{"properties", members}, {"required", required}});
  const std::string page = package_page({"https://c.example"}, version, {version}, {});
  EXPECT_THAT(page,
              AllOf(HasSubstr("<code>m998</code></th><td>string</td>"),
                    HasSubstr("<code>m999</code></th><td>string, required</td>"),
                    Not(HasSubstr("<code>m1000</code>")), HasSubstr("2 further inputs are not shown.")));
  // Each input below has the long name, too.
  version.facts.inputs = Value::object({{"properties", Value::object()}});
  version.facts.inputs["properties"].set(std::string(50'000, 'x'),
                                         Value::object({{"properties", std::move(members)}}));
  EXPECT_LT(package_page({"https://c.example"}, version, {version}, {}).size(), std::size_t{3} << 20);
}

TEST_P(SiteTest, TheFormOfInputsWarnsBeforeItsCommands) {
  Version version{{.package = "etcd", .version = "1.0.0", .state = VersionState::Failed}};
  version.yanked = "it loses data";
  const auto page = [&] { return inputs_page({"https://c.example"}, version, {}, {}, {}); };
  const auto warns =
      AllOf(HasSubstr("This version failed its test."), HasSubstr("The reason: it loses data"));
  EXPECT_THAT(page(), warns) << "without inputs";
  version.facts.inputs = *encoding::parse_json(R"({"properties": {"size": {"type": "integer"}}})");
  const std::string text = page();
  EXPECT_THAT(text.substr(text.find("id=\"preview\"")), warns) << "where a refresh brings it";
  version.yanked.reset();
  version.state = VersionState::Passed;
  EXPECT_THAT(page(), Not(HasSubstr("class=\"note")));
}

TEST_P(SiteTest, CommandsHoldWhatAnAuthorWroteAsWords) {
  const std::string project =
      R"x({"name": "etcd", "url": "https://git.example.com/etcd", "path": "a b/$(reboot)"})x";
  ASSERT_EQ(ask("POST", "/api/v1/projects", {.as = "ann", .body = project}).status, 201);
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.format = "Helm chart";
  publish(made);
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("helm install etcd &#39;./etcd/a b/$(reboot)&#39;"),
                    HasSubstr("-p &#39;git+https://git.example.com/etcd//a b/$(reboot)?ref=v1.0.0&#39;")));
}

TEST_P(SiteTest, AKustomizeDirectoryIsInstalledByToolsThatBuildIt) {
  const std::string project =
      R"x({"name": "etcd", "url": "https://git.example.com/etcd", "path": "deploy/$(reboot)"})x";
  ASSERT_EQ(ask("POST", "/api/v1/projects", {.as = "ann", .body = project}).status, 201);
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.format = "Kustomize directory";
  publish(made);
  EXPECT_THAT(
      ask("GET", "/packages/etcd").body,
      AllOf(HasSubstr("kubectl apply -k &#39;https://git.example.com/etcd//deploy/$(reboot)?ref=v1.0.0&#39;"),
            HasSubstr("kind: GitRepository"), HasSubstr("url: https://git.example.com/etcd\n"),
            HasSubstr("tag: v1.0.0\n"), HasSubstr("path: ./deploy/$(reboot)\n"),
            HasSubstr("targetNamespace: etcd\n"), Not(HasSubstr("mistctl publish")),
            Not(HasSubstr("helm install"))));
}

// The address ends where the directory begins, also where that is the top of the repository.
TEST_P(SiteTest, AKustomizeDirectoryAtTheTopHasAnAddressToo) {
  link("etcd");
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.format = "Kustomize directory";
  publish(made);
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("kubectl apply -k &#39;https://git.example.com/etcd//?ref=v1.0.0&#39;"),
                    HasSubstr("path: ./\n")));
}

TEST_P(SiteTest, ControllersInstallWhatMistctlRenders) {
  link("etcd");
  publish(version_of("etcd", "1.0.0+b1"));
  EXPECT_THAT(
      ask("GET", "/packages/etcd").body,
      AllOf(HasSubstr("mistctl publish &#39;git+https://git.example.com/etcd?ref=v1.0.0%2Bb1&#39; \\\n  "
                      "oci://registry.example/deploy/etcd:1.0.0_b1 -n etcd"),
            HasSubstr("kind: OCIRepository"), HasSubstr("tag: 1.0.0_b1\n"), HasSubstr("kind: Kustomization"),
            HasSubstr("kind: Release\n"),
            HasSubstr("package: git+https://git.example.com/etcd?ref=v1.0.0%2Bb1\n"),
            HasSubstr("serviceAccountName: deployer\n"), Not(HasSubstr("apply -k"))));
}

// A controller doesn't reach what only the catalog's own machine does.
TEST_P(SiteTest, ControllersAreNotOfferedForARepositoryOfThisMachine) {
  Version version{
      {.package = "etcd", .version = "1.0.0", .tag = "v1.0.0", .digest = "sha256:" + std::string(64, '0')}};
  version.facts.format = "Kustomize directory";
  PackageView view;
  view.project = Project{.name = "etcd", .url = "file:///srv/etcd"};
  EXPECT_THAT(package_page({"https://c.example"}, version, {version}, view),
              AllOf(HasSubstr("mistctl install etcd"), Not(HasSubstr("apply -k")), Not(HasSubstr("flux")),
                    Not(HasSubstr("kind: Release"))));
}

TEST_P(SiteTest, PagesOfErrorsAreSentencesAndOfferTheSearch) {
  EXPECT_THAT(ask("GET", "/packages/none").body,
              AllOf(HasSubstr("<p>There is no package none.</p>"), HasSubstr("role=\"search\"")));
  EXPECT_THAT(ask("GET", "/search?state=x").body, HasSubstr("<p>State must be queued"));
}

// A report whose every text is that.
Value report_of(const std::string& text) {
  const Value row = Value::object({{"object", Value(text)},
                                   {"level", Value(text)},
                                   {"text", Value(text)},
                                   {"image", Value(text)},
                                   {"because", Value::array({Value(text)})}});
  Value report = Value::object({{"level", Value(text)}});
  for (const char* list : {"workloads", "rights", "cluster", "exposed", "images"})
    report.set(list, Value::array({row}));
  return report;
}

TEST_P(SiteTest, NoFieldOfAPackageIsMarkup) {
  const std::string hostile = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'";
  const auto objects = [&](const std::string& more) {
    const Value object = Value::object({{"object", Value(hostile)}, {"yaml", Value(hostile + more)}});
    return kept(encoding::to_json(Value::array({object})));
  };
  ASSERT_TRUE(store_
                  ->add_project({.name = "etcd",
                                 .owner = "ann",
                                 .url = "https://git.example.com/" + hostile,
                                 .path = hostile,
                                 .webhook_secret = SecretString("s")})
                  .ok());
  ASSERT_TRUE(store_->submit(version_of("etcd", "0.9.0")).ok());
  const auto before = store_->lease("w", std::chrono::seconds(30));
  ASSERT_TRUE(before.ok() && *before);
  ASSERT_TRUE(store_->note_objects(**before, {}, {}, objects("old")).ok());
  ASSERT_TRUE(store_->finish(**before, true).ok());
  NewVersion made = version_of("etcd", "1.0.0+x");
  made.tag = hostile;
  made.commit = hostile;
  made.readme =
      hostile + "\n\n# " + hostile + "\n\n- " + hostile + "\n\n| " + hostile + " |\n\n```\n" + hostile;
  made.facts = {
      .format = hostile,
      .description = hostile,
      .home = "javascript:alert(1)//" + hostile,
      .details = hostile,
      .maintainers = {hostile},
      .dependencies = {{hostile, hostile}},
      .inputs = Value::object(
          {{"properties", Value::object({{hostile, Value::object({{"type", Value(hostile)},
                                                                  {"default", Value(hostile)},
                                                                  {"description", Value(hostile)}})}})}}),
      .defaults = hostile,
      .files = {hostile},
      .k3 = "k3"};
  ASSERT_TRUE(store_->submit(made).ok());
  const auto job = store_->lease("w", std::chrono::seconds(30));
  ASSERT_TRUE(job.ok() && *job);
  ASSERT_TRUE(store_
                  ->note_objects(
                      **job,
                      Value::object({{"objects", Value(1)},
                                     {"nodes", Value::array({Value::object(
                                                   {{"kind", Value(hostile)}, {"name", Value(hostile)}})})}}),
                      report_of(hostile), objects("new"))
                  .ok());
  ASSERT_TRUE(
      store_
          ->add_step(**job, {.name = hostile, .state = StepState::Failed, .summary = hostile, .log = hostile})
          .ok());
  ASSERT_TRUE(store_->finish(**job, true).ok());
  ASSERT_TRUE(store_->yank("etcd", "1.0.0+x", hostile).ok());
  for (const std::string& path :
       {std::string("/"), std::string("/search"),
        std::string("/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"), std::string("/packages/etcd"),
        std::string("/search?format=%22%3E%3Cscript%3E&q=%22%3E%3Cscript%3E"),
        std::string("/packages/etcd/1.0.0%2Bx"),
        "/packages/etcd/1.0.0%2Bx/inputs?" + http::escape_query(hostile) + "=" + http::escape_query(hostile),
        std::string("/packages/etcd/1.0.0%2Bx/test"), std::string("/packages/%3Cscript%3E"),
        std::string("/packages/etcd/1.0.0%2Bx/changes?from=0.9.0"),
        std::string("/packages/etcd/1.0.0%2Bx/changes?from=%3Cscript%3E"),
        std::string("/packages/%3Cscript%3E/badge.svg"), std::string("/%3Cscript%3E"),
        std::string("/packages/etcd/%3Cscript%3E")}) {
    WebAnswer answer = ask("GET", path);
    // Our own one, which is the same on each page.
    if (const auto ours = answer.body.find(fmt::format("<script src=\"{}\" defer></script>", script_path()));
        ours != std::string::npos)
      answer.body.erase(ours, std::string_view("<script").size());
    EXPECT_THAT(answer.body, Not(HasSubstr("<script"))) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("<img src=x"))) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("href=\"javascript"))) << path;
  }
  const WebAnswer json = ask("GET", "/api/v1/packages/etcd");
  EXPECT_EQ(json.content_type, "application/json");
}

TEST_P(SiteTest, ASearchIsNarrowedByItsFacets) {
  for (const char* name : {"etcd", "nginx", "redis"}) link(name);
  NewVersion chart = version_of("nginx", "1.0.0");
  chart.facts.format = "Helm chart";
  publish(version_of("etcd", "1.0.0"));
  publish(chart);
  ASSERT_TRUE(store_->submit(version_of("redis", "1.0.0")).ok());
  const std::string all = ask("GET", "/search?q=thing").body;
  EXPECT_THAT(
      all,
      AllOf(HasSubstr("role=\"status\">3 packages</p>"), HasSubstr("data-live=\"heading count results\""),
            HasSubstr("<a href=\"/search?q=thing&amp;format=Helm%20chart\"><span>Helm chart</span><span "
                      "class=\"soft\">1</span></a>"),
            HasSubstr("<a href=\"/search?q=thing&amp;state=queued\">")));
  const std::string charts = ask("GET", "/search?q=thing&format=Helm%20chart").body;
  EXPECT_THAT(charts,
              AllOf(HasSubstr("role=\"status\">1 package</p>"), HasSubstr("/packages/nginx"),
                    Not(HasSubstr("/packages/etcd")), HasSubstr("aria-current=\"true\"><span>Helm chart"),
                    HasSubstr("<input type=\"hidden\" name=\"format\" value=\"Helm chart\">")));
  EXPECT_THAT(
      ask("GET", "/search?state=queued").body,
      AllOf(HasSubstr("1 package</p>"), HasSubstr("/packages/redis"), Not(HasSubstr("/packages/etcd"))));
  EXPECT_THAT(ask("GET", "/search?state=failed&q=thing").body, HasSubstr("No package fits"));
  EXPECT_EQ(ask("GET", "/search?state=x").status, 400);
  EXPECT_EQ(ask("GET", "/search?format=" + std::string(300, 'x')).status, 400);
  const Value narrowed = json_of(ask("GET", "/api/v1/packages?format=Kube&limit=1"));
  EXPECT_EQ(narrowed.find("items")->as_array()[0].string_at("package"), "etcd");
  EXPECT_EQ(narrowed.string_at("next"), "/api/v1/packages?q=&format=Kube&limit=1&after=etcd");
}

TEST_P(SiteTest, DefaultsOfAnotherSystemAreShownWithoutItsLineEnds) {
  link("etcd");
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.defaults = "size: 1\r\nname: a\r\n";
  publish(made);
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("size: 1\nname: a\n</code>"), Not(HasSubstr("x0d"))));
}

TEST_P(SiteTest, InputsAreAFormThatMakesAFile) {
  link("etcd");
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.inputs = *encoding::parse_json(
      R"({"required": ["host"], "properties": {"size": {"type": "integer", "default": 3}, "host": {"type": "string"}}})");
  publish(made);
  EXPECT_THAT(ask("GET", "/packages/etcd").body, HasSubstr("href=\"/packages/etcd/1.0.0/inputs\""));
  const std::string empty = ask("GET", "/packages/etcd/1.0.0/inputs").body;
  EXPECT_THAT(empty,
              AllOf(HasSubstr("<form action=\"/packages/etcd/1.0.0/inputs\" data-live=\"filled preview\""),
                    HasSubstr("Nothing is set yet; still needed: host."), HasSubstr("# the defaults")));
  const std::string filled = ask("GET", "/packages/etcd/1.0.0/inputs?size=5&host=a+b").body;
  EXPECT_THAT(filled,
              AllOf(HasSubstr("size: 5\nhost: a b\n"), HasSubstr("2 inputs set."),
                    HasSubstr("kpm install etcd:1.0.0 -f values.yaml"),
                    HasSubstr("mistctl install etcd -f values.yaml --wait"), HasSubstr("value=\"a b\"")));
  EXPECT_THAT(ask("GET", "/packages/etcd/1.0.0/inputs?size=x").body,
              AllOf(HasSubstr("1 mistake"), HasSubstr("must be a whole number")));
}

// In a plain scalar the escape of a character would be other text.
TEST_P(SiteTest, ShowsTheFileOfInputsAsItIs) {
  link("etcd");
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.inputs =
      *encoding::parse_json(R"({"properties": {"name": {"type": "string"}, "other": {"type": "string"}}})");
  publish(made);
  EXPECT_THAT(ask("GET", "/packages/etcd/1.0.0/inputs?name=a%E2%80%8Cb&other=a%3Cb").body,
              HasSubstr("<code>name: a\u200Cb\nother: a&lt;b\n</code>"));
}

TEST_P(SiteTest, NoLinkTurnsTheFileOfInputsAround) {
  link("etcd");
  NewVersion made = version_of("etcd", "1.0.0");
  made.facts.inputs = *encoding::parse_json(R"({"properties": {"name": {"type": "string"}}})");
  publish(made);
  EXPECT_THAT(ask("GET", "/packages/etcd/1.0.0/inputs?name=a%E2%80%AEb").body,
              HasSubstr("<code>name: &quot;a\\u202Eb&quot;\n</code>"));
}

TEST_P(SiteTest, APackagesPageDrawsItsObjects) {
  link("etcd");
  ASSERT_TRUE(store_->submit(version_of("etcd", "1.0.0")).ok());
  const auto job = store_->lease("w", std::chrono::seconds(30));
  ASSERT_TRUE(job.ok() && *job);
  EXPECT_THAT(ask("GET", "/packages/etcd").body, Not(HasSubstr("<svg")));
  ASSERT_TRUE(store_
                  ->note_objects(**job,
                                 *encoding::parse_json(
                                     R"({"objects": 1, "nodes": [{"kind": "Service", "name": "web"}]})"),
                                 {}, {})
                  .ok());
  EXPECT_THAT(ask("GET", "/packages/etcd").body, AllOf(HasSubstr("<svg"), HasSubstr("<li>Service web</li>")));
  EXPECT_THAT(ask("GET", "/api/v1/packages/etcd/versions/1.0.0/test").body,
              HasSubstr("\"objects\":{\"objects\":1"));
}

TEST_P(SiteTest, AVersionsPageSaysWhatItAsksFor) {
  link("etcd");
  ASSERT_TRUE(store_->submit(version_of("etcd", "1.0.0")).ok());
  const auto job = store_->lease("w", std::chrono::seconds(30));
  ASSERT_TRUE(job.ok() && *job);
  EXPECT_THAT(ask("GET", "/packages/etcd").body, Not(HasSubstr("id=\"security\"")));
  const Value report = *encoding::parse_json(
      R"({"level": "baseline", "workloads": [{"object": "Deployment web", "level": "baseline", "because": ["a reason"]}],
          "rights": [{"object": "Role web", "text": "get secrets", "broad": true}]})");
  ASSERT_TRUE(store_->note_objects(**job, {}, report, {}).ok());
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              AllOf(HasSubstr("id=\"security\""), HasSubstr("Deployment web"), HasSubstr("<li>a reason</li>"),
                    HasSubstr("get secrets <span class=\"state queued\">broad</span>")));
  EXPECT_EQ(json_of(ask("GET", "/api/v1/packages/etcd/versions/1.0.0/test")).string_at({"security", "level"}),
            "baseline");
}

TEST_P(SiteTest, VersionsAreComparedByTheirObjects) {
  link("etcd");
  const auto tested = [&](const std::string& number, const std::string& text, const std::string& defaults) {
    NewVersion made = version_of("etcd", number);
    made.facts.defaults = defaults;
    ASSERT_TRUE(store_->submit(made).ok());
    const auto job = store_->lease("w", std::chrono::seconds(30));
    ASSERT_TRUE(job.ok() && *job);
    ASSERT_TRUE(store_->note_objects(**job, {}, {}, text.empty() ? "" : kept(text)).ok());
    ASSERT_TRUE(store_->finish(**job, true).ok());
  };
  tested("1.0.0", R"([{"object": "A a", "yaml": "x: 1\n"}, {"object": "B b", "yaml": "y: 1\n"}])",
         "size: 1\n");
  EXPECT_THAT(ask("GET", "/packages/etcd").body, Not(HasSubstr("/changes")));
  EXPECT_EQ(ask("GET", "/packages/etcd/1.0.0/changes").status, 404);
  tested("1.1.0", R"([{"object": "A a", "yaml": "x: 2\n"}, {"object": "C c", "yaml": "z: 1\n"}])",
         "size: 2\n");
  tested("1.2.0", "", "size: 2\n");
  EXPECT_THAT(ask("GET", "/packages/etcd").body, HasSubstr("href=\"/packages/etcd/1.2.0/changes\""));
  const std::string page = ask("GET", "/packages/etcd/1.1.0/changes").body;
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("etcd 1.1.0 compared with 1.0.0"), HasSubstr("3 objects changed and 0 did not"),
            HasSubstr("<span class=\"removed\">-x: 1</span>"),
            HasSubstr("<span class=\"added\">+x: 2</span>"), HasSubstr("<span class=\"added\">+z: 1</span>"),
            HasSubstr("<span class=\"added\">+size: 2</span>"),
            HasSubstr("href=\"/packages/etcd/1.1.0/changes?from=1.2.0\"")));
  EXPECT_THAT(ask("GET", "/packages/etcd/1.2.0/changes").body,
              HasSubstr("can't be compared: no test rendered one of the two versions"));
  EXPECT_EQ(ask("GET", "/packages/etcd/1.1.0/changes?from=9.9.9").status, 404);
  const Value json = json_of(ask("GET", "/api/v1/packages/etcd/versions/1.1.0/changes?from=1.0.0"));
  EXPECT_EQ(json.find("objects")->size(), 3U);
  EXPECT_EQ(json.find("objects")->as_array()[1].string_at("change"), "removed");
  tested("1.3.0", std::string(kTooLongText), "size: 2\n");
  EXPECT_THAT(ask("GET", "/packages/etcd/1.3.0/changes?from=1.1.0").body,
              HasSubstr("can't be compared: those of one of the two versions are too large"));
  EXPECT_EQ(ask("GET", "/api/v1/packages/etcd/versions/1.0.0/changes").status, 404);
}

TEST_P(SiteTest, AClientThatComparesTooOftenWaits) {
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  publish(version_of("etcd", "1.1.0"));
  for (const char* path : {"/packages/etcd/1.1.0/changes", "/api/v1/packages/etcd/versions/1.1.0/changes"}) {
    WebAnswer answer = ask("GET", path);
    for (int i = 0; i < 100 && answer.status == 200; ++i) answer = ask("GET", path);
    EXPECT_EQ(answer.status, 429) << path;
    EXPECT_FALSE(http::find_header(answer.headers, "Retry-After").empty());
    clock_.advance(std::chrono::minutes(1));
    EXPECT_EQ(ask("GET", path).status, 200) << path;
  }
}

TEST_P(SiteTest, AnAuthorLinksAndNobodyElseChangesIt) {
  EXPECT_EQ(ask("POST", "/api/v1/projects", {.body = "{}"}).status, 401);
  EXPECT_EQ(ask("GET", "/api/v1/projects", {.headers = {{"Authorization", "Bearer mct_0"}}}).status, 401);
  EXPECT_EQ(ask("GET", "/api/v1/projects", {.headers = {{"Authorization", "Basic YTpi"}}}).status, 401);
  const Value made = link("etcd");
  EXPECT_EQ(woken_, 1);
  EXPECT_EQ(made.string_at({"webhook", "url"}), "https://catalog.example.com/api/v1/hooks/etcd");
  EXPECT_EQ(made.string_at({"webhook", "secret"}).size(), 64U);
  EXPECT_THAT(ask("GET", "/api/v1/projects/etcd", {.as = "ann"}).body, Not(HasSubstr("secret")));
  EXPECT_EQ(json_of(ask("GET", "/api/v1/projects", {.as = "bob"})).find("items")->size(), 0U);
  EXPECT_EQ(json_of(ask("GET", "/api/v1/projects", {.as = "root"})).find("items")->size(), 1U);
  publish(version_of("etcd", "1.0.0"));
  for (const auto& [method, path] :
       {std::pair("GET", "/api/v1/projects/etcd"), std::pair("DELETE", "/api/v1/projects/etcd"),
        std::pair("POST", "/api/v1/projects/etcd/poll"),
        std::pair("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank"),
        std::pair("POST", "/api/v1/packages/etcd/versions/1.0.0/test")})
    EXPECT_EQ(ask(method, path, {.as = "bob"}).status, 403) << path;
  EXPECT_EQ(ask("GET", "/api/v1/audit", {.as = "mod"}).status, 403);
  EXPECT_EQ(ask("DELETE", "/api/v1/projects/etcd", {.as = "mod"}).status, 403);
  const auto yank = [&](const std::string& reason) {
    const std::string body = encoding::to_json(Value::object({{"reason", reason}}));
    return ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = "mod", .body = body}).status;
  };
  for (const char* const reason : {"a\x1b[2J", "a\nb", "a\rb", "a\x7f", "a\u009b", "a\u202e"})
    EXPECT_EQ(yank(reason), 400) << reason;
  EXPECT_FALSE(json_of(ask("GET", "/api/v1/index")).find("kubes")->as_array()[0].is_true_at("yanked"));
  EXPECT_EQ(yank("bad"), 204);
  const Value entry = json_of(ask("GET", "/api/v1/index")).find("kubes")->as_array()[0];
  EXPECT_TRUE(entry.is_true_at("yanked"));
  EXPECT_EQ(entry.string_at("yankReason"), "bad");
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              HasSubstr("yanked: the moderators of this catalog advise against it.</b> The reason: bad"));
  EXPECT_EQ(json_of(ask("GET", "/api/v1/packages/etcd/versions/1.0.0")).string_at("yankedBy"), "moderator");
  const WebAnswer refused = ask("DELETE", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = "ann"});
  EXPECT_EQ(refused.status, 403) << "a moderator yanked it";
  EXPECT_EQ(json_of(refused).string_at({"error", "because"}), "bad");
  EXPECT_EQ(ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = "ann"}).status, 403);
  EXPECT_EQ(ask("DELETE", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = "mod"}).status, 204);
  EXPECT_EQ(ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = "ann"}).status, 204);
  EXPECT_EQ(ask("DELETE", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = "ann"}).status, 204)
      << "her own";
  EXPECT_EQ(ask("DELETE", "/api/v1/projects/etcd", {.as = "ann"}).status, 204);
  EXPECT_EQ(ask("GET", "/packages/etcd").status, 200) << "its versions stay";
  const std::string log = ask("GET", "/api/v1/audit", {.as = "root"}).body;
  EXPECT_THAT(
      log,
      AllOf(HasSubstr("\"who\":\"mod\",\"what\":\"yank\",\"subject\":\"etcd 1.0.0\",\"peer\":\"192.0.2.1\""),
            HasSubstr("unlink")));
}

TEST_P(SiteTest, RefusesProjectsThatReachIntoItsOwnNetwork) {
  for (const char* url : {"http://127.0.0.1/r", "http://169.254.169.254/latest/meta-data", "file:///etc",
                          "/etc", "ssh://git@example.com/r", "git@example.com:r", "ext::sh -c id",
                          "https://u:p@example.com/r", "--upload-pack=x", "git://example.com/r", ""}) {
    const WebAnswer answer = ask(
        "POST", "/api/v1/projects",
        {.as = "ann", .body = encoding::to_json(Value::object({{"name", Value("a")}, {"url", Value(url)}}))});
    EXPECT_THAT(answer.status, ::testing::AnyOf(400, 403)) << url << answer.body;
  }
  for (const char* path : {"../x", "/etc", "a/../../b", "a\\b", ".git/hooks"}) {
    const WebAnswer answer = ask(
        "POST", "/api/v1/projects",
        {.as = "ann",
         .body = encoding::to_json(Value::object(
             {{"name", Value("a")}, {"url", Value("https://git.example.com/a")}, {"path", Value(path)}}))});
    EXPECT_EQ(answer.status, 400) << path << answer.body;
  }
  for (const char* body :
       {"[]", "{", "{\"name\": 1, \"url\": \"https://git.example.com/a\"}", "{\"nmae\": \"a\"}",
        "{\"name\": \"../a\", \"url\": \"https://git.example.com/a\"}",
        "{\"name\": \"a\", \"name\": \"b\", \"url\": \"https://git.example.com/a\"}"})
    EXPECT_EQ(ask("POST", "/api/v1/projects", {.as = "ann", .body = body}).status, 400) << body;
  EXPECT_EQ(ask("POST", "/api/v1/projects",
                {.as = "ann",
                 .body = R"({"name": "a", "url": "https://git.example.com/a"})",
                 .headers = {{"Content-Type", "text/plain"}}})
                .status,
            400)
      << "a form of another site may send that";
  EXPECT_EQ(woken_, 0);
}

TEST_P(SiteTest, AWebhookNeedsTheSecret) {
  const Value made = link("etcd");
  woken_ = 0;
  const std::string secret(made.string_at({"webhook", "secret"}));
  EXPECT_EQ(ask("POST", "/api/v1/hooks/etcd", {.body = "{}"}).status, 403);
  EXPECT_EQ(ask("POST", "/api/v1/hooks/none", {.headers = {{"X-Gitlab-Token", secret}}}).status, 403);
  EXPECT_EQ(woken_, 0);
  const std::string body = R"({"ref": "refs/tags/v1"})";
  const std::string hmac = hex(crypto::hmac_sha256(crypto::as_bytes(secret), crypto::as_bytes(body)));
  EXPECT_EQ(ask("POST", "/api/v1/hooks/etcd",
                {.body = body, .headers = {{"X-Hub-Signature-256", "sha256=" + hmac}}})
                .status,
            202);
  EXPECT_EQ(ask("POST", "/api/v1/hooks/etcd", {.headers = {{"X-Gitlab-Token", secret}}}).status, 202);
  EXPECT_EQ(woken_, 2);
  ASSERT_TRUE(accounts_->set_disabled("ann", true).ok());
  const WebAnswer disabled = ask("POST", "/api/v1/hooks/etcd", {.headers = {{"X-Gitlab-Token", secret}}});
  EXPECT_EQ(disabled.status, 403);
  EXPECT_THAT(disabled.body, HasSubstr("the account ann is disabled"));
  EXPECT_EQ(woken_, 2);
  ASSERT_TRUE(accounts_->set_disabled("ann", false).ok());
  int refused = 0;
  for (int i = 0; i < 100; ++i)
    if (ask("POST", "/api/v1/hooks/etcd", {.headers = {{"X-Gitlab-Token", secret}}}).status == 429) ++refused;
  EXPECT_GT(refused, 50);
}

TEST_P(SiteTest, WhoHasAnAnswerGetsNoneAgain) {
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  for (const char* path : {"/", "/packages/etcd", "/api/v1/index", "/api/v1/packages", "/api/v1/openapi.json",
                           "/mistletoe-index.jsonl"}) {
    const std::string etag(http::find_header(ask("GET", path).headers, "ETag"));
    ASSERT_FALSE(etag.empty()) << path;
    const WebAnswer again = ask("GET", path, {.headers = {{"If-None-Match", "\"x\", W/" + etag}}});
    EXPECT_EQ(again.status, 304) << path;
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(http::find_header(again.headers, "ETag"), etag);
    EXPECT_EQ(ask("GET", path, {.headers = {{"If-None-Match", "\"x\""}}}).status, 200);
  }
  const std::string before(http::find_header(ask("GET", "/api/v1/index").headers, "ETag"));
  publish(version_of("etcd", "1.1.0"));
  EXPECT_EQ(ask("GET", "/api/v1/index", {.headers = {{"If-None-Match", before}}}).status, 200);
}

TEST_P(SiteTest, ReportedInstallsCountOnceADayForAnAddressThatIsNotKept) {
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  const std::string path = "/api/v1/packages/etcd/versions/1.0.0/installs";
  const auto installs = [&] {
    clock_.advance(std::chrono::seconds(2));
    return encoding::to_json(*json_of(ask("GET", "/api/v1/packages/etcd/downloads")).find("installs"));
  };
  EXPECT_EQ(installs(), R"({"total":0,"last30Days":0})");
  EXPECT_THAT(ask("GET", "/packages/etcd").body, Not(HasSubstr("<dt>Installs</dt>")));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("POST", path).status, 202);
  EXPECT_EQ(installs(), R"({"total":1,"last30Days":1})");
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              HasSubstr("1 of all versions, 1 of them in the last 30 days, by"));
  clock_.advance(std::chrono::days(31));
  EXPECT_EQ(ask("POST", path).status, 202);
  EXPECT_EQ(installs(), R"({"total":2,"last30Days":1})");
  EXPECT_EQ(ask("POST", "/api/v1/packages/etcd/versions/2.0.0/installs").status, 404);
  EXPECT_EQ(ask("GET", path).status, 405);
  EXPECT_EQ(json_of(ask("GET", "/api/v1/packages/etcd/downloads")).find("total")->as_int(), 0)
      << "it is no download";
  const Status read = database_->read("SELECT count(*) FROM audit WHERE what NOT IN ('link')", {},
                                      [](const sql::Row& row) { EXPECT_EQ(row.integer(0), 0); });
  EXPECT_TRUE(read.ok());
}

TEST_P(SiteTest, OnlyWholeDownloadsCount) {
  link("etcd");
  const NewVersion made = version_of("etcd", "1.0.0");
  publish(made);
  const std::string path = "/api/v1/blobs/" + made.digest;
  const auto total = [&] {
    clock_.advance(std::chrono::seconds(2));
    return json_of(ask("GET", "/api/v1/packages/etcd/downloads")).find("total")->as_int();
  };
  ask("HEAD", path);
  ask("GET", path, {.headers = {{"Range", "bytes=0-1"}}});
  const std::string etag = fmt::format("\"{}\"", made.digest.substr(7));
  EXPECT_EQ(ask("GET", path, {.headers = {{"If-None-Match", etag}}}).status, 304);
  ask("POST", path);
  EXPECT_EQ(total(), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("GET", path).status, 200);
  EXPECT_EQ(total(), 1);
  const Value shown = json_of(ask("GET", "/api/v1/packages/etcd/downloads"));
  EXPECT_EQ(
      encoding::to_json(shown),
      R"({"total":1,"last30Days":1,"installs":{"total":0,"last30Days":0},"versions":[{"version":"1.0.0","total":1,"last30Days":1}],)"
      R"("days":[{"day":"2026-03-01","version":"1.0.0","count":1}]})");
  EXPECT_THAT(ask("GET", "/packages/etcd").body,
              HasSubstr("<dd>1 of this version; 1 of all versions, 1 of them in the last 30 days</dd>"));
  clock_.advance(std::chrono::days(30));
  const Value later = json_of(ask("GET", "/api/v1/packages/etcd/downloads"));
  EXPECT_EQ(later.find("total")->as_int(), 1);
  EXPECT_EQ(later.find("last30Days")->as_int(), 0);
  EXPECT_EQ(ask("GET", "/api/v1/packages/nothing/downloads").status, 404);
}

TEST_P(SiteTest, APackagesBytesAreReadOnlyToBeSentAndOnceForAllWhoTakeThem) {
  link("etcd");
  const NewVersion made = version_of("etcd", "1.0.0");
  publish(made);
  const std::string bytes = "bytes of etcd1.0.0";
  CountingBlobs blobs(blobs_);
  Site site(dependencies(blobs), {.url = "https://catalog.example.com", .reads_per_second = 0});
  const auto ask_for = [&](const std::string& method, const http::Headers& headers = {}) {
    return site.answer(
        {.method = method, .path = "/api/v1/blobs/" + made.digest, .headers = headers, .peer = "192.0.2.1"});
  };
  const WebAnswer head = ask_for("HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.length, bytes.size());
  EXPECT_EQ(head.content(), "");
  const std::string etag(http::find_header(head.headers, "ETag"));
  for (const char* method : {"GET", "HEAD"}) {
    const WebAnswer known = ask_for(method, {{"If-None-Match", etag}});
    EXPECT_EQ(known.status, 304);
    EXPECT_EQ(known.content(), "");
    EXPECT_EQ(http::find_header(known.headers, "ETag"), etag);
  }
  EXPECT_EQ(blobs.reads, 0);
  {
    const WebAnswer one = ask_for("GET");
    const WebAnswer two = ask_for("GET", {{"If-None-Match", "\"another\""}});
    ASSERT_TRUE(one.shared) << "slow networks have time for it";
    EXPECT_EQ(one.shared, two.shared);
    EXPECT_EQ(*one.shared, bytes);
    EXPECT_EQ(blobs.reads, 1);
    const auto held = shared_.get(
        made.digest, []() -> Result<std::uint64_t> { return error(ErrorKind::NotFound, "no size"); },
        []() -> Result<std::string> { return error(ErrorKind::NotFound, "no bytes"); });
    ASSERT_TRUE(held.ok()) << "it counts with whatever else is sent";
    EXPECT_EQ(*held, one.shared);
  }
  EXPECT_EQ(ask_for("GET").content(), bytes);
  EXPECT_EQ(blobs.reads, 2) << "they were still in memory, though nobody took them any more";
}

TEST_P(SiteTest, BytesThatAreMissingOrDamagedAreAFaultOfTheCatalog) {
  link("etcd");
  const NewVersion made = version_of("etcd", "1.0.0");
  publish(made);
  const Path place = blobs_.place_of(*crypto::Digest::parse(made.digest));
  const std::string path = "/api/v1/blobs/" + made.digest;
  const auto expect_fault = [&](const std::string& method) {
    events_.messages.clear();
    const WebAnswer answer = ask(method, path);
    EXPECT_EQ(answer.status, 503);
    EXPECT_THAT(answer.body, Not(HasSubstr(dir_.path().string())));
    EXPECT_TRUE(events_.has(place.string())) << "whoever runs it has to know";
  };
  ASSERT_TRUE(files_.remove_all(place).ok());
  expect_fault("GET");
  expect_fault("HEAD");
  ASSERT_TRUE(files_.write(place, "others").ok());
  expect_fault("GET");
  EXPECT_EQ(ask("GET", "/api/v1/blobs/sha256:" + std::string(64, 'a')).status, 404) << "nothing names it";
}

TEST_P(SiteTest, TheIndexMayComePacked) {
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  const WebAnswer plain = ask("GET", "/api/v1/index");
  const WebAnswer packed = ask("GET", "/api/v1/index", {.headers = {{"Accept-Encoding", "br, gzip"}}});
  EXPECT_EQ(http::find_header(packed.headers, "Content-Encoding"), "gzip");
  EXPECT_EQ(*encoding::gunzip(packed.content(), 1 << 20), plain.content());
  const auto etag = [](const WebAnswer& answer) {
    return std::string(http::find_header(answer.headers, "ETag"));
  };
  EXPECT_NE(etag(plain), etag(packed)) << "their bytes differ";
  EXPECT_EQ(
      ask("GET", "/api/v1/index", {.headers = {{"Accept-Encoding", "gzip"}, {"If-None-Match", etag(packed)}}})
          .status,
      304);
  for (const auto& [accepted, encoding] :
       {std::pair("GZIP;q=0.5", "gzip"), std::pair("br;q=0, gzip ; q=1.0", "gzip"), std::pair("gzip;q=0", ""),
        std::pair("gzip; q=0.000, br", ""), std::pair("xgzipx", ""), std::pair("*", "")}) {
    const WebAnswer answer = ask("GET", "/api/v1/index", {.headers = {{"Accept-Encoding", accepted}}});
    EXPECT_EQ(http::find_header(answer.headers, "Content-Encoding"), encoding) << accepted;
  }
  const Value kubes = *json_of(plain).find("kubes");
  ASSERT_EQ(kubes.size(), 1U);
  const std::string digest(kubes.as_array()[0].string_at("digest"));
  const WebAnswer blob = ask("GET", "/api/v1/blobs/" + digest);
  EXPECT_EQ(blob.content(), "bytes of etcd1.0.0");
  EXPECT_THAT(std::string(http::find_header(blob.headers, "Cache-Control")), HasSubstr("immutable"));
  EXPECT_EQ(ask("GET", "/api/v1/blobs/" + crypto::sha256("other").str()).status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/blobs/sha256:..%2f..%2fcatalog.db").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/blobs/md5:1").status, 400);
}

TEST_P(SiteTest, TheSearchOfRegistriesHasItsIndex) {
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  const std::string path = "/mistletoe-index.jsonl";
  const WebAnswer plain = ask("GET", path);
  EXPECT_EQ(plain.content_type, "application/jsonl");
  const auto index = search::parse_index(plain.content(), "the answer");
  ASSERT_TRUE(index.ok()) << index.error().to_line();
  ASSERT_EQ(index->entries.size(), 1U);
  EXPECT_EQ(index->entries[0].path, "etcd");
  EXPECT_EQ(index->entries[0].version, "1.0.0");
  EXPECT_EQ(ask("GET", "/api/v1/blobs/" + index->entries[0].digest).content(), "bytes of etcd1.0.0");
  const WebAnswer packed = ask("GET", path, {.headers = {{"Accept-Encoding", "gzip"}}});
  EXPECT_EQ(http::find_header(packed.headers, "Content-Encoding"), "gzip");
  EXPECT_EQ(*encoding::gunzip(packed.content(), 1 << 20), plain.content());
  const std::string etag(http::find_header(plain.headers, "ETag"));
  EXPECT_EQ(ask("GET", path, {.headers = {{"If-None-Match", etag}}}).status, 304);
  NewVersion long_one = version_of("etcd", "1.1.0");
  long_one.facts.maintainers.assign(300, std::string(1000, 'x'));
  publish(long_one);
  const WebAnswer after = ask("GET", path, {.headers = {{"If-None-Match", etag}}});
  EXPECT_EQ(after.status, 200);
  EXPECT_THAT(search::parse_index(after.content(), "the answer")->entries, ::testing::IsEmpty())
      << "readers don't take so long a line";
}

TEST_P(SiteTest, ReadersOfTheIndexFetchWhatChanged) {
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  const std::string path(registry::kIndexShardsPath);
  const std::string etag(http::find_header(ask("GET", "/mistletoe-index.jsonl").headers, "ETag"));
  EXPECT_EQ(ask("GET", path, {.headers = {{"If-None-Match", etag}}}).status, 304)
      << "whoever has the whole index has its shards";
  const WebAnswer answer = ask("GET", path);
  EXPECT_EQ(answer.content_type, "application/json");
  const auto list = registry::ShardList::parse(answer.content());
  ASSERT_TRUE(list.ok()) << list.error().to_line();
  std::vector<std::string> shards;
  for (const std::string& digest : list->shards) {
    const WebAnswer shard = ask("GET", std::string(registry::kIndexShardPath) + digest);
    EXPECT_EQ(shard.status, 200);
    EXPECT_THAT(std::string(http::find_header(shard.headers, "Cache-Control")), HasSubstr("immutable"));
    EXPECT_EQ(crypto::sha256(shard.content()).str(), digest);
    shards.push_back(shard.content());
    const WebAnswer packed = ask("GET", std::string(registry::kIndexShardPath) + digest,
                                 {.headers = {{"Accept-Encoding", "gzip"}}});
    EXPECT_EQ(*encoding::gunzip(packed.content(), 1 << 20), shard.content());
  }
  EXPECT_EQ(*registry::joined_index(shards), ask("GET", "/mistletoe-index.jsonl").content());
  publish(version_of("etcd", "1.1.0"));
  EXPECT_EQ(ask("GET", path, {.headers = {{"If-None-Match", etag}}}).status, 200);
  EXPECT_EQ(ask("GET", std::string(registry::kIndexShardPath) + crypto::sha256("old").str()).status, 404);
}

TEST_P(SiteTest, PagesOfErrorsLeadOnward) {
  EXPECT_THAT(ask("GET", "/packages/etcd%20x/1.0.0").body,
              AllOf(HasSubstr("<h1>Not found</h1>"), HasSubstr("<a href=\"/\">Start page</a>"),
                    HasSubstr("<a href=\"/search?q=etcd%20x\">Search for etcd x</a>")));
  EXPECT_THAT(ask("GET", "/docs/install_guide").body,
              HasSubstr("<a href=\"/search?q=docs%20install%20guide\">Search for docs install guide</a>"));
  EXPECT_THAT(ask("GET", "/%3Cscript%3E").body,
              AllOf(HasSubstr("Search for script"), Not(HasSubstr("<script>"))));
  EXPECT_THAT(ask("GET", "/%25").body, HasSubstr("<a href=\"/search\">All packages</a>")) << "no word";
  const WebAnswer refused = ask("POST", "/packages/etcd");
  EXPECT_EQ(refused.status, 405);
  EXPECT_THAT(refused.body, HasSubstr("Search for etcd"));
  Site busy(dependencies(blobs_), {.url = "https://catalog.example.com", .reads_per_second = 0.2});
  WebAnswer last;
  for (int i = 0; i < 5 && last.status != 429; ++i)
    last = busy.answer({.method = "GET", .path = "/packages/etcd", .peer = "192.0.2.1"});
  EXPECT_EQ(last.status, 429);
  EXPECT_THAT(last.body, AllOf(HasSubstr("Too many requests"), HasSubstr("Start page")));
}

TEST_P(SiteTest, LimitsOfListsAreNumbers) {
  for (const char* query :
       {"limit=0", "limit=101", "limit=x", "limit=1x", "limit=-1", "limit=99999999999999999999"})
    EXPECT_EQ(ask("GET", std::string("/api/v1/packages?") + query).status, 400) << query;
  link("aaa");
  link("bbb");
  publish(version_of("aaa", "1.0.0"));
  publish(version_of("bbb", "1.0.0"));
  const Value first = json_of(ask("GET", "/api/v1/packages?limit=1"));
  EXPECT_EQ(first.string_at("next"), "/api/v1/packages?q=&limit=1&after=aaa");
  const Value second = json_of(ask("GET", std::string(first.string_at("next"))));
  EXPECT_EQ(second.find("items")->as_array()[0].string_at("package"), "bbb");
  EXPECT_TRUE(second.find("next")->is_null());
}

TEST_P(SiteTest, VersionsComePagedAndWithoutWhatIsLarge) {
  link("etcd");
  for (const char* number : {"1.0.0", "1.1.0", "1.2.0+x"}) {
    NewVersion made = version_of("etcd", number);
    made.readme = "# a readme";
    made.facts.details = "its details";
    made.facts.defaults = "size: 1\n";
    publish(made);
  }
  const WebAnswer answer = ask("GET", "/api/v1/packages/etcd?limit=2");
  for (const char* large : {"readme", "its details", "inputs", "files", "size: 1"})
    EXPECT_THAT(answer.body, Not(HasSubstr(large)));
  const auto numbers = [](const Value& list) {
    std::vector<std::string> found;
    for (const Value& each : list.find("items")->as_array()) found.emplace_back(each.string_at("version"));
    return found;
  };
  const Value first = json_of(answer);
  EXPECT_THAT(numbers(first), ElementsAre("1.2.0+x", "1.1.0"));
  EXPECT_EQ(first.string_at("owner"), "ann");
  const Value second = json_of(ask("GET", std::string(first.string_at("next"))));
  EXPECT_THAT(numbers(second), ElementsAre("1.0.0"));
  EXPECT_TRUE(second.find("next")->is_null());
  EXPECT_THAT(numbers(json_of(ask("GET", "/api/v1/packages/etcd?limit=2&after=1.2.0%2Bx"))),
              ElementsAre("1.1.0", "1.0.0"));
  EXPECT_EQ(ask("GET", "/api/v1/packages/etcd?after=9.9.9").status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/packages/etcd?limit=101").status, 400);
  EXPECT_THAT(ask("GET", "/api/v1/packages/etcd/versions/1.1.0").body, HasSubstr("# a readme"));
}

TEST_P(SiteTest, TheDescriptionNamesEveryOperation) {
  const Value document = json_of(ask("GET", "/api/v1/openapi.json"));
  EXPECT_EQ(document.string_at("openapi"), "3.1.0");
  std::size_t operations = 0;
  for (const auto& [path, item] : document.find("paths")->as_object()) operations += item.size();
  EXPECT_EQ(operations, endpoints().size());
  EXPECT_NE(document.at_path({"paths", "/api/v1/packages/{name}/versions/{version}/preview", "get",
                              "responses", "202", "content"}),
            nullptr);
  // Each reference leads somewhere.
  const std::string text = encoding::to_json(document);
  constexpr std::string_view kReference = "#/components/schemas/";
  for (auto at = text.find(kReference); at != std::string::npos; at = text.find(kReference, at + 1)) {
    const auto begin = at + kReference.size();
    EXPECT_NE(document.at_path({"components", "schemas", text.substr(begin, text.find('"', begin) - begin)}),
              nullptr);
  }
}

TEST_P(SiteTest, ATokenMayDoWhatItsScopesAndItsAccountMay) {
  const auto token = [&](const std::string& account, const std::string& scopes) {
    const std::string name = account + ":" + scopes;
    const SecretString made = new_token(random_);
    EXPECT_TRUE(
        accounts_
            ->add_token(
                {.account = account, .digest = token_digest(made.reveal()), .label = "x", .scopes = scopes})
            .ok());
    tokens_[name] = made.reveal();
    return name;
  };
  link("etcd");
  publish(version_of("etcd", "1.0.0"));
  const std::string project = R"({"name": "other", "url": "https://git.example.com/other"})";
  const auto yank = [&](const std::string& as) {
    return ask("PUT", "/api/v1/packages/etcd/versions/1.0.0/yank", {.as = as}).status;
  };
  const auto test_again = [&](const std::string& as) {
    return ask("POST", "/api/v1/packages/etcd/versions/1.0.0/test", {.as = as}).status;
  };
  const std::string reader = token("ann", "");
  EXPECT_EQ(ask("GET", "/api/v1/projects", {.as = reader}).status, 200);
  for (const std::string& as : {reader, token("ann", "versions"), token("ann", "moderate admin tokens")}) {
    const WebAnswer answer = ask("POST", "/api/v1/projects", {.as = as, .body = project});
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr("scope projects"));
    EXPECT_EQ(ask("DELETE", "/api/v1/projects/etcd", {.as = as}).status, 403);
    EXPECT_EQ(ask("POST", "/api/v1/projects/etcd/poll", {.as = as}).status, 403);
  }
  for (const std::string& as :
       {reader, token("ann", "projects"), token("mod", "moderate"), token("mod", "versions")}) {
    EXPECT_EQ(yank(as), 403) << as;
    EXPECT_EQ(test_again(as), 403) << as;
  }
  EXPECT_EQ(yank(token("bob", "versions moderate admin")), 403) << "bob is no moderator";
  EXPECT_EQ(yank(token("mod", "versions moderate")), 204);
  EXPECT_EQ(test_again(token("ann", "versions")), 202);
  EXPECT_EQ(ask("GET", "/api/v1/audit", {.as = token("root", "moderate")}).status, 403);
  EXPECT_EQ(ask("GET", "/api/v1/audit", {.as = token("mod", "admin")}).status, 403);
  EXPECT_EQ(ask("GET", "/api/v1/audit", {.as = token("root", "admin")}).status, 200);
  ASSERT_TRUE(accounts_->set_role("root", Role::Author).ok());
  EXPECT_EQ(ask("GET", "/api/v1/audit", {.as = "root:admin"}).status, 403)
      << "the role went, so does the right";
}

TEST_P(SiteTest, ATokenMakesNoneWithMoreRights) {
  const SecretString maker = new_token(random_);
  ASSERT_TRUE(accounts_
                  ->add_token({.account = "ann",
                               .digest = token_digest(maker.reveal()),
                               .label = "maker",
                               .scopes = "projects tokens"})
                  .ok());
  tokens_["maker"] = maker.reveal();
  EXPECT_EQ(ask("POST", "/api/v1/tokens", {.as = "ann", .body = R"({"label": "a"})"}).status, 403);
  EXPECT_EQ(ask("GET", "/api/v1/tokens", {.as = "ann"}).status, 403);
  for (const auto& [body, status] : std::initializer_list<std::pair<const char*, int>>{
           {R"({"label": "a", "scopes": ["versions"]})", 403},
           {R"({"label": "a", "scopes": ["projects", "admin"]})", 403},
           {R"({"label": "a", "scopes": ["everything"]})", 400},
           {R"({"label": ""})", 400},
           {R"({"label": "a", "expires": "2020-01-01T00:00:00Z"})", 400},
           {R"({"label": "a", "expires": "tomorrow"})", 400},
           {R"({"label": "a", "scope": "admin"})", 400}})
    EXPECT_EQ(ask("POST", "/api/v1/tokens", {.as = "maker", .body = body}).status, status) << body;
  const WebAnswer made =
      ask("POST", "/api/v1/tokens", {.as = "maker", .body = R"({"label": "<ci>", "scopes": ["projects"]})"});
  ASSERT_EQ(made.status, 201);
  tokens_["made"] = json_of(made).string_at("token");
  EXPECT_EQ(ask("GET", "/api/v1/projects", {.as = "made"}).status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/tokens", {.as = "made"}).status, 403);
  const WebAnswer list = ask("GET", "/api/v1/tokens", {.as = "maker"});
  EXPECT_THAT(list.body, AllOf(HasSubstr("<ci>"), Not(HasSubstr(tokens_["made"])), Not(HasSubstr("sha256"))));
  const auto id = json_of(list).find("items")->as_array()[0].int_at("id");
  EXPECT_EQ(ask("DELETE", "/api/v1/tokens/1x", {.as = "maker"}).status, 404);
  EXPECT_EQ(ask("DELETE", fmt::format("/api/v1/tokens/{}", id), {.as = "maker"}).status, 204);
  EXPECT_EQ(ask("GET", "/api/v1/projects", {.as = "made"}).status, 401);
  EXPECT_EQ(ask("DELETE", "/api/v1/tokens/1", {.as = "maker"}).status, 204) << "ann's first";
  EXPECT_EQ(ask("DELETE", "/api/v1/tokens/2", {.as = "maker"}).status, 404) << "bob's";
}

TEST_P(SiteTest, ATokenMakesNoneThatLastsLonger) {
  using namespace std::chrono_literals;
  const SecretString maker = new_token(random_);
  const WallTime end = clock_.now() + 24h;
  ASSERT_TRUE(accounts_
                  ->add_token({.account = "ann",
                               .digest = token_digest(maker.reveal()),
                               .label = "maker",
                               .scopes = "tokens",
                               .expires = end})
                  .ok());
  tokens_["maker"] = maker.reveal();
  const auto make = [&](const std::string& expires) {
    return ask("POST", "/api/v1/tokens",
               {.as = "maker", .body = fmt::format(R"({{"label": "a", "expires": {}}})", expires)})
        .status;
  };
  EXPECT_EQ(make(fmt::format("\"{}\"", format_time(end + 1h))), 403);
  EXPECT_EQ(make(fmt::format("\"{}\"", format_time(end - 1h))), 201);
  EXPECT_EQ(make("null"), 201);
  const auto made = accounts_->tokens("ann");
  EXPECT_EQ(made->at(0).expires, end) << "no time means the most that it may";
  EXPECT_EQ(made->at(1).expires, end - 1h);
}

TEST_P(SiteTest, ClientsThatAskTooOftenWait) {
  Site limited(dependencies(blobs_),
               {.url = "https://catalog.example.com", .behind_proxy = true, .reads_per_second = 1});
  const auto ask_as = [&](const std::string& address, const std::string& path = "/healthz") {
    return limited.answer({.method = "GET",
                           .path = path,
                           .query = "",
                           .headers = {{"X-Forwarded-For", "198.51.100.7, " + address}},
                           .body = "",
                           .peer = "127.0.0.1"});
  };
  int refused = 0;
  for (int i = 0; i < 10; ++i) refused += ask_as("192.0.2.1").status == 429 ? 1 : 0;
  EXPECT_EQ(refused, 5);
  // A person gets a page, a program gets JSON.
  const WebAnswer page = ask_as("192.0.2.1", "/search");
  EXPECT_EQ(http::find_header(page.headers, "Retry-After"), "1");
  EXPECT_THAT(page.content_type, HasSubstr("text/html"));
  EXPECT_THAT(page.body, HasSubstr("Wait for 1 second, then load the page again."));
  const WebAnswer answer = ask_as("192.0.2.1", "/api/v1/index");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(http::find_header(answer.headers, "Retry-After"), "1");
  EXPECT_EQ(ask_as("192.0.2.2").status, 200);
  // One client has all addresses of its network.
  refused = 0;
  for (int i = 0; i < 10; ++i) refused += ask_as(fmt::format("2001:db8::{}", i)).status == 429 ? 1 : 0;
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(ask_as("2001:db8:0:1::1").status, 200);
}

// HAProxy doesn't continue the client's line, but adds one of its own after it.
TEST_P(SiteTest, AClientBehindAProxyDoesNotChooseItsAddress) {
  Site limited(dependencies(blobs_),
               {.url = "https://catalog.example.com", .behind_proxy = true, .reads_per_second = 1});
  const auto refused = [&](const auto& headers, const std::string& peer) {
    int count = 0;
    for (int i = 0; i < 10; ++i) {
      const http::WebRequest request{
          .method = "GET", .path = "/healthz", .headers = headers(i), .peer = peer};
      if (limited.answer(request).status == 429) ++count;
    }
    return count;
  };
  const auto two_lines = [](int i) -> http::Headers {
    return {{"X-Forwarded-For", fmt::format("198.51.100.{}", i)},
            {"x-forwarded-for", "203.0.113.9, 192.0.2.1"}};
  };
  EXPECT_EQ(refused(two_lines, "127.0.0.1"), 5);
  // The port is no part of the client.
  for (const char* text : {"192.0.2.2:{}", "[2001:db8::1]:{}"}) {
    const auto with_port = [&](int i) -> http::Headers {
      return {{"X-Forwarded-For", fmt::format(fmt::runtime(text), 4711 + i)}};
    };
    EXPECT_EQ(refused(with_port, "127.0.0.1"), 5) << text;
  }
  // Where it is no address, the proxy itself is the client.
  int peer = 2;
  for (const char* text : {"", "unknown-{}", "192.0.2.{}:80:1", "[2001:db8::{}", "198.51.100.7, _{}"}) {
    const auto odd = [&](int i) -> http::Headers {
      return {{"X-Forwarded-For", "198.51.100.1"}, {"X-Forwarded-For", fmt::format(fmt::runtime(text), i)}};
    };
    EXPECT_EQ(refused(odd, fmt::format("127.0.0.{}", peer++)), 5) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Databases, SiteTest, each_database(), name_of_database);

}  // namespace
}  // namespace mist::catalog
