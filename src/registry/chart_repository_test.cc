#include "registry/chart_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "crypto/digest.h"
#include "testing/fake_transport.h"

namespace mist::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kIndex = R"(
apiVersion: v1
entries:
  web:
  - {version: 1.0.0, urls: [web-1.0.0.tgz]}
  - {version: 2.0.0-rc.1, urls: ["https://cdn.example/web-2.tgz"]}
  - {version: v1.10.0, urls: [/top/web.tgz], digest: DIGEST}
  - {version: 1.9.0, urls: [../charts/web-1.9.0.tgz], digest: "sha256:DIGEST"}
  - {version: odd, urls: [odd.tgz]}
  - {version: elsewhere, urls: ["//cdn.example/web.tgz?own=1"]}
  - {version: 9.9.9}
)";

class ChartRepository : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string index(kIndex);
    const std::string digest = crypto::sha256("archive").hex();
    for (auto at = index.find("DIGEST"); at != std::string::npos; at = index.find("DIGEST"))
      index.replace(at, 6, digest);
    web.reply(200, index).reply(200, "archive");
  }
  std::string fetch(std::string version, bool unfinished = false,
                    std::string repository = "https://charts.example/stable?token=s3cret") {
    const auto chart =
        fetch_chart(web, {std::move(repository), "web", std::move(version), unfinished}, Context());
    if (!chart) return "error: " + chart.error().to_line() + " " + chart.error().hint;
    EXPECT_EQ(chart->unchecked(), "archive");
    return web.requests().back().url;
  }
  mist::testing::FakeTransport web;
};

TEST_F(ChartRepository, TheNewestThatIsFinished) {
  EXPECT_EQ(fetch(""), "https://charts.example/top/web.tgz?token=s3cret");
  EXPECT_EQ(web.requests().front().url, "https://charts.example/stable/index.yaml?token=s3cret");
}
TEST_F(ChartRepository, TheNewestOfAll) { EXPECT_EQ(fetch("", true), "https://cdn.example/web-2.tgz"); }
TEST_F(ChartRepository, TheNewestOfARange) {
  EXPECT_EQ(fetch("<1.10", false, "https://charts.example"), "https://charts.example/charts/web-1.9.0.tgz");
}
TEST_F(ChartRepository, AVersionAsItIsWrittenEvenIfItIsNone) {
  EXPECT_EQ(fetch("odd", false, "https://charts.example/"), "https://charts.example/odd.tgz");
}
// As Helm 4.3.1: repo.ResolveReferenceURL.
TEST_F(ChartRepository, OnlyAnAbsoluteAddressHasAQueryOfItsOwn) {
  EXPECT_EQ(fetch("elsewhere"), "https://cdn.example/web.tgz?token=s3cret");
}
TEST_F(ChartRepository, AnAddressWithoutAQueryTakesThoseAway) {
  EXPECT_EQ(fetch("elsewhere", false, "https://charts.example"), "https://cdn.example/web.tgz");
}
TEST_F(ChartRepository, NamesWhatThereIs) {
  EXPECT_THAT(fetch("^3"), AllOf(HasSubstr("no version ^3 of the chart web"),
                                 HasSubstr("2.0.0-rc.1, v1.10.0"), Not(HasSubstr("s3cret"))));
}

