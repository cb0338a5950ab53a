#include "http/client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <stop_token>
#include <thread>

#include "base/text.h"
#include "http/silent.h"
#include "http/unanswered.h"
#include "http/unstarted.h"
#include "testing/http_server.h"
#include "testing/server_socket.h"

namespace mist::http {
namespace {

using mist::testing::ClosedPort;
using mist::testing::HttpServer;
using mist::testing::ServerReply;
using mist::testing::ServerRequest;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Request get_request(std::string url) {
  Request request;
  request.url = std::move(url);
  return request;
}

Request post(std::string url, std::string body) {
  Request request = get_request(std::move(url));
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

void hang(const ServerRequest&, ServerReply& reply) { reply.hang(); }

TEST(Client, SendsMethodPathHeadersAndBody) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.respond(201, "made", {{"Content-Type", "text/plain"}, {"Warning", "299 - \"old\""}});
  });
  Client client({.user_agent = "test/1"});
  Request request = post(server.url("/a%2Fb/../c?x=1%20"), "the body");
  request.method = "PATCH";
  request.headers = {{"Content-Type", "application/apply-patch+yaml"}, {"X-Empty", ""}};
  request.authorization = SecretString("Bearer abc");
  const auto response = client.send(request, Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "made");
  EXPECT_EQ(find_header(response->headers, "WARNING"), "299 - \"old\"");

  const ServerRequest seen = server.requests().at(0);
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.target, "/a%2Fb/../c?x=1%20");
  EXPECT_EQ(seen.body, "the body");
  EXPECT_EQ(seen.header("content-type"), "application/apply-patch+yaml");
  EXPECT_EQ(seen.header("authorization"), "Bearer abc");
  EXPECT_EQ(seen.header("user-agent"), "test/1");
  EXPECT_EQ(seen.header("expect"), "");
}

TEST(Client, AnErrorThatRepeatsTheCredentialsDoesNotTellThem) {
  HttpServer server([](const ServerRequest& request, ServerReply& reply) {
    const int status = request.target == "/made" ? 200 : 401;
    reply.respond(
        status, fmt::format("who are you? you sent {}, or geheim:passwort", request.header("authorization")));
  });
  Client client({});
  Request request = get_request(server.url("/refused"));
  request.authorization = SecretString("Bearer abc.def.ghi");
  EXPECT_EQ(client.send(request, Context())->body, "who are you? you sent Bearer ***, or geheim:passwort");
  request.authorization = SecretString("Basic " + base64_encode("geheim:passwort"));
  EXPECT_EQ(client.send(request, Context())->body, "who are you? you sent Basic ***, or geheim:***");
  request.url = server.url("/made");
  EXPECT_THAT(client.send(request, Context())->body, HasSubstr(base64_encode("geheim:passwort")));
}

// The right to send may end while a request waits for its connection, or while the whole process is stopped.
TEST(Client, ARequestThatMayNoLongerBeSentWhenItsTurnComesIsNot) {
  std::latch held(1);
  std::atomic<bool> over = false;
  HttpServer server([&](const ServerRequest& request, ServerReply& reply) {
    if (request.target == "/first") held.wait();
    reply.respond(200, "done");
  });
  Client client({.max_connections = 1});
  auto first =
      std::async(std::launch::async, [&] { return client.send(post(server.url("/first"), "1"), Context()); });
  while (server.requests().empty()) std::this_thread::yield();
  const auto guard = [&]() -> Status {
    return over ? Status(error(ErrorKind::Conflict, "the lock ran out")) : Status();
  };
  Request guarded = post(server.url("/second"), "2");
  guarded.may_be_sent = guard;
  auto second = std::async(std::launch::async, [&] { return client.send(guarded, Context()); });
  // Until it waits for the connection; should it come later, it is refused as well.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  over = true;
  held.count_down();
  EXPECT_TRUE(first.get().ok());
  const auto refused = second.get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(refused.error().message, "the lock ran out");
  EXPECT_EQ(server.requests().size(), 1u);
}

