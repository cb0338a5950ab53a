#include "package/chart_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <set>
#include <string>

#include "base/text.h"
#include "encoding/json.h"
#include "package/calls.h"
#include "package/guests_for_tests.h"

namespace mist::package {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::size_t kStack = std::size_t{4} << 20;  // as an engine's

struct ChartAnswersTest : ::testing::Test {
  ChartAnswersTest() {
    package.reference = "./shop";
    package.content = Files{{"charts/web/Chart.yaml", "name: web"},
                            {"charts/web/templates/a.yaml", "x"},
                            {"charts/webs/Chart.yaml", "name: other"},
                            {"web-1.tgz", "archive"}};
    request.release_name = "shop";
    request.release_namespace = "prod";
    request.seed.front() = std::byte{7};
  }
  // The answer where the engine of charts gives `result`; keeps the engine's request.
  Result<Value> answer(std::string_view json, Result<Rendered> result = Rendered{}) {
    ChartAnswers answers(package, request, {std::chrono::seconds(1), kStack},
                         [&](const Source& chart, const RenderRequest& wanted) {
                           seen_chart = chart;
                           seen_request = wanted;
                           return result;
                         });
    return answers.answer(*encoding::parse_json(json), 0);
  }

  Source package;
  RenderRequest request;
  Source seen_chart;
  RenderRequest seen_request;
};

TEST_F(ChartAnswersTest, AreWhatHelmTemplatePrints) {
  Rendered rendered;
  rendered.print = "kind: A\n";
  rendered.drawn = 8;
  const auto given = answer(
      R"({"op": "chart.render", "directory": "charts/web", "values": ["a: 1", "b: 2"], "includeCrds": true})",
      rendered);
  ASSERT_TRUE(given.ok()) << given.error().to_line();
  EXPECT_EQ(encoding::to_json(*given), R"({"print":"kind: A\n","drawn":8})");
  EXPECT_EQ(seen_chart.engine, kHelmEngine);
  EXPECT_EQ(seen_chart.name, "web");
  EXPECT_EQ(std::get<Files>(seen_chart.content),
            (Files{{"Chart.yaml", "name: web"}, {"templates/a.yaml", "x"}}));
  // As `helm template` without a name, with the clock and seed of the package's render.
  EXPECT_EQ(seen_request.release_name, "release-name");
  EXPECT_EQ(seen_request.release_namespace, "prod");
  EXPECT_EQ(encoding::to_json(seen_request.user_values, encoding::JsonStyle::Exact), R"({"a":1.0,"b":2.0})");
  EXPECT_EQ(encoding::to_json(seen_request.engine_options),
            R"({"print":true,"lookup":"empty","includeCrds":true})");
}

TEST_F(ChartAnswersTest, AnArchiveIsGivenAsItIs) {
  ASSERT_TRUE(answer(R"({"archive": "web-1.tgz", "releaseName": "r", "namespace": "n"})").ok());
  EXPECT_EQ(std::get<Files>(seen_chart.content), (Files{{"chart.tgz", "archive"}}));
  EXPECT_EQ(seen_request.release_name, "r");
  EXPECT_EQ(seen_request.release_namespace, "n");
}

// The vectors of docs/internals/secret-derivation.md: a stored format, which never changes.
TEST_F(ChartAnswersTest, EachReleaseOfAChartDrawsFromASeedOfItsOwn) {
  for (std::size_t i = 0; i < request.seed.size(); ++i) request.seed[i] = std::byte(i);
  const auto seed_for = [&](std::string_view question) {
    EXPECT_TRUE(answer(question).ok()) << question;
    return hex(seen_request.seed);
  };
  const std::string web = seed_for(R"({"directory": "charts/web", "releaseName": "web"})");
  EXPECT_EQ(web, "84c61758de16ebaf977ff2fd782d9430833d1538bc51d07eae8a6dd06de537ae");
  EXPECT_EQ(seed_for(R"({"directory": "charts/web", "releaseName": "web", "namespace": "prod",
                         "values": ["a: 1"], "includeCrds": true})"),
            web);
  std::set<std::string> others{web, hex(request.seed)};
  for (const std::string_view other :
       {R"({"directory": "charts/webs", "releaseName": "web"})",
        R"({"directory": "charts/web", "releaseName": "web2"})", R"({"directory": "charts/web"})",
        R"({"directory": "charts/web", "nameTemplate": "web"})",
        R"({"directory": "charts/web", "releaseName": "web", "namespace": "test"})"})
    EXPECT_TRUE(others.insert(seed_for(other)).second) << other;
}

