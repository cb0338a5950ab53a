#include "kube/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "http/unanswered.h"
#include "testing/fake_clock.h"

namespace mist::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Value pod(std::string_view name, std::string_view version) {
  return Value::object({{"metadata", Value::object({{"name", name}, {"resourceVersion", version}})}});
}
std::string line(std::string_view type, std::string_view name, int version) {
  return fmt::format(
             R"({{"type":"{}","object":{{"kind":"Pod","metadata":{{"name":"{}","resourceVersion":"{}"}}}}}})",
             type, name, version) +
         "\n";
}

// A server of scripted listings and connections.
class WatchTest : public ::testing::Test {
 protected:
  struct Connection {
    std::vector<std::string> pieces;
    Result<http::Response> end = http::Response{.status = 200, .headers = {}, .body = {}};
    Duration lasts{};
  };

  Status run(std::size_t events) {
    const Watcher::Dependencies dependencies{
        .list = [this](const Watcher::PageHandler& page, const Context&) -> Result<std::string> {
          if (lists.empty()) return error(ErrorKind::Internal, "no more listings");
          auto next = std::move(lists.front());
          lists.pop_front();
          if (!given_up.empty() && !page(given_up, true)) return std::string();
          MIST_TRY(const ObjectList list, std::move(next));
          // The last one in a page of its own.
          const auto split = list.items.end() - (list.items.empty() ? 0 : 1);
          for (const auto& [items, first] : {std::pair(std::vector(list.items.begin(), split), true),
                                             std::pair(std::vector(split, list.items.end()), false)})
            if (!page(items, first)) break;
          return list.resource_version;
        },
        .open = [this](const std::string& version, Duration, const http::BodyPiece& piece,
                       const Context&) -> Result<http::Response> {
          opened.push_back(version);
          if (connections.empty()) return error(ErrorKind::Internal, "no more connections");
          Connection next = std::move(connections.front());
          connections.pop_front();
          clock.advance(next.lasts);
          for (const std::string& text : next.pieces)
            if (!piece(text)) return http::Response{.status = 200, .headers = {}, .body = {}};
          return std::move(next.end);
        },
        .clock = clock,
        .random = random,
        .events = sink,
        .unlisted = [this](const Error& failure) { unlisted.push_back(failure.message); }};
    Watcher watcher({{"", "v1", "Pod"}, "pods", true, {}}, {"watch", "pods", "https://h", "alice"},
                    dependencies);
    return watcher.run(
        [&](const WatchEvent& event) {
          constexpr std::string_view kNames[] = {"added", "modified", "deleted", "complete"};
          seen.push_back(fmt::format("{} {}", kNames[static_cast<int>(event.type)],
                                     event.object.string_at({"metadata", "name"})));
          EXPECT_EQ(event.object.string_at("kind"), "Pod");
          if (event.type == WatchEventType::Deleted) deleted = event.object;
          return seen.size() < events;
        },
        Context());
  }
  void listing(std::vector<Value> items, std::string version) {
    for (Value& item : items) item.set("kind", "Pod");
    lists.push_back(ObjectList{std::move(items), std::move(version)});
  }

  std::vector<Value> given_up;  // pages of a try before
  std::deque<Result<ObjectList>> lists;
  std::deque<Connection> connections;
  std::vector<std::string> opened, seen, unlisted;
  Value deleted;  // the last one
  mist::testing::FakeClock clock;
  mist::testing::FakeRandom random;
  NullEventSink sink;
};

TEST_F(WatchTest, SaysThatWhatAGivenUpListToldOfIsGone) {
  given_up = {pod("a", "1"), pod("b", "1")};
  for (Value& each : given_up) each.set("kind", "Pod");
  listing({pod("a", "1"), pod("c", "3")}, "3");
  ASSERT_TRUE(run(6).ok());
  EXPECT_THAT(seen, ElementsAre("added a", "added b", "added a", "added c", "deleted b", "complete "));
}

