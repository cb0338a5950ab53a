#include "http/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <numeric>

#include "http/silent.h"
#include "testing/fake_clock.h"
#include "testing/fake_transport.h"
#include "testing/recorded_events.h"

namespace mist::http {
namespace {

using mist::testing::FakeClock;
using mist::testing::FakeRandom;
using mist::testing::FakeTransport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

class Retry : public ::testing::Test {
 protected:
  static Request request(Repeat repeat) {
    Request result;
    result.method = repeat == Repeat::Safe ? "GET" : "POST";
    result.url = "https://api.example/x";
    result.repeat = repeat;
    return result;
  }
  Result<Response> send(Repeat repeat, const Context& context = Context()) {
    return retrying_.send(request(repeat), context);
  }
  static Error broken() { return undelivered(Sent::Maybe, "the connection broke"); }
  static Error refused() { return undelivered(Sent::Nothing, "nothing listens"); }
  RetryOptions options() {
    RetryOptions result;
    result.tracer = [this](const RequestTrace& trace) { traces_.push_back(trace); };
    return result;
  }

  FakeTransport inner_;
  FakeClock clock_;
  FakeRandom random_;
  testing::RecordedEvents events_;
  std::vector<RequestTrace> traces_;
  RetryingTransport retrying_{inner_, clock_, random_, events_, options()};
};

TEST_F(Retry, GoodAnswersAndOrdinaryRefusalsAreFinal) {
  for (const int status : {200, 201, 301, 400, 401, 403, 404, 409, 410, 422, 501}) {
    inner_.reply(status);
    EXPECT_EQ(send(Repeat::Safe)->status, status);
  }
  EXPECT_EQ(inner_.count(), 11u);
  EXPECT_THAT(clock_.sleeps(), IsEmpty());
}

TEST_F(Retry, WaitsAsLongAsTheServerAsks) {
  inner_.reply(429, "", {{"retry-after", "3"}}).reply(201);
  EXPECT_EQ(send(Repeat::Unsafe)->status, 201) << "429 says that nothing was done, so a POST goes again";
  EXPECT_GE(clock_.slept(), 3s);
  EXPECT_LT(clock_.slept(), 3200ms);
  EXPECT_THAT(events_.messages, ElementsAre("the API server asks to wait 3 s (429)"));
}

TEST_F(Retry, RepeatsNothingThatTheContextsGuardForbidsMeanwhile) {
  inner_.reply(429, "", {{"Retry-After", "3"}}).reply(201);
  const SteadyTime begin = clock_.steady_now();
  const Context held = Context().with_guard([&]() -> Status {
    if (clock_.steady_now() - begin < 1s) return {};
    return error(ErrorKind::Conflict, "the lock ran out");
  });
  const auto result = send(Repeat::Unsafe, held);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "the lock ran out");
  EXPECT_EQ(inner_.count(), 1u);
}

TEST_F(Retry, WaitsUntilADate) {
  inner_.reply(503, "", {{"Retry-After", "Sun, 01 Mar 2026 09:30:07 GMT"}}).reply(200);
  EXPECT_EQ(send(Repeat::Unsafe)->status, 200);
  EXPECT_GE(clock_.slept(), 7s);
  EXPECT_LT(clock_.slept(), 8s);
}

TEST_F(Retry, TenSecondsOf429Succeed) {
  for (const bool with_header : {true, false}) {
    const WallTime until = clock_.now() + 10s;
    inner_.otherwise([&](const Request&, const Context&) {
      if (clock_.now() >= until) return Response{.status = 200, .headers = {}, .body = {}};
      Response later{.status = 429, .headers = {}, .body = {}};
      if (with_header) later.headers = {{"Retry-After", "1"}};
      return later;
    });
    EXPECT_EQ(send(Repeat::Unsafe)->status, 200);
  }
  EXPECT_LE(events_.messages.size(), 6u) << "one sentence in five seconds is enough";
  EXPECT_THAT(events_.messages, Not(IsEmpty()));
}

TEST_F(Retry, ForeverBusyServerGivesItsLastAnswer) {
  inner_.otherwise([](const Request&, const Context&) {
    return Response{.status = 429, .headers = {{"Retry-After", "2"}}, .body = "still busy"};
  });
  const auto result = send(Repeat::Safe);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->status, 429);
  EXPECT_EQ(result->body, "still busy");
  EXPECT_LE(clock_.slept(), RetryOptions().patience);
}