// A server that doesn't read leaves most of a large body with us; who slept meanwhile must not send the rest.
TEST(Client, WhatIsLeftOfARequestIsNotSentOnceItsRightIsOver) {
  std::uint16_t port = 0;
  const UniqueFd listener = testing::bound_socket(port);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  Client client({});
  std::atomic<bool> over = false;
  const auto guard = [&]() -> Status {
    return over ? Status(error(ErrorKind::Conflict, "the lock ran out")) : Status();
  };
  constexpr std::size_t kBody = std::size_t{64} << 20;
  Request guarded = post(fmt::format("http://127.0.0.1:{}/", port), std::string(kBody, 'x'));
  guarded.may_be_sent = guard;
  auto sending = std::async(std::launch::async, [&] { return client.send(guarded, Context()); });
  const UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
  char byte = 0;
  ASSERT_EQ(::recv(peer.get(), &byte, 1, 0), 1);
  over = true;
  // As long as the I/O thread takes for a stop, even if a timer of libcurl wakes it once on the way.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::size_t received = 1;
  std::string buffer(std::size_t{1} << 20, '\0');
  while (true) {
    const auto got = ::recv(peer.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    received += static_cast<std::size_t>(got);
  }
  EXPECT_LT(received, kBody);
  const auto refused = sending.get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the lock ran out");
}

TEST(Client, EveryStatusIsAnAnswer) {
  HttpServer server([](const ServerRequest& request, ServerReply& reply) {
    reply.respond(std::stoi(request.target.substr(1)), "why");
  });
  Client client({});
  for (const int status : {200, 301, 400, 401, 404, 409, 429, 500, 503}) {
    const auto response = client.send(get_request(server.url(fmt::format("/{}", status))), Context());
    ASSERT_TRUE(response.ok()) << response.error().to_line();
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(response->body, "why");
  }
  EXPECT_EQ(server.connections(), 1u) << "the connection is used again";
}

TEST(Client, UnpacksCompressedAnswersWhenAllowed) {
  // "hello " twenty times, by gzip.
  constexpr char kPacked[] =
      "\037\213\010\000\000\000\000\000\002\003\313\110\315\311\311\127\310\240\073\011\000\057\372\370\110"
      "\170\000\000\000";
  HttpServer server([&](const ServerRequest& request, ServerReply& reply) {
    if (request.header("accept-encoding").find("gzip") == std::string_view::npos)
      return reply.respond(200, "plain");
    reply.respond(200, std::string_view(kPacked, sizeof kPacked - 1), {{"Content-Encoding", "gzip"}});
  });
  Client compressing({}), plain({.compression = false});
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "hello ";
  EXPECT_EQ(compressing.send(get_request(server.url()), Context())->body, expected);
  EXPECT_EQ(plain.send(get_request(server.url()), Context())->body, "plain");
  Request small = get_request(server.url());
  small.response_limit = 100;
  EXPECT_EQ(compressing.send(small, Context()).error().kind, ErrorKind::Invalid)
      << "the unpacked size counts";
}

TEST(Client, DeleteMayHaveABodyAndHeadHasNone) {
  HttpServer server([](const ServerRequest& request, ServerReply& reply) {
    if (request.method == "HEAD")
      reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\n");
    else
      reply.respond(200, request.method);
  });
  Client client({});
  Request request = post(server.url(), "{}");
  request.method = "DELETE";
  EXPECT_EQ(client.send(request, Context())->body, "DELETE");
  EXPECT_EQ(server.requests().at(0).body, "{}");
  request = get_request(server.url());
  request.method = "HEAD";
  const auto head = client.send(request, Context());
  ASSERT_TRUE(head.ok()) << head.error().to_line();
  EXPECT_EQ(find_header(head->headers, "x-a"), "b");
}

TEST(Client, PublicOnlyReachesNothingOnThisMachine) {
  std::atomic<int> asked = 0;
  HttpServer server([&](const ServerRequest&, ServerReply& reply) {
    ++asked;
    reply.respond(200);
  });
  Client client({});
  Request request{.url = server.url(), .public_only = true};
  const auto refused = [&] {
    const auto answer = client.send(request, Context());
    return !answer.ok() && answer.error().kind == ErrorKind::Forbidden;
  };
  EXPECT_TRUE(refused());
  request.url = fmt::format("http://localhost:{}/", server.port());
  EXPECT_TRUE(refused());
  EXPECT_EQ(asked, 0);
  // Nor on a connection that another request opened.
  EXPECT_TRUE(client.send({.url = server.url()}, Context()).ok());
  request.url = server.url();
  EXPECT_TRUE(refused());
  EXPECT_EQ(asked, 1);
  // A proxy is the user's choice, wherever it is; what it would be asked for isn't the user's.
  HttpServer proxy([&](const ServerRequest&, ServerReply& reply) { reply.respond(200); });
  Client through({.proxy_url = proxy.url()});
  EXPECT_TRUE(through.send({.url = "http://files.example.org/", .public_only = true}, Context()).ok());
  const auto inner = through.send({.url = "http://10.0.0.1/", .public_only = true}, Context());
  ASSERT_FALSE(inner.ok());
  EXPECT_EQ(inner.error().kind, ErrorKind::Forbidden);
  // Nor by an escape, which libcurl would take out.
  EXPECT_FALSE(through.send({.url = "http://10.0.0.%31/", .public_only = true}, Context()).ok());
  EXPECT_FALSE(through.send({.url = "http://a.loca%6c/", .public_only = true}, Context()).ok());
}

TEST(Client, NothingListens) {
  const ClosedPort closed;
  Client client({});
  const auto response =
      client.send(post(fmt::format("http://127.0.0.1:{}/x", closed.port()), "b"), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message,
              HasSubstr(fmt::format("nothing listens at 127.0.0.1:{}", closed.port())));
  EXPECT_TRUE(surely_not_sent(response.error()));
  EXPECT_FALSE(response.error().hint.empty());
}

TEST(Client, UnknownHostName) {
  Client client({});
  const auto response = client.send(get_request("http://no-such-host.invalid/"), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message, HasSubstr("no-such-host.invalid can't be resolved"));
  EXPECT_TRUE(surely_not_sent(response.error()));
}

TEST(Client, RequestsThatCanNotBeAreInvalid) {
  Client client({});
  EXPECT_EQ(client.send(get_request("ftp://x/"), Context()).error().kind, ErrorKind::Invalid);
  Request request = get_request("http://127.0.0.1:1/");
  request.headers = {{"X-A", "b\r\nX-Evil: c"}};
  EXPECT_EQ(client.send(request, Context()).error().kind, ErrorKind::Invalid);
  request = get_request("http://127.0.0.1:1/");
  request.authorization = SecretString("Bearer geheim\n");
  const auto response = client.send(request, Context());
  EXPECT_EQ(response.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(response.error().to_line(), Not(HasSubstr("geheim")));
  request = get_request("http://127.0.0.1:1/");
  request.method = "GE T";
  EXPECT_EQ(client.send(request, Context()).error().kind, ErrorKind::Invalid);
}

TEST(Client, GarbageIsNotAnAnswer) {
  HttpServer server(
      [](const ServerRequest&, ServerReply& reply) { reply.raw("220 smtp.example ESMTP\r\n"); });
  Client client({});
  const auto response = client.send(get_request(server.url()), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message, HasSubstr("does not speak HTTP"));
  EXPECT_FALSE(surely_not_sent(response.error()));
}

TEST(Client, ResetBeforeTheAnswer) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) { reply.reset(); });
  Client client({});
  const auto response = client.send(post(server.url(), "x"), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message, HasSubstr("broke before an answer came"));
  EXPECT_THAT(response.error().message, EndsWith("; the server may have got the request"));
}