TEST_F(WatchTest, GoesOnFromTheLastVersionAfterACutInTheMiddleOfALine) {
  listing({pod("a", "5")}, "10");
  const std::string second = line("MODIFIED", "a", 12);
  connections.push_back(
      {{line("ADDED", "b", 11), second.substr(0, 20)}, error(ErrorKind::Retryable, "connection reset")});
  connections.push_back({{second.substr(0, 7), second.substr(7) + line("DELETED", "b", 13)}});
  ASSERT_TRUE(run(5).ok());
  EXPECT_THAT(seen, ElementsAre("added a", "complete ", "added b", "modified a", "deleted b"));
  EXPECT_THAT(opened, ElementsAre("10", "11"));
}

TEST_F(WatchTest, ResumesFromBookmark) {
  listing({}, "10");
  connections.push_back(
      {{line("BOOKMARK", "", 50)}, http::Response{.status = 200, .headers = {}, .body = {}}, 5min});
  connections.push_back({{line("ADDED", "a", 51)}});
  ASSERT_TRUE(run(2).ok());
  EXPECT_THAT(opened, ElementsAre("10", "50"));
  EXPECT_TRUE(clock.sleeps().empty()) << "the server's own end of a watch is not a failure";
}

TEST_F(WatchTest, ListsAgainAfterGoneAndReportsWhatVanished) {
  listing({pod("a", "5"), pod("b", "6")}, "10");
  connections.push_back(
      {{R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})"
        "\n"}});
  listing({pod("b", "6"), pod("c", "20")}, "21");
  connections.push_back({{line("DELETED", "c", 22)}});
  ASSERT_TRUE(run(8).ok());
  EXPECT_THAT(seen, ElementsAre("added a", "added b", "complete ", "added b", "added c", "deleted a",
                                "complete ", "deleted c"));
  EXPECT_THAT(opened, ElementsAre("10", "21"));
}

TEST_F(WatchTest, WhatVanishedIsNamedWithItsUidAndLabels) {
  const Value metadata = Value::object({{"name", "a"},
                                        {"namespace", "shop"},
                                        {"uid", "u1"},
                                        {"labels", Value::object({{"app", "web"}})},
                                        {"resourceVersion", "5"},
                                        {"annotations", Value::object({{"a", "b"}})}});
  listing({Value::object({{"metadata", metadata}})}, "10");
  connections.push_back({{}, http::Response{.status = 410, .headers = {}, .body = "{}"}});
  listing({}, "21");
  ASSERT_TRUE(run(4).ok());
  EXPECT_THAT(seen, ElementsAre("added a", "complete ", "deleted a", "complete "));
  EXPECT_EQ(deleted, Value::object({{"apiVersion", "v1"},
                                    {"kind", "Pod"},
                                    {"metadata", Value::object({{"name", "a"},
                                                                {"namespace", "shop"},
                                                                {"uid", "u1"},
                                                                {"labels", *metadata.find("labels")},
                                                                {"resourceVersion", "21"}})}}));
}

TEST_F(WatchTest, ListsAgainWhenTheConnectionIsAnsweredWithGone) {
  listing({}, "10");
  connections.push_back({{}, http::Response{.status = 410, .headers = {}, .body = "{}"}});
  listing({pod("a", "20")}, "21");
  ASSERT_TRUE(run(2).ok());
  EXPECT_THAT(seen, ElementsAre("complete ", "added a"));
}

TEST_F(WatchTest, WaitsLongerAndLongerWhileTheServerIsAway) {
  listing({}, "10");
  const auto refused = [] { return error(ErrorKind::Retryable, "connection refused"); };
  for (int i = 0; i < 2; ++i) connections.push_back({{}, refused()});
  for (int i = 0; i < 10; ++i) lists.push_back(refused().with_detail(http::Unanswered()));
  listing({}, "10");
  connections.push_back({{line("ADDED", "a", 11)}});
  ASSERT_TRUE(run(3).ok());
  const auto sleeps = clock.sleeps();
  ASSERT_EQ(sleeps.size(), 12u);
  EXPECT_LE(sleeps.front(), 400ms);
  EXPECT_GE(sleeps.back(), 15s);
  EXPECT_LE(sleeps.back(), 30s);
}