TEST_F(Retry, ServerErrorsOnlyRepeatWhatIsSafe) {
  for (const int status : {500, 502, 503, 504}) {
    inner_.reply(status).reply(200);
    EXPECT_EQ(send(Repeat::Safe)->status, 200);
    inner_.reply(status);
    EXPECT_EQ(send(Repeat::Unsafe)->status, status);
  }
  EXPECT_EQ(inner_.count(), 12u);
}

TEST_F(Retry, BrokenConnectionsOnlyRepeatWhatIsSafeOrWasNotSent) {
  inner_.fail(broken()).reply(200);
  EXPECT_EQ(send(Repeat::Safe)->status, 200);
  inner_.fail(refused()).reply(200);
  EXPECT_EQ(send(Repeat::Unsafe)->status, 200);
  inner_.fail(broken());
  const auto result = send(Repeat::Unsafe);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, broken().message);
  EXPECT_EQ(inner_.count(), 5u);
}

TEST_F(Retry, TheSenderHearsOfEachOutageWhereOnlyItRepeats) {
  inner_.fail(refused());
  EXPECT_TRUE(surely_not_sent(send(Repeat::Never).error()));
  EXPECT_FALSE(inner_.requests()[0].connect_timeout) << "no second attempt would have more time";
  for (const int status : {429, 503}) {
    inner_.reply(status, "", {{"Retry-After", "1"}});
    EXPECT_EQ(send(Repeat::Never)->status, status);
  }
  EXPECT_EQ(inner_.count(), 3u);
  EXPECT_THAT(clock_.sleeps(), IsEmpty());
}

TEST_F(Retry, AWrongAddressIsReportedQuickly) {
  inner_.otherwise([](const Request&, const Context&) -> Result<Response> { return refused(); });
  const auto result = send(Repeat::Safe);
  ASSERT_FALSE(result.ok());
  EXPECT_LT(clock_.slept(), 1s);
  EXPECT_GT(inner_.count(), 1u);
  EXPECT_THAT(result.error().to_line(), HasSubstr(fmt::format("after {} attempts", inner_.count())));
}

TEST_F(Retry, SilenceIsToldAfterAShortFirstAttemptAndEndsWithTheSecond) {
  inner_.otherwise([&](const Request& request, const Context&) -> Result<Response> {
    clock_.advance(request.connect_timeout.value_or(15s));
    return undelivered(Sent::Nothing, "api.example did not complete a connection");
  });
  ASSERT_FALSE(send(Repeat::Unsafe).ok());
  ASSERT_EQ(inner_.count(), 2u);
  EXPECT_EQ(inner_.requests()[0].connect_timeout, RetryOptions::kFirstConnect);
  EXPECT_EQ(inner_.requests()[1].connect_timeout, std::nullopt);
  EXPECT_THAT(events_.messages,
              ::testing::ElementsAre("api.example did not complete a connection; trying once more"));
}

// Accepts what is sent and gives no answer before somebody was told so.
class Hanging final : public Transport {
 public:
  explicit Hanging(std::latch& told) : told_(told) {}
  Result<Response> send(const Request&, const Context&) override {
    told_.wait();
    return Response{.status = 200, .headers = {}, .body = {}};
  }
  Result<Response> stream(const Request& request, const BodyPiece&, const Context& context) override {
    return send(request, context);
  }

 private:
  std::latch& told_;
};

TEST_F(Retry, AServerThatTakesTheRequestAndHangsIsNamed) {
  class Told final : public EventSink {
   public:
    void message(const Message& event) override {
      text = event.text;
      once.count_down();
    }
    void began(const ActivityBegan&) override {}
    void ended(const ActivityEnded&) override {}
    void object(const ObjectProgress&) override {}
    std::string text;
    std::latch once{1};
  } told;
  Hanging hanging(told.once);
  RetryOptions impatient = options();
  impatient.first_silence = 1ms;
  RetryingTransport retrying(hanging, clock_, random_, told, impatient);
  EXPECT_TRUE(retrying.send(request(Repeat::Safe), Context()).ok());
  EXPECT_EQ(told.text, "the API server at https://api.example has not answered for 0 s");
}