TEST(Client, CutAndResetInTheMiddle) {
  HttpServer server([](const ServerRequest& request, ServerReply& reply) {
    if (request.target == "/length") reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12345");
    if (request.target == "/length") return;
    reply.begin_chunks();
    reply.chunk("12345");
    if (request.target == "/reset") reply.reset();
  });
  Client client({});
  for (const char* path : {"/length", "/chunked"}) {
    const auto response = client.send(get_request(server.url(path)), Context());
    ASSERT_FALSE(response.ok()) << path;
    EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
    EXPECT_THAT(response.error().message, HasSubstr("in the middle of the answer, after 5 bytes"));
  }
  // A reset may overtake the bytes before it.
  const auto response = client.send(get_request(server.url("/reset")), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
}

TEST(Client, HangingServerEndsAtTheIdleTimeout) {
  HttpServer server(hang);
  Client client({});
  Request request = post(server.url(), "x");
  request.idle_timeout = std::chrono::milliseconds(50);
  const auto response = client.send(request, Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message, HasSubstr("sent nothing for 0.05 s"));
  EXPECT_TRUE(is_silent(response.error()));
  EXPECT_FALSE(surely_not_sent(response.error()));
}

TEST(Client, DeadlineEndsAHang) {
  HttpServer server(hang);
  Client client({});
  const auto response =
      client.send(get_request(server.url()), Context().with_timeout(std::chrono::milliseconds(50)));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Timeout);
}

