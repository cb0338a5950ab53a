#include "resolve/solver.h"

#include <gtest/gtest.h>

#include "resolve/explain.h"
#include "testing/fake_provider.h"

namespace mist::resolve {
namespace {

using testing::FakeProvider;
using testing::Needs;
using testing::range_of;
using testing::requirements;
using testing::version_of;

/// "bar 1.0.0, foo 1.1.0", or the proof that there is nothing.
std::string solved_request(Provider& provider, const Request& request) {
  const auto solution = solve(request, provider);
  if (!solution.ok())
    return solution.error().kind == ErrorKind::Conflict ? solution.error().because
                                                        : solution.error().to_line();
  std::string out;
  for (const Selected& each : solution->packages)
    out += (out.empty() ? "" : ", ") + each.package + " " + each.version.to_string();
  return out;
}

std::string solved(Provider& provider, const Needs& needs) {
  return solved_request(provider, Request{.root = "platform", .requirements = requirements(needs)});
}

// The examples of https://github.com/dart-lang/pub/blob/master/doc/solver.md.

TEST(Solver, SelectsTheNewestWhereNothingConflicts) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", {{"bar", "^1.0.0"}}).add("bar", "1.0.0").add("bar", "2.0.0");
  EXPECT_EQ(solved(provider, {{"foo", "^1.0.0"}}), "bar 1.0.0, foo 1.0.0");
}

TEST(Solver, AvoidsAConflictWhenItDecides) {
  FakeProvider provider;
  provider.add("foo", "1.1.0", {{"bar", "^2.0.0"}}).add("foo", "1.0.0");
  provider.add("bar", "1.0.0").add("bar", "1.1.0").add("bar", "2.0.0");
  EXPECT_EQ(solved(provider, {{"foo", "^1.0.0"}, {"bar", "^1.0.0"}}), "bar 1.1.0, foo 1.0.0");
}

TEST(Solver, ResolvesAConflict) {
  FakeProvider provider;
  provider.add("foo", "2.0.0", {{"bar", "^1.0.0"}}).add("foo", "1.0.0");
  provider.add("bar", "1.0.0", {{"foo", "^1.0.0"}});
  EXPECT_EQ(solved(provider, {{"foo", ">=1.0.0"}}), "foo 1.0.0");
}

TEST(Solver, ResolvesAConflictWithAPartialSatisfier) {
  FakeProvider provider;
  provider.add("foo", "1.1.0", {{"left", "^1.0.0"}, {"right", "^1.0.0"}}).add("foo", "1.0.0");
  provider.add("left", "1.0.0", {{"shared", ">=1.0.0"}}).add("right", "1.0.0", {{"shared", "<2.0.0"}});
  provider.add("shared", "2.0.0").add("shared", "1.0.0", {{"target", "^1.0.0"}});
  provider.add("target", "2.0.0").add("target", "1.0.0");
  EXPECT_EQ(solved(provider, {{"foo", "^1.0.0"}, {"target", "^2.0.0"}}), "foo 1.0.0, target 2.0.0");
}

TEST(Solver, ExplainsAChainOfCauses) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", {{"bar", "^2.0.0"}}).add("bar", "2.0.0", {{"baz", "^3.0.0"}});
  provider.add("baz", "1.0.0").add("baz", "3.0.0");
  EXPECT_EQ(
      solved(provider, {{"foo", "^1.0.0"}, {"baz", "^1.0.0"}}),
      "Because every version of foo depends on bar ^2.0.0, which depends on baz ^3.0.0, every version of "
      "foo requires baz ^3.0.0.\n"
      "So, because platform depends on both baz ^1.0.0 and foo ^1.0.0, version solving failed.");
}

