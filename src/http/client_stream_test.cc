// Client::stream: bodies that are handed on while they arrive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "http/client.h"
#include "testing/certificates.h"
#include "testing/http_server.h"

namespace mist::http {
namespace {

using mist::testing::HttpServer;
using mist::testing::ServerReply;
using mist::testing::ServerRequest;
using ::testing::HasSubstr;

Request get(std::string url) { return {.url = std::move(url)}; }

TEST(ClientStream, HandsPiecesOnInTheCallersThread) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks(200, {{"X-A", "b"}});
    reply.chunk("one\n");
    reply.chunk("two\n");
    reply.end_chunks();
  });
  Client client({});
  std::string got;
  bool same_thread = true;
  const auto caller = std::this_thread::get_id();
  const auto response = client.stream(
      get(server.url()),
      [&](std::string_view piece) {
        got += piece;
        same_thread = same_thread && std::this_thread::get_id() == caller;
        return true;
      },
      Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(got, "one\ntwo\n");
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(find_header(response->headers, "x-a"), "b");
  EXPECT_EQ(response->body, "");
  EXPECT_TRUE(same_thread);
}

TEST(ClientStream, EachPieceComesWithoutWaitingForTheNext) {
  std::atomic<int> seen{0};
  HttpServer server([&](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks();
    for (int i = 1; i <= 5; ++i) {
      reply.chunk("line\n");
      while (seen < i) std::this_thread::yield();
    }
    reply.end_chunks();
  });
  Client client({});
  const auto response = client.stream(
      get(server.url()),
      [&](std::string_view) {
        ++seen;
        return true;
      },
      Context());
  EXPECT_TRUE(response.ok());
}

TEST(ClientStream, RefusalsHaveABodyAndNoPieces) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) { reply.respond(410, "too old"); });
  Client client({});
  bool called = false;
  const auto response =
      client.stream(get(server.url()), [&](std::string_view) { return called = true; }, Context());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 410);
  EXPECT_EQ(response->body, "too old");
  EXPECT_FALSE(called);
}

TEST(ClientStream, AReaderMayEndIt) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks(200, {{"X-A", "b"}});
    reply.chunk("enough");
    reply.hang();
  });
  Client client({});
  const auto response = client.stream(get(server.url()), [](std::string_view) { return false; }, Context());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(find_header(response->headers, "x-a"), "b");
}

TEST(ClientStream, ACutComesAfterThePiecesBeforeIt) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks();
    reply.chunk("first");
    reply.raw("64\r\nonly a part");
  });
  Client client({});
  std::string got;
  const auto response = client.stream(
      get(server.url()),
      [&](std::string_view piece) {
        got += piece;
        return true;
      },
      Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message, HasSubstr("in the middle of the answer"));
  EXPECT_EQ(got, "firstonly a part");
}

TEST(ClientStream, SilenceEndsAtTheIdleTimeout) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks();
    reply.chunk("first");
    reply.hang();
  });
  Client client({});
  Request request = get(server.url());
  request.idle_timeout = std::chrono::milliseconds(50);
  const auto response = client.stream(request, [](std::string_view) { return true; }, Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
}

TEST(ClientStream, StopEndsASilentStream) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks();
    reply.chunk("first");
    reply.hang();
  });
  Client client({});
  std::stop_source stop;
  const auto response = client.stream(
      get(server.url()),
      [&](std::string_view) {
        std::thread([&] { stop.request_stop(); }).detach();
        return true;
      },
      Context(stop.get_token()));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Cancelled);
}

// While the reader is busy the server sends as much as it can; at most one window of that may wait in memory.
TEST(ClientStream, ASlowReaderHoldsTheServerBack) {
  constexpr std::size_t kChunks = 48;
  const std::string chunk(std::size_t{1} << 20, 'x');
  std::atomic<bool> sent_all{false};
  HttpServer server([&](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks();
    for (std::size_t i = 0; i < kChunks; ++i) reply.chunk(chunk);
    sent_all = true;
    reply.end_chunks();
  });
  Client client({});
  std::size_t total = 0, largest = 0;
  const auto response = client.stream(
      get(server.url()),
      [&](std::string_view piece) {
        // Long enough for a client without a window to swallow everything.
        for (int i = 0; i < 200 && total == 0 && !sent_all; ++i)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        total += piece.size();
        largest = std::max(largest, piece.size());
        return true;
      },
      Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(total, kChunks << 20);
  EXPECT_LT(largest, std::size_t{2} << 20);
}

// Two streams on a server of HTTP/1.1, and a request beside them.
void expect_three_at_once(std::optional<mist::testing::ServerTls> tls, ClientOptions options) {
  HttpServer server(
      [&](const ServerRequest& request, ServerReply& reply) {
        if (request.target != "/watch") return reply.respond(200, "ok");
        reply.begin_chunks();
        reply.chunk("line\n");
        reply.hang();
      },
      std::move(tls));
  options.max_connections = 2;
  Client client(std::move(options));
  std::stop_source stop;
  std::atomic<int> begun{0}, open{0};
  std::vector<std::jthread> watches;
  for (int i = 0; i < 2; ++i)
    watches.emplace_back([&] {
      const auto watch = client.stream(
          get(server.url("/watch")), [&](std::string_view) { return ++open, ++begun, true; },
          Context(stop.get_token()));
      if (!watch.ok() && watch.error().kind != ErrorKind::Cancelled) ++begun;
    });
  while (begun < 2) std::this_thread::yield();
  EXPECT_EQ(open, 2);
  const auto response =
      client.send(get(server.url("/other")), Context().with_timeout(std::chrono::seconds(20)));
  EXPECT_TRUE(response.ok()) << response.error().to_line();
  stop.request_stop();
}

TEST(ClientStream, StreamsTakeNoConnectionFromOtherRequests) { expect_three_at_once(std::nullopt, {}); }

// They wait for the first connection, which could have been one for all.
TEST(ClientStream, RequestsThatWaitedForHttp2GoOnWithoutIt) {
  const mist::testing::TestAuthority authority;
  const mist::testing::CertifiedKey pair = authority.issue();
  ClientOptions options;
  options.tls.ca_pem = authority.certificate_pem();
  for (int i = 0; i < 10; ++i)
    expect_three_at_once(mist::testing::ServerTls{pair.certificate_pem, pair.key_pem, {}}, options);
}

TEST(ClientStream, ManyStreamsAtOnce) {
  HttpServer server([](const ServerRequest& request, ServerReply& reply) {
    reply.begin_chunks();
    for (int i = 0; i < 100; ++i) reply.chunk(request.target);
    reply.end_chunks();
  });
  Client client({});
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 32; ++t)
      threads.emplace_back([&, t] {
        std::string got, expected;
        for (int i = 0; i < 100; ++i) expected += fmt::format("/{}", t);
        const auto response = client.stream(
            get(server.url(fmt::format("/{}", t))),
            [&](std::string_view piece) {
              got += piece;
              return true;
            },
            Context());
        if (response.ok() && got == expected) ++good;
      });
  }
  EXPECT_EQ(good, 32);
}

}  // namespace
}  // namespace mist::http