TEST(Client, StopEndsAHangFromAnotherThread) {
  std::promise<void> asked;
  HttpServer server([&](const ServerRequest&, ServerReply& reply) {
    asked.set_value();
    reply.hang();
  });
  Client client({});
  std::stop_source stop;
  std::jthread stopper([&] {
    asked.get_future().wait();
    stop.request_stop();
  });
  const auto response = client.send(get_request(server.url()), Context(stop.get_token()));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Cancelled);
}

// A caller that is stopped during a write still learns its outcome.
TEST(Client, TheAnswerToWhatWasSentIsWaitedForAfterAStop) {
  std::stop_source answers, hangs;
  HttpServer server([&](const ServerRequest& request, ServerReply& reply) {
    const bool hang_up = request.target == "/hangs";
    (hang_up ? hangs : answers).request_stop();
    if (hang_up) return reply.hang();
    reply.respond(201, "done");
  });
  Client client({});
  Request write = post(server.url("/answers"), "1");
  write.await_answer = std::chrono::minutes(5);
  const auto answered = client.send(write, Context(answers.get_token()));
  ASSERT_TRUE(answered.ok()) << answered.error().to_line();
  EXPECT_EQ(answered->status, 201);

  write.url = server.url("/hangs");
  write.await_answer = std::chrono::milliseconds(20);
  const auto unanswered = client.send(write, Context(hangs.get_token()));
  ASSERT_FALSE(unanswered.ok());
  EXPECT_EQ(unanswered.error().kind, ErrorKind::Cancelled);
  EXPECT_TRUE(maybe_acted_on(unanswered.error())) << unanswered.error().to_line();

  const auto late = client.send(write, Context().with_timeout(std::chrono::milliseconds(500)));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::Timeout);
  EXPECT_TRUE(maybe_acted_on(late.error())) << late.error().to_line();
}

// Its only connection belongs to a request that isn't answered before `held` is counted down.
struct ClientInUse : ::testing::Test {
  ClientInUse() {
    while (server.requests().empty()) std::this_thread::yield();
  }

  std::latch held{1};
  HttpServer server{[this](const ServerRequest&, ServerReply& reply) {
    held.wait();
    reply.respond(200, "done");
  }};
  Client client{{.max_connections = 1}};
  std::future<Result<Response>> first = std::async(
      std::launch::async, [this] { return client.send(post(server.url("/first"), "1"), Context()); });
};

TEST_F(ClientInUse, WhatWasNotSentBeforeAStopIsNotWaitedFor) {
  std::stop_source stop;
  Request write = post(server.url("/second"), "2");
  write.await_answer = std::chrono::minutes(5);
  auto second = std::async(std::launch::async, [&] { return client.send(write, Context(stop.get_token())); });
  stop.request_stop();
  const auto stopped = second.get();
  held.count_down();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::Cancelled);
  EXPECT_FALSE(maybe_acted_on(stopped.error())) << stopped.error().to_line();
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(ClientInUse, ADeadlineInTheQueueSaysThatNoConnectionBecameFree) {
  const auto late =
      client.send(post(server.url("/second"), "2"), Context().with_timeout(std::chrono::milliseconds(50)));
  held.count_down();
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(late.error().because, HasSubstr("became free"));
  EXPECT_TRUE(is_unstarted(late.error()));
  EXPECT_TRUE(first.get().ok());
}

TEST(Client, StoppedBeforeItBeganSendsNothing) {
  HttpServer server(hang);
  Client client({});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client.send(get_request(server.url()), Context(stop.get_token())).error().kind,
            ErrorKind::Cancelled);
  EXPECT_EQ(server.connections(), 0u);
}