TEST_F(ChartAnswersTest, AFetchedChartDrawsTheSameWhateverItsNumber) {
  for (std::size_t i = 0; i < request.seed.size(); ++i) request.seed[i] = std::byte(i);
  const auto seed_at = [&](std::string_view number, std::string_view version) {
    const std::string at = fmt::format(".mistletoe/remote/{}", number);
    package.content = Files{{".mistletoe/kustomize.json",
                             fmt::format(R"({{"remotes": [{{"url": "https://example.com/a", "absent": true}},
                         {{"repo": "https://charts.example.com", "chart": "web", "version": "{}", "at": "{}"}},
                         {{"repo": "https://git.example.com/a", "ref": "{}", "at": "{}5"}}]}})",
                                         version, at, version, at)},
                            {at, "archive"},
                            {at + "5/charts/web/Chart.yaml", "name: web"}};
    EXPECT_TRUE(answer(fmt::format(R"({{"archive": "{}", "releaseName": "web"}})", at)).ok());
    const std::string archive = hex(seen_request.seed);
    EXPECT_TRUE(answer(fmt::format(R"({{"directory": "{}5/charts/web", "releaseName": "web"}})", at)).ok());
    return std::pair(archive, hex(seen_request.seed));
  };
  const auto [archive, base] = seed_at("1", "1.0");
  EXPECT_EQ(archive, "2d27745bce12da72e13b1052d2c61b4d2fe40319252216f569ba292e01d9fca6");
  EXPECT_NE(base, archive);
  EXPECT_EQ(seed_at("2", "1.1"), std::pair(archive, base));
}

// A base that is added outside of the directory that is built moves the top of the package.
TEST_F(ChartAnswersTest, AChartDrawsTheSameWhereverThePackageBegins) {
  for (std::size_t i = 0; i < request.seed.size(); ++i) request.seed[i] = std::byte(i);
  const auto seed_of = [&](std::string_view root, std::string_view directory) {
    package.content = Files{{".mistletoe/kustomize.json", fmt::format(R"({{"root": "{}"}})", root)},
                            {fmt::format("{}/Chart.yaml", directory), "name: web"}};
    EXPECT_TRUE(answer(fmt::format(R"({{"directory": "{}", "releaseName": "web"}})", directory)).ok());
    return hex(seen_request.seed);
  };
  // That of EachReleaseOfAChartDrawsFromASeedOfItsOwn, where there is no root.
  const std::string own = "84c61758de16ebaf977ff2fd782d9430833d1538bc51d07eae8a6dd06de537ae";
  EXPECT_EQ(seed_of("prod", "prod/charts/web"), own);
  EXPECT_EQ(seed_of("overlays/prod", "overlays/prod/charts/web"), own);
  const std::string beside = seed_of("overlays/prod", "overlays/common/charts/web");
  EXPECT_EQ(seed_of("prod", "common/charts/web"), beside);
  EXPECT_NE(beside, own);
  EXPECT_NE(seed_of("overlays/prod", "common/charts/web"), beside);
}

TEST_F(ChartAnswersTest, OfAnOlderReleaseDrawFromThePackagesSeed) {
  request.charts_share_seed = true;
  ASSERT_TRUE(answer(R"({"directory": "charts/web", "releaseName": "a"})").ok());
  EXPECT_EQ(seen_request.seed, request.seed);
}

TEST_F(ChartAnswersTest, SayWhichOfThemDrewFromTheSeedThatTheyShare) {
  request.charts_share_seed = true;
  Rendered drawing;
  ChartAnswers answers(package, request, {std::chrono::seconds(1), kStack},
                       [&](const Source&, const RenderRequest&) { return Result<Rendered>(drawing); });
  const auto ask = [&](std::string_view question) {
    EXPECT_TRUE(answers.answer(*encoding::parse_json(question), 0).ok()) << question;
  };
  ask(R"({"directory": "charts/webs"})");
  EXPECT_THAT(answers.drawing(), ElementsAre());
  drawing.drawn = 8;
  ask(R"({"directory": "charts/web", "releaseName": "a"})");
  ask(R"({"directory": "charts/web", "releaseName": "a"})");
  ask(R"({"directory": "charts/web", "releaseName": "b"})");
  EXPECT_THAT(answers.drawing(), UnorderedElementsAre("charts/web (release a)", "charts/web (release b)"));
}

