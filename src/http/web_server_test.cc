#include "http/web_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <thread>
#include <vector>

#include "testing/raw_connection.h"

namespace mist::http {
namespace {

using namespace std::chrono_literals;
using mist::testing::read_all;
using mist::testing::send_all;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

WebAnswer echo(const WebRequest& request) {
  if (request.path == "/slow") std::this_thread::sleep_for(300ms);
  return {.body = request.method + " " + request.path + " [" + request.query + "] " + request.body + "\n",
          .headers = {{"X-Peer", request.peer}}};
}

std::unique_ptr<WebServer> web_server(WebServerOptions options = {}, HandleWeb handle = echo) {
  auto server = WebServer::listen("127.0.0.1:0", options, std::move(handle));
  EXPECT_TRUE(server.ok()) << server.error().to_line();
  return *std::move(server);
}

UniqueFd connect_to(const std::string& address) {
  UniqueFd fd = mist::testing::connect_to(address);
  EXPECT_TRUE(fd);
  return fd;
}

std::string answer_to(const WebServer& server, std::string_view request) {
  const UniqueFd fd = connect_to(server.address());
  send_all(fd, request);
  return read_all(fd);
}

TEST(WebServer, HandsOverMethodPathQueryAndBody) {
  const auto server = web_server();
  const std::string answer = answer_to(
      *server, "POST /a/b?q=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("X-Peer: 127.0.0.1\r\n"),
                            HasSubstr("\r\n\r\nPOST /a/b [q=1] hello\n")));
  EXPECT_THAT(answer_to(*server,
                        "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: "
                        "close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
              HasSubstr("POST /c [] abc\n"));
  const std::string head = answer_to(*server, "HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, AllOf(HasSubstr("Content-Length: 12\r\n"), Not(HasSubstr("HEAD /a"))));
  const auto sized = web_server({}, [](const WebRequest&) { return WebAnswer{.length = 70'000}; });
  EXPECT_THAT(answer_to(*sized, "HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              HasSubstr("Content-Length: 70000\r\n"));
  EXPECT_THAT(answer_to(*sized, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              HasSubstr("Content-Length: 0\r\n"));
}

// A proxy that passes them on writes its own X-Forwarded-For before them.
TEST(WebServer, TrailersAreNoHeaders) {
  const auto server = web_server({}, [](const WebRequest& request) {
    std::string body = request.body;
    for (const Header& header : request.headers) body += "|" + header.name + "=" + header.value;
    return WebAnswer{.body = body};
  });
  EXPECT_THAT(
      answer_to(
          *server,
          "POST / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3\r\nabc\r\n0\r\nX-Forwarded-For: 203.0.113.9\r\nX-Other: x\r\n\r\n"
          "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
      AllOf(HasSubstr("abc|Host=h|X-Forwarded-For=192.0.2.1|"), Not(HasSubstr("203.0.113.9")),
            Not(HasSubstr("X-Other")), HasSubstr("|Connection=close")));
}

TEST(WebServer, TheHostOfAnAbsoluteTargetStandsInPlaceOfHost) {
  const auto server = web_server({}, [](const WebRequest& request) {
    std::string body = request.path + " [" + request.query + "]";
    for (const Header& header : request.headers) body += " " + header.name + "=" + header.value;
    return WebAnswer{.body = body};
  });
  const auto answer = [&](const std::string& target) {
    return answer_to(*server, "GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  };
  EXPECT_THAT(answer("http://other:80/a/b?q=1?"),
              HasSubstr("\r\n\r\n/a/b [q=1?] Connection=close Host=other:80"));
  EXPECT_THAT(answer("HTTPS://other?q=/"), HasSubstr("\r\n\r\n/ [q=/] Connection=close Host=other"));
  EXPECT_THAT(answer("http://other"), HasSubstr("\r\n\r\n/ [] Connection=close Host=other"));
  EXPECT_THAT(answer("/a?"), HasSubstr("\r\n\r\n/a [] Host=h Connection=close"));
}

TEST(WebServer, AnAnswerWithoutContentHasNoLength) {
  const auto server = web_server({}, [](const WebRequest&) { return WebAnswer{.status = 204}; });
  const std::string answers = answer_to(*server,
                                        "DELETE /a HTTP/1.1\r\nHost: h\r\n\r\n"
                                        "DELETE /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answers, AllOf(StartsWith("HTTP/1.1 204 "), Not(HasSubstr("Content-")),
                             Not(HasSubstr("Transfer-Encoding"))));
  EXPECT_NE(answers.find("HTTP/1.1 204 ", 1), answers.npos) << "the connection was kept";
}

TEST(WebServer, KeepsAConnectionForRequestsThatComeAtOnce) {
  const auto server = web_server();
  EXPECT_THAT(answer_to(*server,
                        "GET /one HTTP/1.1\r\nHost: h\r\n\r\n"
                        "GET /two HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("GET /one []"), HasSubstr("GET /two []")));
}

TEST(WebServer, RefusesRequestsWhoseEndIsUnclear) {
  const auto server = web_server();
  const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::vector<std::string> requests{
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
      "GET http://other/ HTTP/1.1\r\n\r\n",
      "GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://me@other/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://@other/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://other:x/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://other:65536/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET http://a\\b/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET h/a HTTP/1.1\r\nHost: h\r\n\r\n",
      "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: h\r\n\r\n",
      "nonsense\r\n\r\n",
  };
  for (const std::string& request : requests) {
    const std::string answer = answer_to(*server, request + smuggled);
    EXPECT_THAT(answer, AnyOf(StartsWith("HTTP/1.1 400 "), StartsWith("HTTP/1.0 400 "))) << request;
    EXPECT_THAT(answer, Not(HasSubstr("smuggled"))) << request;
  }
}

TEST(WebServer, RefusesWhatIsTooLarge) {
  const auto server = web_server({.body_bytes = 1000});
  EXPECT_THAT(answer_to(*server, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\nabc"),
              StartsWith("HTTP/1.1 413 "));
  std::string chunks = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) chunks += "64\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_THAT(answer_to(*server, chunks), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer_to(*server, "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
}

TEST(WebServer, EndsClientsThatSendAByteNowAndThen) {
  const auto server = web_server({.patience = 300ms, .idle = 300ms});
  const UniqueFd silent = connect_to(server->address());
  const UniqueFd slow = connect_to(server->address());
  const auto began = std::chrono::steady_clock::now();
  std::jthread sender([&](const std::stop_token& stop) {
    send_all(slow, "GET / HTTP/1.1\r\nHost: h\r\nX: ");
    while (!stop.stop_requested()) {
      send_all(slow, "x");
      std::this_thread::sleep_for(20ms);
    }
  });
  EXPECT_EQ(read_all(slow), "");
  EXPECT_EQ(read_all(silent), "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
}

TEST(WebServer, AClientThatDoesNotReadHoldsNobodyUp) {
  const auto server = web_server({.handlers = 1, .patience = 500ms}, [](const WebRequest& request) {
    return request.path == "/large" ? WebAnswer{.body = std::string(32u << 20, 'x')} : echo(request);
  });
  std::vector<UniqueFd> deaf;
  for (int i = 0; i < 4; ++i) {
    deaf.push_back(connect_to(server->address()));
    send_all(deaf.back(), "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  EXPECT_THAT(answer_to(*server, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
              HasSubstr("GET /a"));
}

TEST(WebServer, SendsWhatAnswersShareAndGivesSlowNetworksTime) {
  const auto large = std::make_shared<const std::string>(8u << 20, 'x');
  const auto take = [&](std::uint64_t slowest) {
    const auto server = web_server({.patience = 300ms, .slowest = slowest},
                                   [&](const WebRequest&) { return WebAnswer{.shared = large}; });
    const UniqueFd slow = connect_to(server->address());
    send_all(slow, "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    std::this_thread::sleep_for(1s);
    return read_all(slow);
  };
  const std::string answer = take(1u << 20);
  EXPECT_THAT(answer.substr(0, 200), HasSubstr("Content-Length: 8388608\r\n"));
  EXPECT_TRUE(answer.ends_with(*large));
  EXPECT_LT(take(1u << 30).size(), large->size()) << "nobody has for ever";
}

constexpr std::string_view kGetA = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

TEST(WebServer, TakesOnlySoManyConnections) {
  std::latch busy(2), seen(1);
  const auto server = web_server({.handlers = 2, .connections = 2}, [&](const WebRequest& request) {
    busy.count_down();
    seen.wait();
    return echo(request);
  });
  const UniqueFd one = connect_to(server->address());
  const UniqueFd two = connect_to(server->address());
  for (const UniqueFd* const each : {&one, &two}) send_all(*each, kGetA);
  busy.wait();
  EXPECT_EQ(answer_to(*server, kGetA), "") << "both are being answered";
  seen.count_down();
  for (const UniqueFd* const each : {&one, &two}) EXPECT_THAT(read_all(*each), HasSubstr("GET /a"));
}

TEST(WebServer, TheConnectionThatWaitsLongestGivesWayToANewOne) {
  const auto server = web_server({.connections = 2, .idle = std::chrono::hours(1)});
  const UniqueFd one = connect_to(server->address());
  const UniqueFd two = connect_to(server->address());
  EXPECT_THAT(answer_to(*server, kGetA), HasSubstr("GET /a"));
  EXPECT_EQ(read_all(one), "");
  send_all(two, kGetA);
  EXPECT_THAT(read_all(two), HasSubstr("GET /a"));
}

TEST(WebServer, ARequestThatComesSlowlyGivesWayToANewConnection) {
  const auto server = web_server({.connections = 2, .patience = std::chrono::hours(1)});
  const UniqueFd one = connect_to(server->address());
  const UniqueFd two = connect_to(server->address());
  for (const UniqueFd* const each : {&one, &two}) send_all(*each, "GET /a HTTP/1.1\r\nHost");
  EXPECT_THAT(answer_to(*server, kGetA), HasSubstr("GET /a"));
  EXPECT_THAT(answer_to(*server, kGetA), HasSubstr("GET /a"));
}

TEST(WebServer, AnAnswerThatIsTakenSlowlyGivesWayAfterTheTimeThatEverybodyHas) {
  const auto large = std::make_shared<const std::string>(std::size_t{64} << 20, 'x');
  std::latch asked(1);
  const auto server = web_server({.connections = 1, .patience = 500ms, .slowest = 1},
                                 [&](const WebRequest& request) -> WebAnswer {
                                   if (request.path != "/large") return echo(request);
                                   asked.count_down();
                                   return {.shared = large};
                                 });
  const UniqueFd slow = connect_to(server->address());
  send_all(slow, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  asked.wait();
  std::string answer;
  while (answer.empty()) answer = answer_to(*server, kGetA);
  EXPECT_THAT(answer, HasSubstr("GET /a"));
  EXPECT_LT(read_all(slow).size(), large->size()) << "it gave way";
}

TEST(WebServer, SharedAnswersThatAreTakenSlowlyGiveWayWhereTheyAreTooManyBytes) {
  const auto large = std::make_shared<const std::string>(std::size_t{64} << 20, 'x');
  std::latch asked(1);
  const auto server = web_server({.patience = 500ms, .slowest = 1, .shared_bytes = 1u << 20},
                                 [&](const WebRequest& request) -> WebAnswer {
                                   if (request.path != "/large") return echo(request);
                                   WebAnswer answer{.shared = large};
                                   asked.count_down();
                                   return answer;
                                 });
  const UniqueFd slow = connect_to(server->address());
  send_all(slow, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  asked.wait();
  while (large.use_count() > 1) EXPECT_THAT(answer_to(*server, kGetA), HasSubstr("GET /a"));
  EXPECT_LT(read_all(slow).size(), large->size()) << "it gave way";
}

TEST(WebServer, SharedAnswersThatAreTakenSlowlyStayAsLongAsThereIsRoom) {
  const auto large = std::make_shared<const std::string>(std::size_t{64} << 20, 'x');
  std::latch asked(2);
  const auto server = web_server({.patience = 300ms, .slowest = 1, .shared_bytes = large->size()},
                                 [&](const WebRequest& request) -> WebAnswer {
                                   if (request.path != "/large") return echo(request);
                                   asked.count_down();
                                   return {.shared = large};
                                 });
  const std::array<UniqueFd, 2> slow{connect_to(server->address()), connect_to(server->address())};
  for (const UniqueFd& each : slow)
    send_all(each, "GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  asked.wait();
  std::this_thread::sleep_for(600ms);
  EXPECT_THAT(answer_to(*server, kGetA), HasSubstr("GET /a"));
  for (const UniqueFd& each : slow) EXPECT_TRUE(read_all(each).ends_with(*large)) << "they share one";
}

// Its next request may be read already, but not taken up, when another connection comes.
TEST(WebServer, AConnectionThatGaveWayCarriesOutNothing) {
  std::atomic<int> carried_out = 0;
  auto server = web_server({.connections = 1}, [&](const WebRequest& request) {
    if (request.path == "/a") ++carried_out;
    return echo(request);
  });
  int answered = 0;
  for (int i = 0; i < 1000; ++i) {
    const UniqueFd fd = connect_to(server->address());
    send_all(fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    send_all(fd, kGetA);
    // At another moment each time.
    std::this_thread::sleep_for(std::chrono::microseconds(i % 100));
    const UniqueFd other = connect_to(server->address());
    if (read_all(fd).contains("GET /a")) ++answered;
  }
  server.reset();
  EXPECT_EQ(carried_out, answered);
}

TEST(WebServer, IdleConnectionsEnd) {
  const auto server = web_server({.idle = 400ms});
  EXPECT_EQ(read_all(connect_to(server->address())), "");
}

TEST(WebServer, AnswersWhatHasComeBeforeItStops) {
  auto server = web_server();
  const UniqueFd idle = connect_to(server->address());
  const UniqueFd busy = connect_to(server->address());
  send_all(busy, "GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  std::this_thread::sleep_for(100ms);
  const std::string address = server->address();
  const auto began = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s) << "it waited for an idle connection";
  EXPECT_THAT(read_all(busy), AllOf(HasSubstr("GET /slow"), HasSubstr("Connection: close")));
  EXPECT_EQ(read_all(idle), "");
}

TEST(WebServer, ManyClientsAtOnce) {
  const auto server = web_server();
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 16; ++i)
      clients.emplace_back([&, i] {
        for (int n = 0; n < 20; ++n) {
          const std::string path = "/" + std::to_string(i) + "-" + std::to_string(n);
          const std::string answer =
              answer_to(*server, "GET " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
          if (answer.find("GET " + path + " []") != std::string::npos) ++good;
        }
      });
  }
  EXPECT_EQ(good, 320);
}

}  // namespace
}  // namespace mist::http