// One object that can't be converted keeps the server from listing any.
TEST_F(WatchTest, TellsWhyNothingCanBeListedAndNoticesSoonThatItCan) {
  listing({}, "10");
  connections.push_back({{}, http::Response{.status = 500, .headers = {}, .body = {}}});
  for (int i = 0; i < 10; ++i) lists.push_back(error(ErrorKind::Retryable, "the conversion failed"));
  listing({pod("a", "20")}, "21");
  ASSERT_TRUE(run(2).ok());
  EXPECT_THAT(unlisted, ::testing::SizeIs(10));
  EXPECT_THAT(unlisted, ::testing::Each("the conversion failed"));
  EXPECT_LE(clock.sleeps().back(), 10s);
}

// Of a version that it hasn't reached yet the server tells nothing, for as long as it takes.
TEST_F(WatchTest, ListsAgainWhenAServerThatWasAwayMayHaveAnOlderState) {
  listing({pod("a", "90")}, "100");
  connections.push_back({{line("MODIFIED", "a", 110)}, error(ErrorKind::Retryable, "connection reset")});
  connections.push_back({{}, error(ErrorKind::Retryable, "connection refused")});
  listing({pod("b", "40")}, "50");
  connections.push_back({{line("ADDED", "c", 51)}});
  ASSERT_TRUE(run(7).ok());
  EXPECT_THAT(seen, ElementsAre("added a", "complete ", "modified a", "added b", "deleted a", "complete ",
                                "added c"));
  EXPECT_THAT(opened, ElementsAre("100", "110", "50"));
}

// A proxy answers for the servers behind it while they are away.
TEST_F(WatchTest, ListsAgainAfterAnOutageThatWasAnsweredWithServerErrors) {
  for (const Duration lasts : {Duration::zero(), Duration(3s)}) {
    listing({pod("a", "90")}, "100");
    connections.push_back({{}, http::Response{.status = 503, .headers = {}, .body = {}}, lasts});
    listing({pod("b", "40")}, "50");
    connections.push_back({{line("ADDED", "c", 51)}});
    ASSERT_TRUE(run(6).ok());
    EXPECT_THAT(std::exchange(seen, {}),
                ElementsAre("added a", "complete ", "added b", "deleted a", "complete ", "added c"));
    EXPECT_THAT(std::exchange(opened, {}), ElementsAre("100", "50"));
  }
}

// One slow answer of a load balancer may span the whole outage: the second try would succeed.
TEST_F(WatchTest, ListsAgainAfterTheFirstTryThatFailsOnceAWatchEndedWell) {
  listing({pod("a", "90")}, "100");
  connections.push_back(
      {{line("MODIFIED", "a", 110)}, http::Response{.status = 200, .headers = {}, .body = {}}, 5min});
  connections.push_back({{}, http::Response{.status = 504, .headers = {}, .body = {}}, 60s});
  listing({pod("b", "40")}, "50");
  connections.push_back({{line("ADDED", "c", 51)}});
  ASSERT_TRUE(run(7).ok());
  EXPECT_THAT(seen, ElementsAre("added a", "complete ", "modified a", "added b", "deleted a", "complete ",
                                "added c"));
  EXPECT_THAT(opened, ElementsAre("100", "110", "50"));
}

TEST_F(WatchTest, WaitsAsLongAsAnOverloadedServerAsks) {
  listing({}, "10");
  for (const char* asked : {"7", "86400"})
    connections.push_back(
        {{}, http::Response{.status = 429, .headers = {{"Retry-After", asked}}, .body = {}}});
  connections.push_back({{line("ADDED", "a", 11)}});
  ASSERT_TRUE(run(2).ok());
  EXPECT_THAT(opened, ElementsAre("10", "10", "10")) << "it wasn't away";
  const auto sleeps = clock.sleeps();
  ASSERT_EQ(sleeps.size(), 2u);
  EXPECT_GE(sleeps[0], 7s);
  EXPECT_LE(sleeps[0], 8s);
  EXPECT_GE(sleeps[1], 60s);
  EXPECT_LE(sleeps[1], 62s);
}