TEST_F(ChartRepository, AnIndexIsReadOnceForSeveralVersions) {
  const auto index = ChartIndex::fetch(web, {"https://charts.example"}, Context());
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->newest("web", "1.x")->version, "v1.10.0");
  EXPECT_EQ(index->newest("web", "1.9")->version, "1.9.0");
  EXPECT_EQ(index->newest("web", ">=2.0.0-0")->version, "2.0.0-rc.1");
  EXPECT_FALSE(index->newest("web", "odd").ok());
  EXPECT_FALSE(index->newest("web", "9.9.9").ok()) << "it has no URL";
  EXPECT_EQ(index->find("web", "1.10.0")->version, "v1.10.0");
  EXPECT_EQ(web.requests().size(), 1u);
}
TEST_F(ChartRepository, AnArchiveIsCalledAsItsUrlIs) {
  const auto name = [](std::string url) {
    return ChartVersion{"web", "1.0.0", std::move(url), ""}.file_name();
  };
  EXPECT_EQ(name("https://h/a/web-v1.tgz?token=x"), "web-v1.tgz");
  EXPECT_EQ(name("https://h/a/web-1.0.0%2Bb.tgz"), "web-1.0.0+b.tgz");
  EXPECT_EQ(name("https://h/download/17"), "web-1.0.0.tgz");
  EXPECT_EQ(name("https://h/a/..%2F..%2Fx.tgz"), "web-1.0.0.tgz");
  EXPECT_EQ(name("https://h/a/.hidden.tgz"), "web-1.0.0.tgz");
}
TEST_F(ChartRepository, CredentialsStayWithTheirHost) {
  web.reply(200, "archive");
  for (const bool everywhere : {false, true}) {
    mist::testing::FakeTransport server;
    server.reply(200, std::string(kIndex)).reply(200, "a").reply(200, "a");
    const auto index =
        ChartIndex::fetch(server, {"https://charts.example", "u@x", "s3cret", everywhere}, Context());
    ASSERT_TRUE(index.ok());
    EXPECT_EQ(server.requests().back().url, "https://u%40x:s3cret@charts.example/index.yaml");
    ASSERT_TRUE(index->download(server, *index->find("web", "1.0.0"), Context()).ok());
    EXPECT_EQ(server.requests().back().url, "https://u%40x:s3cret@charts.example/web-1.0.0.tgz");
    ASSERT_TRUE(index->download(server, *index->find("web", "2.0.0-rc.1"), Context()).ok());
    EXPECT_EQ(server.requests().back().url,
              everywhere ? "https://u%40x:s3cret@cdn.example/web-2.tgz" : "https://cdn.example/web-2.tgz");
  }
}
// The rule for its name would be another one than that for what is fetched.
TEST_F(ChartRepository, AnAddressWithDotsIsRefused) {
  for (const char* url :
       {"https://charts.example/team/../evil", "https://charts.example/%2e%2E/evil?token=s3cret"}) {
    const std::string refused = fetch("1.0.0", false, url);
    EXPECT_THAT(refused, AllOf(HasSubstr("its path has a segment '..'"), Not(HasSubstr("s3cret")))) << url;
  }
  EXPECT_EQ(web.count(), 0u);
}

TEST_F(ChartRepository, LeadsToPublicServers) {
  const auto index = ChartIndex::fetch(web, {"https://charts.example"}, Context());
  ASSERT_TRUE(index.ok());
  ASSERT_TRUE(index->download(web, *index->find("web", "2.0.0-rc.1"), Context()).ok());
  EXPECT_FALSE(web.requests()[0].public_only);
  EXPECT_TRUE(web.requests()[1].public_only);
  const ChartVersion here{"web", "1.0.0", "https://localhost/web.tgz", ""};
  EXPECT_EQ(index->download(web, here, Context()).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(fetch_provenance(web, index->server(), here, Context()).error().kind, ErrorKind::Invalid);
  EXPECT_EQ(web.count(), 2u);
}
TEST_F(ChartRepository, PlainHttpIsForThisMachineUnlessTheUserSaysSo) {
  ChartServer server{"http://charts.example"};
  EXPECT_EQ(ChartIndex::fetch(web, server, Context()).error().kind, ErrorKind::Invalid);
  server.plain = PlainHttp::Everywhere;
  EXPECT_TRUE(ChartIndex::fetch(web, server, Context()).ok());
}

TEST(ChartRepositoryErrors, SayWhatIsWrong) {
  const auto said = [](auto prepare, const std::string& name = "web") {
    mist::testing::FakeTransport web;
    prepare(web);
    const auto chart = fetch_chart(web, {"https://u:s3cret@charts.example", name, "1.0.0", false}, Context());
    EXPECT_FALSE(chart.ok());
    std::string text = chart.error().to_line();
    EXPECT_THAT(text, Not(HasSubstr("s3cret")));
    return text;
  };
  using Web = mist::testing::FakeTransport;
  EXPECT_THAT(said([](Web& web) { web.reply(404); }), HasSubstr("there is no https://"));
  EXPECT_THAT(said([](Web& web) { web.reply(200, "entries: ["); }), HasSubstr("can't be read"));
  EXPECT_THAT(said([](Web& web) { web.reply(200, "a: b"); }), HasSubstr("lists no charts"));
  EXPECT_THAT(said([](Web& web) { web.reply(200, std::string(kIndex)); }, "other"),
              HasSubstr("there is no chart other"));
  EXPECT_THAT(said([](Web& web) { web.reply(200, std::string(kIndex)).reply(404); }),
              HasSubstr("there is no"));
  EXPECT_THAT(
      said([](Web& web) {
        web.reply(200, "entries: {web: [{version: 1.0.0, urls: [a], digest: 00ff}]}").reply(200, "other");
      }),
      HasSubstr("the index says 00ff"));
  EXPECT_THAT(
      said([](Web& web) { web.reply(200, "entries: {web: [{version: 1.0.0, urls: ['oci://r/a']}]}"); }),
      HasSubstr("is in an OCI registry (its index leads to oci://r/a)"));
}

}  // namespace
}  // namespace mist::registry
