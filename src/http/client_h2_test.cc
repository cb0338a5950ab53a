// The real Client against an HTTP/2 server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "http/client.h"
#include "http/unanswered.h"
#include "testing/certificates.h"
#include "testing/h2_server.h"

namespace mist::http {
namespace {

using mist::testing::CertifiedKey;
using mist::testing::H2Server;
using mist::testing::ServerTls;
using mist::testing::TestAuthority;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ClientH2 : public ::testing::Test {
 protected:
  ServerTls server_tls() const {
    const CertifiedKey pair = authority_.issue();
    return {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem, .client_ca_pem = {}};
  }
  ClientOptions options(std::size_t streams = 16) const {
    ClientOptions result;
    result.tls.ca_pem = authority_.certificate_pem();
    result.streams_per_connection = streams;
    return result;
  }
  Request request(std::string body, Repeat repeat = Repeat::Unsafe) const {
    return {.method = "POST", .url = server_.url(), .body = std::move(body), .repeat = repeat};
  }

  TestAuthority authority_;
  H2Server server_{server_tls()};
};

TEST_F(ClientH2, SpeaksHttp2WhereItIsOffered) {
  Client client(options());
  const auto response = client.send(request("echo me"), Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "echo me");
}

TEST_F(ClientH2, SendsABodyThatIsReadMeanwhile) {
  class Long final : public BodySource {
   public:
    std::uint64_t size() const override { return text_.size(); }
    Status read(std::uint64_t offset, std::span<char> to) const override {
      text_.copy(to.data(), to.size(), static_cast<std::size_t>(offset));
      return {};
    }

   private:
    std::string text_ = "gather 1 " + std::string(300'000, 'x');
  };
  Client client(options());
  Request upload = request({});
  upload.source = std::make_shared<Long>();
  const auto response = client.send(upload, Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->body, "together");
}

TEST_F(ClientH2, RequestsShareOneConnection) {
  Client client(options());
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&] {
        const auto response = client.send(request("gather 16"), Context());
        if (response.ok() && response->body == "together") ++good;
      });
  }
  EXPECT_EQ(good, 16);
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(ClientH2, MoreRequestsOpenMoreConnections) {
  Client client(options(4));
  std::stop_source stop;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] { (void)client.send(request("hang"), Context(stop.get_token())); });
  while (server_.requests() < 16) std::this_thread::yield();
  EXPECT_GT(server_.connections(), 1u);
  EXPECT_LE(server_.connections(), 4u);
  stop.request_stop();
}

TEST_F(ClientH2, ManyThreadsManyRequests) {
  Client client(options());
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 64; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 30; ++i) {
          const std::string body = fmt::format("echo {} {}", t, i);
          const auto response = client.send(request(body), Context());
          if (response.ok() && response->body == body) ++good;
        }
      });
  }
  EXPECT_EQ(good, 64 * 30);
}

TEST_F(ClientH2, GivingUpOneRequestLeavesTheOthersAlone) {
  Client client(options());
  std::stop_source stop;
  Result<Response> hanging = Response{};
  std::jthread thread([&] { hanging = client.send(request("hang"), Context(stop.get_token())); });
  while (server_.requests() == 0) std::this_thread::yield();
  stop.request_stop();
  thread.join();
  ASSERT_FALSE(hanging.ok());
  EXPECT_EQ(hanging.error().kind, ErrorKind::Cancelled);
  EXPECT_TRUE(client.send(request("echo"), Context()).ok());
  while (server_.cancelled() == 0) std::this_thread::yield();  // the server hears of it
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(ClientH2, GivingUpUnderLoadHarmsNobody) {
  Client client(options(8));
  std::atomic<int> cancelled{0}, answered{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 40; ++i) {
          std::stop_source stop;
          std::jthread stopper;
          const bool hang = (t + i) % 2 == 0;
          if (hang) stopper = std::jthread([&stop] { stop.request_stop(); });
          const auto response = client.send(request(hang ? "hang" : "echo"), Context(stop.get_token()));
          if (hang && !response.ok() && response.error().kind == ErrorKind::Cancelled) ++cancelled;
          if (!hang && response.ok() && response->body == "echo") ++answered;
        }
      });
  }
  EXPECT_EQ(cancelled, 16 * 20);
  EXPECT_EQ(answered, 16 * 20);
}

TEST_F(ClientH2, ResetStreamsAreRetryable) {
  Client client(options());
  for (const char* body : {"reset", "goaway"}) {
    const auto response = client.send(request(body), Context());
    ASSERT_FALSE(response.ok()) << body;
    EXPECT_EQ(response.error().kind, ErrorKind::Retryable) << response.error().to_line();
    EXPECT_THAT(response.error().message, EndsWith("; the server may have got the request"));
  }
}