TEST(Client, TheAnswerHasALimit) {
  HttpServer server([](const ServerRequest&, ServerReply& reply) {
    reply.begin_chunks();
    while (reply.raw("4\r\nmore\r\n")) {
    }
  });
  Client client({});
  Request request = get_request(server.url());
  request.response_limit = 1000;
  const auto response = client.send(request, Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(response.error().message, HasSubstr("1000 bytes"));
}

TEST(Client, LargeBodiesInBothDirections) {
  HttpServer server(
      [](const ServerRequest& request, ServerReply& reply) { reply.respond(200, request.body); });
  Client client({});
  std::string body(5'000'000, 'x');
  for (std::size_t i = 0; i < body.size(); i += 7) body[i] = static_cast<char>('a' + i % 26);
  const auto response = client.send(post(server.url(), body), Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_TRUE(response->body == body);
}

// The connection was used once and dies under the second request. A POST that may have arrived must not be
// sent again by anybody but the caller.
TEST(Client, DoesNotRepeatAnUnsafeRequestOnAFreshConnection) {
  std::atomic<int> posts{0};
  HttpServer server([&](const ServerRequest& request, ServerReply& reply) {
    if (request.method == "GET") return reply.respond(200, "ok");
    if (++posts == 1) return;  // got it, then dies
    reply.respond(200, "twice");
  });
  Client client({});
  ASSERT_TRUE(client.send(get_request(server.url()), Context()).ok());
  const auto response = client.send(post(server.url(), "once"), Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_THAT(response.error().message, EndsWith("; the server may have got the request"));
  EXPECT_EQ(posts, 1);
}

// A watch is one: the server that takes the fresh connection may know less than the one before.
TEST(Client, DoesNotRepeatWhatOnlyItsSenderRepeats) {
  std::atomic<int> watches{0};
  HttpServer server([&](const ServerRequest& request, ServerReply& reply) {
    if (request.target != "/watch") return reply.respond(200, "ok");
    if (++watches == 1) return;  // got it, then dies
    reply.respond(200, "twice");
  });
  Client client({});
  ASSERT_TRUE(client.send(get_request(server.url()), Context()).ok());
  Request watch = get_request(server.url("/watch"));
  watch.repeat = Repeat::Never;
  const auto response = client.send(watch, Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Retryable);
  EXPECT_TRUE(is_unanswered(response.error()));
  EXPECT_EQ(watches, 1);
}

TEST(Client, ManyThreadsManyRequests) {
  HttpServer server(
      [](const ServerRequest& request, ServerReply& reply) { reply.respond(200, request.body); });
  Client client({.max_connections = 8});
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 64; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          const std::string body = fmt::format("{}-{}", t, i);
          const auto response = client.send(post(server.url(), body), Context());
          if (response.ok() && response->body == body) ++good;
        }
      });
  }
  EXPECT_EQ(good, 64 * 20);
  EXPECT_LE(server.connections(), 8u);
}

// select() knows only the first 1,024 descriptors.
TEST(Client, AProcessWithManyDescriptors) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  constexpr rlim_t kWanted = 1200;
  if (limit.rlim_max < kWanted) GTEST_SKIP() << "this system allows no more descriptors";
  const rlimit before = limit;
  limit.rlim_cur = std::max(limit.rlim_cur, kWanted);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<int> taken;
  for (int fd = -1; fd < FD_SETSIZE; taken.push_back(fd)) ASSERT_GE(fd = ::open("/dev/null", O_CLOEXEC), 0);
  {
    HttpServer server([](const ServerRequest&, ServerReply& reply) { reply.respond(200, "here"); });
    Client client({});
    const auto response = client.send(get_request(server.url()), Context());
    ASSERT_TRUE(response.ok()) << response.error().to_line();
    EXPECT_EQ(response->body, "here");
  }
  for (const int fd : taken) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Client, ClosingItEndsRunningRequests) {
  std::latch asked(1);
  HttpServer server([&](const ServerRequest&, ServerReply& reply) {
    asked.count_down();
    reply.hang();
  });
  auto client = std::make_unique<Client>(ClientOptions{});
  auto answer =
      std::async(std::launch::async, [&] { return client->send(get_request(server.url()), Context()); });
  asked.wait();
  client.reset();
  const auto response = answer.get();
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Cancelled);
}

}  // namespace
}  // namespace mist::http