TEST(Solver, ExplainsBranchesOfCausesWithNumbers) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", {{"a", "^1.0.0"}, {"b", "^1.0.0"}});
  provider.add("foo", "1.1.0", {{"x", "^1.0.0"}, {"y", "^1.0.0"}});
  provider.add("a", "1.0.0", {{"b", "^2.0.0"}}).add("b", "1.0.0").add("b", "2.0.0");
  provider.add("x", "1.0.0", {{"y", "^2.0.0"}}).add("y", "1.0.0").add("y", "2.0.0");
  EXPECT_EQ(
      solved(provider, {{"foo", "^1.0.0"}}),
      "    Because foo 1.0.0 depends on a ^1.0.0, which depends on b ^2.0.0, foo 1.0.0 requires b ^2.0.0.\n"
      "(1) So, because foo 1.0.0 depends on b ^1.0.0, foo 1.0.0 cannot be used.\n"
      "\n"
      "    Because foo 1.1.0 depends on x ^1.0.0, which depends on y ^2.0.0, foo 1.1.0 requires y ^2.0.0.\n"
      "    And because foo 1.1.0 depends on y ^1.0.0, foo 1.1.0 cannot be used.\n"
      "    And because foo 1.0.0 cannot be used (1), foo cannot be used.\n"
      "    So, because platform depends on foo ^1.0.0, version solving failed.");
}

// The rest of the contract.

TEST(Solver, SaysThatNoVersionMatches) {
  FakeProvider provider;
  provider.add("mariadb", "1.0.0");
  EXPECT_EQ(solved(provider, {{"mariadb", "^2.0.0"}}),
            "Because platform depends on mariadb ^2.0.0, which no version matches, version solving failed.");
  provider.releases["empty"];
  EXPECT_EQ(solved(provider, {{"empty", "*"}}),
            "Because platform depends on empty *, which has no versions, version solving failed.");
  EXPECT_EQ(solved(provider, {{"mariadb", "<0.0.0"}}),
            "Because platform depends on mariadb <0.0.0, version solving failed.");
}

TEST(Solver, NamesRangesAsTheirAuthorsWroteThem) {
  FakeProvider provider;
  provider.add("web", "1.0.0", {{"mariadb", "1.9 < x <= 1.10"}})
      .add("mariadb", "1.10.0")
      .add("mariadb", "2.0.0");
  EXPECT_EQ(
      solved(provider, {{"web", "1.x"}, {"mariadb", "~2"}}),
      "Because every version of web depends on mariadb 1.9 < x <= 1.10 and platform depends on mariadb ~2, "
      "web cannot be used.\n"
      "So, because platform depends on web 1.x, version solving failed.");
}

TEST(Solver, NamesVersionsByThoseThatExist) {
  KnownPackage package{.id = "foo", .listed = true, .versions = {}, .asked = {range_of("~1.1")}};
  for (const char* each : {"1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1", "2.0.0", "3.0.0", "4.0.0", "5.0.0"})
    package.versions.push_back(version_of(each));
  const auto text = [&](const char* range) {
    return versions_text(package, range_of(range) & range_of(range));
  };
  EXPECT_EQ(text("1.1.x"), "~1.1");
  EXPECT_EQ(text("<1.2"), "<1.2.0");
  EXPECT_EQ(text(">=1.1 <2"), "1.1.0 to 1.2.0") << "what is next has no comparison";
  EXPECT_EQ(text(">=2"), ">=2.0.0");
  EXPECT_EQ(text(">=2 <4"), ">=2.0.0 <4.0.0");
  EXPECT_EQ(text("1.0.0 || >=3"), "1.0.0 || >=3.0.0");
  EXPECT_EQ(text(">=2.0.0-rc.0 <3"), "2.0.0-rc.1 to 2.0.0");
  EXPECT_EQ(text("^7.1.2"), "^7.1.2") << "there are none";
  package.versions.clear();
  for (int i = 0; i < 20; ++i) package.versions.push_back(version_of(fmt::format("1.{}.0", i)));
  EXPECT_EQ(text("1.1 || 1.3 || 1.5 || 1.7 || 1.9 || 1.11 || 1.13"), "(7 of the versions 1.1.0 to 1.13.0)");
}