TEST_F(Retry, AServerThatAnsweredHasTheClientsTimeToConnectAgain) {
  inner_.reply(200);
  ASSERT_TRUE(send(Repeat::Safe).ok());
  inner_.reply(200);
  ASSERT_TRUE(send(Repeat::Safe).ok());
  EXPECT_EQ(inner_.requests()[1].connect_timeout, std::nullopt);
}

TEST_F(Retry, AServerThatAnsweredOnceIsWaitedForLonger) {
  inner_.reply(200);
  ASSERT_TRUE(send(Repeat::Safe).ok());
  const WallTime back = clock_.now() + 10s;
  inner_.otherwise([&](const Request&, const Context&) -> Result<Response> {
    if (clock_.now() < back) return refused();
    return Response{.status = 200, .headers = {}, .body = {}};
  });
  EXPECT_TRUE(send(Repeat::Unsafe).ok());
  EXPECT_THAT(events_.messages, Not(IsEmpty()));
  EXPECT_THAT(events_.messages.front(), HasSubstr("trying the API server again in"));
  EXPECT_THAT(events_.messages.front(), HasSubstr(": nothing listens"));
  EXPECT_THAT(events_.messages.front(), Not(HasSubstr("sent")));
}

TEST_F(Retry, SilenceOfAServerThatAnsweredIsWaitedForOnce) {
  Duration silence = 60s;
  inner_.otherwise([&](const Request&, const Context&) -> Result<Response> {
    clock_.advance(silence);
    return undelivered(Sent::Maybe, "api.example sent nothing").with_detail(Silent());
  });
  // It answered an earlier request, or the first attempt.
  inner_.reply(200);
  ASSERT_TRUE(send(Repeat::Safe).ok());
  EXPECT_TRUE(is_silent(send(Repeat::Safe).error()));
  EXPECT_EQ(inner_.count(), 2u);
  inner_.reply(502);
  EXPECT_TRUE(is_silent(send(Repeat::Safe).error()));
  EXPECT_EQ(inner_.count(), 4u);
  // A request that gives up soon may be sent again.
  silence = 10s;
  EXPECT_FALSE(send(Repeat::Safe).ok());
  EXPECT_EQ(inner_.count(), 7u);
}

TEST_F(Retry, AnAnswerOfOneServerIsNoReasonToWaitForAnother) {
  inner_.reply(200);
  ASSERT_TRUE(send(Repeat::Safe).ok());
  inner_.otherwise([](const Request&, const Context&) -> Result<Response> { return refused(); });
  Request elsewhere = request(Repeat::Safe);
  elsewhere.url = "https://other.example/x";
  EXPECT_FALSE(retrying_.send(elsewhere, Context()).ok());
  EXPECT_LE(clock_.slept(), RetryOptions::kFirstContactPatience);
}

TEST_F(Retry, AServerThatStaysAwayIsWaitedForOnce) {
  inner_.reply(200);
  EXPECT_TRUE(send(Repeat::Safe).ok());
  inner_.otherwise([](const Request&, const Context&) -> Result<Response> { return refused(); });
  EXPECT_FALSE(send(Repeat::Safe).ok());
  EXPECT_GT(clock_.slept(), 10s);
  const Duration before = clock_.slept();
  EXPECT_FALSE(send(Repeat::Safe).ok());
  EXPECT_LE(clock_.slept() - before, RetryOptions::kFirstContactPatience) << "it is still away";
  inner_.otherwise([](const Request&, const Context&) -> Result<Response> {
    return Response{.status = 200, .headers = {}, .body = {}};
  });
  EXPECT_TRUE(send(Repeat::Safe).ok());
  inner_.otherwise([](const Request&, const Context&) -> Result<Response> { return refused(); });
  const Duration back = clock_.slept();
  EXPECT_FALSE(send(Repeat::Safe).ok());
  EXPECT_GT(clock_.slept() - back, 10s) << "it was back meanwhile";
}

TEST_F(Retry, WaitsGrowAndAreNotAllTheSame) {
  inner_.reply(200);
  ASSERT_TRUE(send(Repeat::Safe).ok());
  inner_.otherwise([](const Request&, const Context&) -> Result<Response> { return broken(); });
  EXPECT_FALSE(send(Repeat::Safe).ok());
  const std::vector<Duration> waits = clock_.sleeps();
  ASSERT_GE(waits.size(), 5u);
  Duration full = RetryOptions().first_wait;
  for (const Duration wait : waits) {
    EXPECT_GE(wait, full / 2);
    EXPECT_LE(wait, full);
    full = std::min<Duration>(full * 2, RetryOptions::kLongestWait);
  }
}