TEST_F(ChartAnswersTest, WhatIsWrongWithTheChartIsAnAnswer) {
  Error wrong = error(ErrorKind::Invalid, "it failed").at({"templates/a.yaml", 3, 5, {}});
  const auto given = answer(R"({"directory": "charts/web"})", wrong);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(encoding::to_json(*given), R"({"failure":{"message":"it failed","where":{)"
                                       R"("file":"charts/web/templates/a.yaml","line":3,"column":5}}})");
  wrong.where->excerpt = "a: {{ b }}";
  EXPECT_THAT(encoding::to_json(*answer(R"({"directory": "charts/web"})", wrong)),
              HasSubstr(R"("column":5,"text":"a: {{ b }}"}})"));
  const auto values = answer(R"({"directory": "charts/web", "values": ["a: ["]})");
  ASSERT_TRUE(values.ok());
  EXPECT_THAT(values->string_at({"failure", "message"}), HasSubstr("the values of the chart charts/web"));
}

TEST_F(ChartAnswersTest, WhatIsWrongWithTheQuestionIsAnError) {
  for (const auto& [question, said] :
       {std::pair{R"({"directory": "charts/none"})", "there is no chart at charts/none"},
        {R"({"directory": "charts/web", "archive": "web-1.tgz"})", "\"directory\" or \"archive\""},
        {R"({})", "\"directory\" or \"archive\""},
        {R"({"directory": "charts/web", "dependencyUpdate": true})", "\"dependencyUpdate\" means nothing"}}) {
    const auto given = answer(question);
    ASSERT_FALSE(given.ok()) << question;
    EXPECT_THAT(given.error().message, HasSubstr(said));
  }
  EXPECT_EQ(answer(R"({"directory": "charts/web"})", error(ErrorKind::Trap, "too long")).error().kind,
            ErrorKind::Trap);
}

TEST_F(ChartAnswersTest, ChartsTogetherHaveABound) {
  ChartAnswers answers(package, request, {Duration(0), kStack},
                       [](const Source&, const RenderRequest&) { return Result<Rendered>(Rendered{}); });
  EXPECT_THAT(answers.answer(*encoding::parse_json(R"({"directory": "charts/web"})"), 0).error().message,
              HasSubstr("took more than 0 s together"));
}

TEST_F(ChartAnswersTest, EachMayTakeTheTimeThatTheOthersLeft) {
  std::vector<Duration> given;
  ChartAnswers answers(package, request, {std::chrono::seconds(60), kStack},
                       [&](const Source&, const RenderRequest& wanted) {
                         given.push_back(wanted.share.guest_time);
                         burn(std::chrono::milliseconds(50));
                         return Result<Rendered>(Rendered{});
                       });
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(answers.answer(*encoding::parse_json(R"({"directory": "charts/web"})"), 0).ok());
  EXPECT_EQ(given.at(0), std::chrono::seconds(60));
  EXPECT_LE(given.at(1), std::chrono::seconds(60) - std::chrono::milliseconds(50));
}

TEST_F(ChartAnswersTest, OfACalledPackageShareTimeAndMemoryWithTheTreeOfCalls) {
  const auto tree = std::make_shared<CallTree>(
      CallTree::Budget{.guest_time = std::chrono::milliseconds(300), .memory_bytes = 1000});
  request.called = CalledAs{.id = "test/app", .install = "app", .path = {"shop", "app"}, .tree = tree};
  ChartAnswers answers(package, request, {std::chrono::seconds(60), kStack},
                       [&](const Source&, const RenderRequest& wanted) {
                         seen_request = wanted;
                         burn(std::chrono::milliseconds(400));
                         return Result<Rendered>(Rendered{});
                       });
  const Value question = *encoding::parse_json(R"({"directory": "charts/web"})");
  ASSERT_TRUE(answers.answer(question, 300).ok());
  EXPECT_EQ(seen_request.share.guest_time, std::chrono::milliseconds(300));
  EXPECT_EQ(seen_request.share.memory_bytes, 700U);
  EXPECT_EQ(tree->time_left(), Duration::zero());
  const auto second = answers.answer(question, 300);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::Trap);
}

TEST_F(ChartAnswersTest, HaveAStackOfTheirOwn) {
  std::size_t bytes = 0;
  ChartAnswers answers(package, request, {std::chrono::seconds(1), kStack},
                       [&](const Source&, const RenderRequest&) {
                         pthread_attr_t attributes;
                         ::pthread_getattr_np(::pthread_self(), &attributes);
                         ::pthread_attr_getstacksize(&attributes, &bytes);
                         ::pthread_attr_destroy(&attributes);
                         return Result<Rendered>(Rendered{});
                       });
  ASSERT_TRUE(answers.answer(*encoding::parse_json(R"({"directory": "charts/web"})"), 0).ok());
  EXPECT_GE(bytes, std::size_t{6} << 20);
}

TEST(ChartExchanges, MustNotDependOnTheRelease) {
  const auto exchange = [](std::string_view print) {
    return ChartExchange{Value::object({{"directory", "charts/web"}}), Value::object({{"print", print}})};
  };
  EXPECT_TRUE(refuse_differences({exchange("a")}, {exchange("a")}).ok());
  EXPECT_THAT(refuse_differences({exchange("a")}, {exchange("b")}).error().message,
              HasSubstr("charts/web can't become a part of a module"));
  EXPECT_FALSE(refuse_differences({exchange("a")}, {}).ok());
  const auto files = with_answers({{".mistletoe/kustomize.json", R"({"root": "app"})"}}, {exchange("a")});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->at(".mistletoe/charts/0"), "a");
  EXPECT_EQ(files->at(".mistletoe/kustomize.json"),
            "{\"root\":\"app\",\"charts\":[{\"request\":{\"directory\":\"charts/web\"},\"at\":\".mistletoe/"
            "charts/0\"}]}\n");
}

}  // namespace
}  // namespace mist::package