TEST(Solver, AVeryLongProofIsSummedUp) {
  FakeProvider provider;
  for (int i = 0; i < 300; ++i) {
    provider.add("foo", fmt::format("1.{}.0", i), {{fmt::format("p{}", i), "^1"}});
    provider.add(fmt::format("p{}", i), "1.0.0", {{"bar", fmt::format("^2.{}", i)}});
  }
  provider.add("bar", "1.0.0");
  const std::string text = solved(provider, {{"foo", "*"}, {"bar", "*"}});
  EXPECT_TRUE(text.starts_with("These ")) << text;
  EXPECT_NE(text.find(" cannot all hold ("), std::string::npos) << text;
  EXPECT_NE(text.find("platform depends on foo *."), std::string::npos) << text;
  EXPECT_NE(text.find(" more."), std::string::npos) << text;
  EXPECT_LT(text.size(), 3000);
}

TEST(Solver, AFailureIsAConflictWithAHint) {
  FakeProvider provider;
  provider.add("foo", "1.0.0");
  const auto failed = solve({.root = "platform", .requirements = requirements({{"foo", "^2"}})}, provider);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(failed.error().message, "no versions satisfy all dependencies of platform");
  EXPECT_FALSE(failed.error().hint.empty());
}

TEST(Solver, KeepsLockedVersionsWhileTheySatisfy) {
  FakeProvider provider;
  provider.add("foo", "1.0.0").add("foo", "1.1.0").add("foo", "2.0.0");
  provider.add("bar", "1.0.0").add("bar", "1.1.0");
  Request request{.root = "platform", .requirements = requirements({{"foo", "^1"}, {"bar", "^1"}})};
  request.locked = {{"foo", version_of("1.0.0")}, {"bar", version_of("1.0.0")}};
  EXPECT_EQ(solved_request(provider, request), "bar 1.0.0, foo 1.0.0");
  EXPECT_TRUE(provider.listed.empty()) << "a lock that satisfies needs no lists";
  request.update = {"foo"};
  EXPECT_EQ(solved_request(provider, request), "bar 1.0.0, foo 1.1.0");
  request.update = {};
  request.requirements = requirements({{"foo", "^2"}, {"bar", "^1"}});
  EXPECT_EQ(solved_request(provider, request), "bar 1.0.0, foo 2.0.0");
}

TEST(Solver, AYankedVersionIsOnlyForThoseWhoHaveItLocked) {
  FakeProvider provider;
  provider.add("foo", "1.0.0").add("foo", "1.1.0").yank("foo", "1.1.0");
  Request request{.root = "platform", .requirements = requirements({{"foo", "^1"}})};
  EXPECT_EQ(solved_request(provider, request), "foo 1.0.0");
  request.locked = {{"foo", version_of("1.1.0")}};
  EXPECT_EQ(solved_request(provider, request), "foo 1.1.0");
  request.update = {"foo"};
  EXPECT_EQ(solved_request(provider, request), "foo 1.0.0");
}

TEST(Solver, TakesThePrereleaseThatARangeNames) {
  FakeProvider provider;
  provider.add("foo", "1.0.0").add("foo", "1.1.0-rc.1");
  EXPECT_EQ(solved(provider, {{"foo", "^1"}}), "foo 1.0.0");
  EXPECT_EQ(solved(provider, {{"foo", ">=1.1.0-rc.0"}}), "foo 1.1.0-rc.1");
}

TEST(Solver, BuildMetadataDecidesOnlyBetweenEquals) {
  FakeProvider provider;
  provider.add("foo", "1.0.0+b").add("foo", "1.0.0+a");
  Request request{.root = "platform", .requirements = requirements({{"foo", "^1"}})};
  EXPECT_EQ(solved_request(provider, request), "foo 1.0.0+b");
  request.locked = {{"foo", version_of("1.0.0+a")}};
  EXPECT_EQ(solved_request(provider, request), "foo 1.0.0+a");
}