TEST_F(Retry, FinalErrorsAreFinal) {
  for (const ErrorKind kind : {ErrorKind::Forbidden, ErrorKind::Invalid, ErrorKind::Timeout,
                               ErrorKind::Cancelled, ErrorKind::Internal}) {
    inner_.fail(error(kind, "no"));
    EXPECT_EQ(send(Repeat::Safe).error().kind, kind);
  }
  EXPECT_EQ(inner_.count(), 5u);
}

TEST_F(Retry, DoesNotWaitForWhatTheDeadlineForbids) {
  inner_.reply(429, "busy", {{"Retry-After", "30"}});
  const auto result = send(Repeat::Safe, Context().with_timeout(5s));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->status, 429);
  EXPECT_THAT(clock_.sleeps(), IsEmpty());
}

TEST_F(Retry, StopEndsTheWait) {
  std::stop_source stop;
  inner_.next([&](const Request&, const Context&) {
    stop.request_stop();
    return Response{.status = 429, .headers = {}, .body = {}};
  });
  const auto result = send(Repeat::Safe, Context(stop.get_token()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
}

TEST_F(Retry, AStopAfterALostAnswerSaysThatTheServerMayActOnTheRequest) {
  std::stop_source stop;
  inner_.next([&](const Request&, const Context&) -> Result<Response> {
    stop.request_stop();
    return broken();
  });
  Request write = request(Repeat::Safe);
  write.await_answer = 5s;
  const auto result = retrying_.send(write, Context(stop.get_token()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Cancelled);
  EXPECT_TRUE(maybe_acted_on(result.error())) << result.error().to_line();
}

TEST_F(Retry, StreamsRepeatOnlyUntilTheFirstPiece) {
  std::vector<std::string> seen;
  const BodyPiece keep = [&](std::string_view piece) {
    seen.emplace_back(piece);
    return true;
  };
  inner_.reply(503).fail(broken()).reply_pieces({"a", "b"}, broken());
  const auto result = retrying_.stream(request(Repeat::Safe), keep, Context());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, broken().message);
  EXPECT_THAT(seen, ElementsAre("a", "b"));
  EXPECT_EQ(inner_.count(), 3u);
}

TEST_F(Retry, TracesEachAttemptWithoutSecrets) {
  inner_.fail(refused()).reply(200);
  Request secret = request(Repeat::Safe);
  secret.url = "https://user:geheim@api.example/x?labelSelector=a&sig=geheim";
  secret.authorization = SecretString("Bearer geheim");
  secret.body = "geheim";
  ASSERT_TRUE(retrying_.send(secret, Context()).ok());
  ASSERT_EQ(traces_.size(), 2u);
  EXPECT_EQ(traces_[0].status, 0);
  EXPECT_THAT(traces_[0].problem, HasSubstr("nothing listens"));
  EXPECT_EQ(traces_[1].status, 200);
  EXPECT_EQ(traces_[1].attempt, 2);
  EXPECT_EQ(traces_[1].method, "GET");
  EXPECT_EQ(traces_[1].url, "https://api.example/x?labelSelector=a&sig=***");
}

TEST(ParseRetryAfter, SecondsAndDates) {
  const WallTime now = WallTime(1772357400s);  // 2026-03-01T09:30:00Z
  EXPECT_EQ(parse_retry_after("0", now), Duration(0s));
  EXPECT_EQ(parse_retry_after(" 120 ", now), Duration(120s));
  EXPECT_EQ(parse_retry_after("Sun, 01 Mar 2026 09:31:00 GMT", now), Duration(60s));
  EXPECT_EQ(parse_retry_after("Sun, 01 Mar 2026 09:29:00 GMT", now), Duration(0s)) << "over already";
  EXPECT_EQ(parse_retry_after("99999999999999999999999", now), Duration(24h)) << "bounded";
  for (const char* bad : {"", "-1", "soon", "1.5", "1 s", "Sun, 01 Foo 2026 09:29:00 GMT",
                          "Sun, 01 Mar 2026 09:29:00 CET", "Sunday, 01-Mar-26 09:29:00 GMT"})
    EXPECT_EQ(parse_retry_after(bad, now), std::nullopt) << bad;
}

}  // namespace
}  // namespace mist::http