TEST_F(ClientH2, RefusedStreamsEnd) {
  Client client(options());
  const auto response = client.send(request("refuse"), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable) << response.error().to_line();
}

TEST_F(ClientH2, AnAnswerThatStopsInTheMiddleEndsAtTheIdleTimeout) {
  Client client(options());
  Request part = request("part");
  part.idle_timeout = std::chrono::milliseconds(50);
  const auto response = client.send(part, Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
}

// As behind a load balancer that acknowledges everything, and passes on nothing any more.
TEST_F(ClientH2, AConnectionThatHangsIsGivenUpWithAllThatIsOnIt) {
  ClientOptions pinging = options();
  pinging.ping_after = std::chrono::milliseconds(30);
  pinging.ping_timeout = std::chrono::seconds(2);
  Client client(pinging);
  Result<Response> watch = Response{};
  std::string got;
  std::jthread watching([&] {
    watch = client.stream(
        request("part"),
        [&](std::string_view piece) {
          got += piece;
          return true;
        },
        Context());
  });
  while (server_.requests() < 1) std::this_thread::yield();
  const auto swallowed = client.send(request("swallow"), Context());
  watching.join();
  ASSERT_FALSE(swallowed.ok());
  EXPECT_EQ(swallowed.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(swallowed.error().message, HasSubstr("not even the answer to a ping"));
  EXPECT_TRUE(maybe_acted_on(swallowed.error()));
  EXPECT_TRUE(is_unanswered(swallowed.error()));
  ASSERT_FALSE(watch.ok());
  EXPECT_EQ(watch.error().kind, ErrorKind::Retryable);
  EXPECT_FALSE(is_unanswered(watch.error())) << "it had begun";
  const auto fresh = client.send(request("echo"), Context());
  EXPECT_TRUE(fresh.ok()) << fresh.error().to_line();
  EXPECT_GT(server_.connections(), 1u);
}

TEST_F(ClientH2, AQuietConnectionThatAnswersPingsIsKept) {
  ClientOptions pinging = options();
  // Longer than what the kernel's clock may be off: the silence before a ping isn't held against anybody.
  pinging.ping_after = std::chrono::milliseconds(300);
  pinging.ping_timeout = std::chrono::seconds(2);
  Client client(pinging);
  std::stop_source stop;
  Result<Response> quiet = Response{};
  std::atomic<bool> over{false};
  std::jthread thread([&] {
    quiet = client.send(request("hang"), Context(stop.get_token()));
    over = true;
  });
  // With the second one, the first was judged.
  while (server_.pings() < 2 && !over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(client.send(request("echo"), Context()).ok());
  stop.request_stop();
  thread.join();
  ASSERT_FALSE(quiet.ok());
  EXPECT_EQ(quiet.error().kind, ErrorKind::Cancelled) << quiet.error().to_line();
  EXPECT_EQ(server_.connections(), 1u);
}

// libcurl sends no ping on a connection whose streams all wait for their readers.
TEST_F(ClientH2, AConnectionWhoseOnlyReaderIsSlowIsKept) {
  ClientOptions pinging = options();
  pinging.ping_after = std::chrono::milliseconds(300);
  pinging.ping_timeout = std::chrono::seconds(1);
  Client client(pinging);
  std::atomic<bool> reading{false}, go_on{false};
  std::size_t got = 0;
  std::optional<Result<Response>> read;
  std::jthread reader([&] {
    read = client.stream(
        request("part"),
        [&](std::string_view piece) {
          reading = true;
          while (!go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return (got += piece.size()) <= std::size_t{1} << 20;
        },
        Context());
    reading = true;
  });
  while (!reading) std::this_thread::yield();
  EXPECT_TRUE(client.send(request("fill"), Context()).ok());
  // Long enough for a connection whose pings stay unanswered to be given up.
  std::this_thread::sleep_for(2 * (pinging.ping_after + pinging.ping_timeout));
  EXPECT_TRUE(client.send(request("echo"), Context()).ok());
  EXPECT_EQ(server_.connections(), 1u);
  go_on = true;
  reader.join();
  EXPECT_TRUE(read->ok()) << read->error().to_line();
  EXPECT_GT(got, std::size_t{1} << 20);
}

TEST_F(ClientH2, AConnectionThatBrokeIsNotUsedAgain) {
  Client client(options());
  ASSERT_FALSE(client.send(request("break"), Context()).ok());
  const auto next = client.send(request("echo"), Context());
  EXPECT_TRUE(next.ok()) << next.error().to_line();
  EXPECT_EQ(server_.connections(), 2u);
}

TEST_F(ClientH2, StreamsPiecesAndStopsWhenToldTo) {
  Client client(options());
  std::string got;
  const auto response = client.stream(
      request("part"),
      [&](std::string_view piece) {
        got += piece;
        return false;
      },
      Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(got, "part");
}

}  // namespace
}  // namespace mist::http