TEST(Solver, PackagesMayNeedOneAnother) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", {{"bar", "^1"}, {"foo", "^1"}}).add("bar", "1.0.0", {{"foo", "^1"}});
  EXPECT_EQ(solved(provider, {{"foo", "^1"}}), "bar 1.0.0, foo 1.0.0");
}

TEST(Solver, APackageThatNeedsAnotherVersionOfItselfCannotBeUsed) {
  FakeProvider provider;
  provider.add("foo", "2.0.0", {{"foo", "^1"}}).add("foo", "1.0.0");
  EXPECT_EQ(solved(provider, {{"foo", "*"}}), "foo 1.0.0");
  EXPECT_EQ(solved(provider, {{"foo", "^2"}}),
            "Because platform depends on foo ^2, which depends on foo ^1, version solving failed.");
}

TEST(Solver, SaysWhoAskedForEachPackage) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", {{"bar", "~1.0"}}).add("bar", "1.0.0");
  const auto solution =
      solve({.root = "platform", .requirements = requirements({{"foo", "^1"}, {"bar", "^1.0.0"}})}, provider);
  ASSERT_TRUE(solution.ok());
  const Selected& bar = solution->packages[0];
  ASSERT_EQ(bar.askers.size(), 2);
  EXPECT_EQ(bar.askers[0].package, "");
  EXPECT_EQ(bar.askers[0].range.to_string(), "^1.0.0");
  EXPECT_EQ(bar.askers[1].package, "foo");
  EXPECT_EQ(bar.askers[1].range.to_string(), "~1.0");
}

TEST(Solver, ErrorsOfTheProviderNameThePathToThePackage) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", {{"bar", "^1"}}).add("bar", "1.2.0", {{"gone", "^1"}});
  const auto failed = solve({.root = "platform", .requirements = requirements({{"foo", "^1"}})}, provider);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(failed.error().to_line(),
            "there is no package gone in the registry; while listing the versions of gone (platform → foo "
            "1.0.0 → bar 1.2.0 → gone)");
  Request request{.root = "platform", .requirements = requirements({{"foo", "^1"}})};
  request.locked = {{"foo", version_of("1.0.9")}};
  EXPECT_EQ(solved_request(provider, request),
            "there is no version 1.0.9 of foo; while reading the dependencies of foo 1.0.9 (platform → foo "
            "1.0.9), which is locked");
}

TEST(Solver, AsksEachQuestionOnceAndOnlyWhatItNeeds) {
  FakeProvider provider;
  for (int i = 0; i < 50; ++i) provider.add("foo", fmt::format("1.{}.0", i), {{"bar", i < 5 ? "^1" : "^2"}});
  provider.add("bar", "1.0.0").add("bar", "2.0.0");
  EXPECT_EQ(solved(provider, {{"foo", "^1"}, {"bar", "^1"}}), "bar 1.0.0, foo 1.4.0");
  for (const auto& [what, times] : provider.read) EXPECT_EQ(times, 1) << what;
  for (const auto& [what, times] : provider.listed) EXPECT_EQ(times, 1) << what;
  provider.read.clear();
  EXPECT_EQ(solved(provider, {{"foo", "^1"}}), "bar 2.0.0, foo 1.49.0");
  EXPECT_EQ(provider.read.size(), 2) << "the newest satisfied";
}

TEST(Solver, TheOrderOfListsChangesNothing) {
  FakeProvider one, two;
  one.add("foo", "1.0.0").add("foo", "1.1.0", {{"bar", "^1"}, {"baz", "^1"}});
  two.add("foo", "1.1.0", {{"baz", "^1"}, {"bar", "^1"}}).add("foo", "1.0.0");
  for (FakeProvider* each : {&one, &two}) each->add("bar", "1.0.0", {{"baz", "^2"}}).add("baz", "1.0.0");
  EXPECT_EQ(solved(one, {{"foo", "^1"}, {"baz", "^1"}}), solved(two, {{"baz", "^1"}, {"foo", "^1"}}));
  EXPECT_EQ(solved(one, {{"foo", "^1.1"}, {"baz", "^1"}}), solved(two, {{"baz", "^1"}, {"foo", "^1.1"}}));
}

