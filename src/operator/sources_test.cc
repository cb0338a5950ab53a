#include "operator/sources.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "kube/service_proxy.h"
#include "testing/client_with_logs.h"
#include "testing/fake_clock.h"
#include "testing/fake_cluster.h"
#include "testing/recorded_events.h"
#include "testing/yaml.h"

namespace mist::operator_ {
namespace {

using namespace std::chrono_literals;
using reconcile::HttpAnswer;
using reconcile::HttpQuestion;
using testing::yaml;

const Item kItem{"app", {"default", "web"}};

// The Service "web" answers as a test says, each other one with {}.
class AnsweringClient final : public testing::ClientWithLogs, public kube::ServiceProxy {
 public:
  using ClientWithLogs::ClientWithLogs;

  void answer(std::string body) {
    const std::lock_guard lock(mutex_);
    body_ = std::move(body);
  }
  /// From now on: "refused 1", "refused 2", …
  void refuse() {
    const std::lock_guard lock(mutex_);
    body_.reset();
    is_reached_ = true;
  }
  /// The same, of the API server.
  void refuse_to_forward() {
    const std::lock_guard lock(mutex_);
    body_.reset();
    is_reached_ = false;
  }
  int tries() const {
    const std::lock_guard lock(mutex_);
    return tries_;
  }

  Result<std::string> proxied_get(const kube::ProxyRequest& request, const Context&) override {
    const std::lock_guard lock(mutex_);
    if (request.name != "web") return std::string("{}");
    ++tries_;
    if (body_) return *body_;
    Error refused = error(ErrorKind::Retryable, "refused {}.", ++refusals_);
    return is_reached_ ? std::move(refused) : std::move(refused).with_detail(kube::Unreached{});
  }

 private:
  mutable std::mutex mutex_;
  std::optional<std::string> body_;
  bool is_reached_ = true;
  int tries_ = 0, refusals_ = 0;
};

class SourcesTest : public ::testing::Test {
 protected:
  static HttpQuestion question(const std::string& service, Duration interval) {
    return {.target = HttpQuestion::Target::Service,
            .ns = "default",
            .name = service,
            .scheme = "http",
            .port = "8080",
            .path = "/",
            .interval = interval,
            .timeout = 5s};
  }
  template <typename Condition>
  static bool soon(const Condition& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  // A look at the instance in which the edges of the node hold.
  HttpAnswer look() {
    sources_.begin();
    HttpQuestion asked = question("web", interval_);
    asked.path = path_;
    HttpAnswer answer = sources_.ask(kItem, "s", asked);
    sources_.finish(kItem, {"s"});
    return answer;
  }
  // One in which they don't.
  void rest() {
    sources_.begin();
    sources_.finish(kItem, {"s"});
  }
  // Those who wait for a time look at the clock again, as for anything that is added.
  void pass(Duration time) {
    clock_.advance(time);
    other_ = {"app", {"default", fmt::format("other-{}", ++others_)}};
    sources_.ask(other_, "s", question("other", 1000h));
  }
  // The next try fails. Its event comes before it is done with, which look() waits for.
  void fails_after(Duration time) {
    const std::string words = fmt::format("refused {}.", ++failures_);
    pass(time);
    ASSERT_TRUE(soon([&] { return events_.has(words); })) << words;
    look();
  }
  void answers(const std::string& body) {
    client_.answer(body);
    ASSERT_TRUE(soon([&] { return look().body == yaml(body); }));
  }

  testing::FakeCluster cluster_;
  AnsweringClient client_{cluster_};
  testing::FakeClock clock_;
  testing::RecordedEvents events_;
  Duration interval_ = 30s;
  std::string path_ = "/";
  Item other_;
  int others_ = 0, failures_ = 0;
  std::atomic<int> wakes_ = 0;  // of kItem
  Sources sources_{client_, clock_, events_, [this](const Item& item) { wakes_ += item == kItem ? 1 : 0; }};
};

// As in a rolling update: three tries may fail in the first seconds.
TEST_F(SourcesTest, RemembersWhatItAnsweredBeforeItRested) {
  answers("{\"enabled\": true}");
  client_.refuse();
  rest();
  rest();
  EXPECT_TRUE(sources_.answered(kItem, "s"));
  const int before = client_.tries();
  pass(9min);
  ASSERT_TRUE(soon([&] { return sources_.answered(other_, "s"); }));
  EXPECT_EQ(client_.tries(), before) << "nobody asks it";
  EXPECT_FALSE(look().body) << "it says nothing about what is there now";
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s}) {
    fails_after(pause);
    EXPECT_FALSE(look().body);
    EXPECT_FALSE(look().stale);
  }
  rest();
  EXPECT_EQ(look().failure, "") << "it is asked again";
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s}) fails_after(pause);
  EXPECT_EQ(look().body, yaml("{enabled: true}")) << "as if it had never rested";
  EXPECT_TRUE(look().stale);
  client_.answer("{\"enabled\": false}");
  pass(96s);
  EXPECT_TRUE(soon([&] { return look().body == yaml("{enabled: false}"); }));
  EXPECT_FALSE(look().stale);
}

