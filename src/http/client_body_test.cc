// Client: bodies that are read while they are sent.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/handle.h"
#include "http/client.h"
#include "testing/http_server.h"
#include "testing/server_socket.h"

namespace mist::http {
namespace {

using mist::testing::HttpServer;
using mist::testing::ServerReply;
using mist::testing::ServerRequest;

class TextSource final : public BodySource {
 public:
  using BeforeRead = std::function<Status(std::uint64_t offset)>;

  explicit TextSource(std::string text, BeforeRead before = {})
      : text_(std::move(text)), before_(std::move(before)) {}

  std::uint64_t size() const override { return text_.size(); }
  Status read(std::uint64_t offset, std::span<char> to) const override {
    if (before_) MIST_TRY_VOID(before_(offset));
    text_.copy(to.data(), to.size(), static_cast<std::size_t>(offset));
    return {};
  }

 private:
  std::string text_;
  BeforeRead before_;
};

std::string large_text() {
  std::string text(5'000'000, 'x');
  for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
  return text;
}

Request patch_of(std::string url, std::string text, TextSource::BeforeRead before = {}) {
  Request request;
  request.method = "PATCH";
  request.url = std::move(url);
  request.headers = {{"Content-Type", "application/octet-stream"}};
  request.source = std::make_shared<TextSource>(std::move(text), std::move(before));
  return request;
}

void accept_body(const ServerRequest&, ServerReply& reply) { reply.respond(202, "taken"); }

TEST(ClientBody, ArrivesInWhole) {
  HttpServer server(accept_body);
  Client client({});
  for (const std::string& text : {large_text(), std::string("short"), std::string()}) {
    const auto response = client.send(patch_of(server.url(), text), Context());
    ASSERT_TRUE(response.ok()) << response.error().to_line();
    EXPECT_EQ(response->status, 202);
    EXPECT_EQ(response->body, "taken");
    const ServerRequest seen = server.requests().back();
    EXPECT_EQ(seen.method, "PATCH");
    EXPECT_EQ(seen.header("content-type"), "application/octet-stream");
    EXPECT_EQ(seen.header("content-length"), std::to_string(text.size()));
    EXPECT_EQ(seen.header("expect"), "");
    EXPECT_TRUE(seen.body == text);
  }
  EXPECT_EQ(server.connections(), 1u);
}

TEST(ClientBody, IsReadAgainWhereTheRequestIsRepeated) {
  std::atomic<int> patches{0};
  HttpServer server([&](const ServerRequest& request, ServerReply& reply) {
    if (request.method == "PATCH" && ++patches == 1) return;  // got it, then dies
    reply.respond(200, "ok");
  });
  Client client({});
  ASSERT_TRUE(client.send({.url = server.url()}, Context()).ok());
  Request again = patch_of(server.url(), large_text());
  again.repeat = Repeat::Safe;
  const auto response = client.send(again, Context());
  ASSERT_TRUE(response.ok()) << response.error().to_line();
  EXPECT_EQ(patches, 2);
  EXPECT_TRUE(server.requests().back().body == large_text());
}

TEST(ClientBody, ASourceThatFailsEndsTheRequestWithItsOwnError) {
  HttpServer server(accept_body);
  Client client({});
  const auto response = client.send(patch_of(server.url(), large_text(),
                                             [](std::uint64_t offset) -> Status {
                                               if (offset < 1'000'000) return {};
                                               return error(ErrorKind::Conflict, "the file became shorter");
                                             }),
                                    Context());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::Conflict);
  EXPECT_EQ(response.error().message, "the file became shorter");
  EXPECT_TRUE(server.requests().empty()) << "no server sees a complete request";
}

// Its bytes may be gone with the caller.
TEST(ClientBody, IsNotReadOnceTheCallerLeft) {
  HttpServer server(accept_body);
  std::atomic<bool> left{false};
  std::atomic<int> late{0};
  {
    Client client({});
    std::stop_source stop;
    const auto response = client.send(patch_of(server.url(), large_text(),
                                               [&](std::uint64_t) -> Status {
                                                 if (left) ++late;
                                                 stop.request_stop();
                                                 return {};
                                               }),
                                      Context(stop.get_token()));
    left = true;
    // All of it may have gone out, and been answered, before the caller looked.
    if (!response.ok()) {
      EXPECT_EQ(response.error().kind, ErrorKind::Cancelled);
    }
  }
  EXPECT_EQ(late, 0);
}

// A registry says so when a token has expired, before the body has come.
TEST(ClientBody, AnAnswerThatComesBeforeItsEndCounts) {
  std::uint16_t port = 0;
  const UniqueFd listener = mist::testing::bound_socket(port);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  std::jthread server([&] {
    const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string buffer(1 << 16, ' ');
    if (::recv(fd.get(), buffer.data(), buffer.size(), 0) <= 0) return;
    constexpr std::string_view kAnswer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno";
    ::send(fd.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    while (::recv(fd.get(), buffer.data(), buffer.size(), 0) > 0) continue;
  });
  {
    Client client({});
    const auto response =
        client.send(patch_of(fmt::format("http://127.0.0.1:{}/", port), large_text()), Context());
    ASSERT_TRUE(response.ok()) << response.error().to_line();
    EXPECT_EQ(response->status, 401);
    EXPECT_EQ(response->body, "no");
  }
}

}  // namespace
}  // namespace mist::http