TEST(Solver, StopsAtItsBound) {
  FakeProvider provider;
  for (int i = 0; i < 10; ++i)
    provider.add("foo", fmt::format("1.{}.0", i), {{"bar", fmt::format("1.{}", i)}});
  provider.add("bar", "2.0.0");
  Request request{.root = "platform", .requirements = requirements({{"foo", "^1"}})};
  request.max_steps = 10;
  const auto failed = solve(request, provider);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Timeout);
  EXPECT_EQ(failed.error().message, "resolving the dependencies of platform takes more than 10 steps");
}

TEST(Solver, EachNeedIsAStep) {
  FakeProvider provider;
  provider.add("foo", "1.0.0", Needs(100, {"bar", "^1"})).add("bar", "1.0.0");
  Request request{.root = "platform", .requirements = requirements({{"foo", "^1"}})};
  request.max_steps = 50;
  const auto failed = solve(request, provider);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, ErrorKind::Timeout);
}

TEST(Solver, StopsWhenItIsAskedTo) {
  FakeProvider provider;
  provider.add("foo", "1.0.0");
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = solve({.root = "platform", .requirements = requirements({{"foo", "^1"}})}, provider,
                             Context(stop.get_token()));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
}

/// 40 packages with 50 versions each; each version needs the packages after it, as new as itself or newer.
FakeProvider large(bool solvable) {
  FakeProvider provider;
  for (int package = 0; package < 40; ++package)
    for (int i = 0; i < 50; ++i) {
      Needs needs;
      for (int next = package + 1; next < std::min(package + 4, 40); ++next)
        needs.emplace_back(fmt::format("p{:02}", next), fmt::format(">=1.{}.0 <1.{}.0", i / 2, i + 5));
      if (!solvable && package == 39) needs.emplace_back("p00", fmt::format("<1.{}.0", i / 2));
      provider.add(fmt::format("p{:02}", package), fmt::format("1.{}.0", i), needs);
    }
  return provider;
}

TEST(Solver, TwoThousandVersionsTakeFewSteps) {
  for (const bool solvable : {true, false}) {
    FakeProvider provider = large(solvable);
    Request request{.root = "platform", .requirements = requirements({{"p00", ">=1.30"}, {"p39", ">=1.10"}})};
    request.max_steps = 200'000;
    const auto began = std::chrono::steady_clock::now();
    const auto outcome = search(request, provider);
    RecordProperty(
        solvable ? "milliseconds" : "milliseconds of no solution",
        static_cast<int>((std::chrono::steady_clock::now() - began) / std::chrono::milliseconds(1)));
    ASSERT_TRUE(outcome.ok()) << outcome.error().to_line();
    EXPECT_EQ(std::holds_alternative<Solution>(*outcome), solvable);
  }
}

TEST(Solver, TwoThousandVersionsOfOnePackageThatAllConflictTakeFewSteps) {
  FakeProvider provider;
  for (int i = 0; i < 2000; ++i) provider.add("foo", fmt::format("1.{}.0", i), {{"bar", "^2"}});
  provider.add("bar", "1.0.0").add("bar", "2.0.0");
  Request request{.root = "platform", .requirements = requirements({{"foo", "*"}, {"bar", "^1"}})};
  request.max_steps = 100'000;
  const auto began = std::chrono::steady_clock::now();
  const auto outcome = search(request, provider);
  RecordProperty("milliseconds",
                 static_cast<int>((std::chrono::steady_clock::now() - began) / std::chrono::milliseconds(1)));
  ASSERT_TRUE(outcome.ok()) << outcome.error().to_line();
  EXPECT_TRUE(std::holds_alternative<Failure>(*outcome));
}

}  // namespace
}  // namespace mist::resolve