// As where somebody uninstalls the chart that had what its node waits for.
TEST_F(SourcesTest, NobodyWaitsForOneThatRestsTooLong) {
  answers("{}");
  rest();
  pass(9min);
  ASSERT_TRUE(soon([&] { return sources_.answered(other_, "s"); }));
  rest();
  EXPECT_TRUE(sources_.answered(kItem, "s"));
  const int before = wakes_;
  pass(1min);
  ASSERT_TRUE(soon([&] { return wakes_ > before; }));
  EXPECT_FALSE(sources_.answered(kItem, "s"));
  client_.refuse();
  EXPECT_FALSE(look().body);
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s}) fails_after(pause);
  EXPECT_TRUE(look().stale);
  EXPECT_TRUE(look().body) << "its last answer stands in";
}

TEST_F(SourcesTest, RestsAnewAfterItWasAsked) {
  answers("{}");
  rest();
  pass(9min);
  ASSERT_TRUE(soon([&] { return sources_.answered(other_, "s"); }));
  client_.refuse();
  look();
  rest();
  pass(9min);
  ASSERT_TRUE(soon([&] { return sources_.answered(other_, "s"); }));
  EXPECT_TRUE(sources_.answered(kItem, "s"));
}

TEST_F(SourcesTest, RemembersWhatItAnsweredToAnotherAccount) {
  answers("{}");
  client_.refuse_to_forward();
  Sources theirs(client_, clock_, events_, [](const Item&) {});
  theirs.take_over(kItem, sources_);
  sources_.forget(kItem);
  EXPECT_FALSE(sources_.answered(kItem, "s"));
  EXPECT_TRUE(theirs.answered(kItem, "s"));
  theirs.begin();
  EXPECT_FALSE(theirs.ask(kItem, "s", question("web", interval_)).body);
  theirs.finish(kItem, {"s"});
  EXPECT_TRUE(theirs.answered(kItem, "s"));
}

TEST_F(SourcesTest, RemembersWhatItAnsweredAtAnotherInterval) {
  answers("{}");
  client_.refuse();
  interval_ = 1h;
  EXPECT_FALSE(look().body);
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s}) fails_after(pause);
  EXPECT_TRUE(look().stale);
  EXPECT_EQ(look().body, yaml("{}"));
}

TEST_F(SourcesTest, OneThatAnsweredAnotherQuestionHasTenMinutes) {
  answers("{}");
  client_.refuse();
  path_ = "/other";
  look();
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s, 96s, 192s}) {
    fails_after(pause);
    EXPECT_FALSE(look().stale);
  }
  rest();
  EXPECT_TRUE(sources_.answered(kItem, "s"));
  look();
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s, 96s, 192s, 300s}) fails_after(pause);
  EXPECT_TRUE(look().stale);
  EXPECT_FALSE(look().body) << "that was another one's";
  EXPECT_FALSE(sources_.answered(kItem, "s"));
}

TEST_F(SourcesTest, ForgetsANodeThatMayNotAskAgain) {
  answers("{}");
  sources_.begin();
  sources_.finish(kItem, {});
  EXPECT_FALSE(sources_.answered(kItem, "s"));
  client_.refuse();
  EXPECT_FALSE(look().body);
}

// As a program that takes its time to listen, whatever the interval is.
TEST_F(SourcesTest, IsAskedSoonUntilItHasAnswered) {
  interval_ = 1h;
  look();
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s, 96s, 192s, 300s, 300s}) fails_after(pause);
  client_.answer("{}");
  pass(300s);
  EXPECT_TRUE(soon([&] { return look().body == yaml("{}"); }));
}

TEST_F(SourcesTest, HasNoAnswerOnceItWasSilentForAMinute) {
  look();
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s}) {
    fails_after(pause);
    EXPECT_FALSE(look().stale);
    EXPECT_NE(look().failure, "");
  }
  fails_after(48s);
  EXPECT_TRUE(look().stale);
  EXPECT_FALSE(look().body);
  EXPECT_FALSE(sources_.answered(kItem, "s"));
}

// As where its account has no right to ask, or the API server is away.
TEST_F(SourcesTest, MayHaveAnAnswerAsLongAsNobodyReachesIt) {
  client_.refuse_to_forward();
  look();
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s, 96s}) {
    fails_after(pause);
    EXPECT_FALSE(look().stale);
    EXPECT_NE(look().failure, "");
  }
  client_.refuse();
  for (const Duration pause : {192s, 300s}) {
    fails_after(pause);
    EXPECT_FALSE(look().stale) << "one that failed itself says as little as at the beginning";
  }
  fails_after(300s);
  EXPECT_TRUE(look().stale);
  EXPECT_FALSE(look().body);
  client_.refuse_to_forward();
  fails_after(300s);
  EXPECT_TRUE(look().stale) << "it is known already";
}

TEST_F(SourcesTest, ItsLastAnswerStandsInAlsoWhereNobodyReachesIt) {
  answers("{}");
  rest();
  client_.refuse_to_forward();
  look();
  for (const Duration pause : {0s, 3s, 6s, 12s, 24s, 48s}) fails_after(pause);
  EXPECT_TRUE(look().stale);
  EXPECT_EQ(look().body, yaml("{}"));
}

TEST_F(SourcesTest, BelievesItsAnswerUntilThreeTriesInARowFail) {
  answers("{}");
  client_.refuse();
  fails_after(30s);
  fails_after(60s);
  EXPECT_FALSE(look().stale);
  fails_after(120s);
  EXPECT_TRUE(look().stale);
  EXPECT_EQ(look().body, yaml("{}"));
}

}  // namespace
}  // namespace mist::operator_