// Its copy of the collection can't be made, and only a list tells why.
TEST_F(WatchTest, ListsAgainWhereWatchesAreSentAwayEachTime) {
  listing({}, "10");
  const auto sent_away = [&] {
    connections.push_back({{}, http::Response{.status = 429, .headers = {}, .body = {}}});
  };
  for (int i = 0; i < 4; ++i) sent_away();
  lists.push_back(error(ErrorKind::Retryable, "Pod default/a can't be converted"));
  listing({pod("a", "20")}, "21");
  for (int i = 0; i < 3; ++i) sent_away();
  connections.push_back({{line("ADDED", "b", 22)}});
  ASSERT_TRUE(run(4).ok());
  EXPECT_THAT(unlisted, ElementsAre("Pod default/a can't be converted"));
  EXPECT_THAT(opened, ElementsAre("10", "10", "10", "10", "21", "21", "21", "21"));
}

TEST_F(WatchTest, DoesNotSpinOnAServerThatEndsWatchesAtOnce) {
  listing({}, "10");
  for (int i = 0; i < 5; ++i) connections.push_back({});
  connections.push_back({{line("ADDED", "a", 11)}});
  ASSERT_TRUE(run(2).ok());
  EXPECT_EQ(clock.sleeps().size(), 5u);
}

TEST_F(WatchTest, ATryThatIsNeverAnsweredFailsHoweverLongItTakes) {
  listing({}, "10");
  connections.push_back(
      {{}, error(ErrorKind::Retryable, "the connection hangs").with_detail(http::Unanswered()), 45s});
  listing({pod("a", "20")}, "21");
  ASSERT_TRUE(run(2).ok());
  EXPECT_THAT(seen, ElementsAre("complete ", "added a")) << "it lists again";
  EXPECT_EQ(clock.sleeps().size(), 1u);
}

TEST_F(WatchTest, AQuietWatchThatIsCutIsNoFailure) {
  listing({}, "10");
  for (int i = 0; i < 5; ++i) connections.push_back({{}, error(ErrorKind::Retryable, "cut"), 60s});
  connections.push_back({{line("ADDED", "a", 11)}});
  ASSERT_TRUE(run(2).ok());
  EXPECT_EQ(opened.size(), 6u);
}

TEST_F(WatchTest, GarbageIsACutAndNoCrash) {
  listing({}, "10");
  connections.push_back({{"<html>\n"}});
  connections.push_back({{"{\"type\":\"ADDED\"}\n"}});
  connections.push_back({{line("WHAT", "a", 9)}});
  connections.push_back({{line("ADDED", "a", 11)}});
  ASSERT_TRUE(run(2).ok());
  EXPECT_THAT(opened, ElementsAre("10", "10", "10", "10"));
}

TEST_F(WatchTest, ListsAgainWhereTheNextLineCannotBeRead) {
  listing({}, "10");
  for (int i = 0; i < 5; ++i) connections.push_back({{"<html>\n"}});
  listing({pod("a", "11")}, "12");
  connections.push_back({{line("DELETED", "a", 13)}});
  ASSERT_TRUE(run(4).ok());
  EXPECT_THAT(seen, ElementsAre("complete ", "added a", "complete ", "deleted a"));
  EXPECT_THAT(opened, ElementsAre("10", "10", "10", "10", "10", "12"));
}

// The server stores 10,000 levels.
TEST_F(WatchTest, AnObjectThatNestsTooDeepComesWithoutThat) {
  listing({}, "10");
  const std::string deep = std::string(9'000, '[') + std::string(9'000, ']');
  connections.push_back(
      {{fmt::format(R"({{"type":"ADDED","object":{{"kind":"Pod","spec":{},"metadata":{{"name":"a",)"
                    R"("resourceVersion":"11"}}}}}})",
                    deep) +
        "\n" + line("ADDED", "b", 12)}});
  ASSERT_TRUE(run(3).ok());
  EXPECT_THAT(seen, ElementsAre("complete ", "added a", "added b"));
}

TEST_F(WatchTest, EndsWhenTheServerRefusesForGood) {
  listing({}, "10");
  connections.push_back({{}, http::Response{.status = 403, .headers = {}, .body = {}}});
  const auto refused = run(5);
  EXPECT_EQ(refused.error().kind, ErrorKind::Forbidden);
  EXPECT_EQ(refused.error().message, "cannot watch pods on https://h");
}

TEST_F(WatchTest, FirstListingsErrorIsTheWatchs) {
  lists.push_back(error(ErrorKind::NotFound, "no such kind"));
  EXPECT_EQ(run(5).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace mist::kube
