#include "testing/http_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "testing/server_socket.h"

namespace mist::testing {
namespace {

constexpr std::chrono::milliseconds kLookInterval{20};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace

std::string_view ServerRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (std::ranges::equal(key, name, {}, lower, lower)) return value;
  return {};
}

struct HttpServer::TlsContext {
  ServerContext context;
};

class ServerReply::Connection : public ServerSocket {
 public:
  Connection(UniqueFd fd, const std::atomic<bool>& stopping)
      : ServerSocket(std::move(fd)), stopping_(stopping) {}
  bool stopping() const { return stopping_.load(); }

 private:
  const std::atomic<bool>& stopping_;
};

// --- what handlers do

void ServerReply::respond(int status, std::string_view body, const HeaderList& headers) {
  std::string head = fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n", status, body.size());
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  reusable_ = raw(fmt::format("{}\r\n{}", head, body));
}

void ServerReply::begin_chunks(int status, const HeaderList& headers) {
  std::string head = fmt::format("HTTP/1.1 {} Status\r\nTransfer-Encoding: chunked\r\n", status);
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  raw(head + "\r\n");
}

void ServerReply::chunk(std::string_view bytes) { raw(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes)); }

void ServerReply::end_chunks() { reusable_ = raw("0\r\n\r\n"); }

bool ServerReply::raw(std::string_view bytes) { return connection_.send(bytes); }

void ServerReply::reset() { connection_.reset(); }

void ServerReply::hang() {
  while (!connection_.stopping())
    if (readable(connection_.fd(), kLookInterval) && !connection_.receive()) return;
}

bool ServerReply::sleep(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!connection_.stopping()) {
    if (std::chrono::steady_clock::now() >= end) return true;
    std::this_thread::sleep_for(std::min(time, kLookInterval));
  }
  return false;
}

void ServerReply::tunnel(std::uint16_t port) {
  const UniqueFd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    respond(502, "nothing there");
    return;
  }
  raw("HTTP/1.1 200 Connected\r\n\r\n");
  const auto copy = [](int from, int to) {
    std::array<char, 16384> chunk;
    const ssize_t got = ::recv(from, chunk.data(), chunk.size(), 0);
    return got > 0 && ::send(to, chunk.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  };
  while (!connection_.stopping()) {
    std::array<pollfd, 2> ends{{{connection_.fd(), POLLIN, 0}, {other.get(), POLLIN, 0}}};
    if (::poll(ends.data(), ends.size(), static_cast<int>(kLookInterval.count())) <= 0) continue;
    if (ends[0].revents != 0 && !copy(connection_.fd(), other.get())) return;
    if (ends[1].revents != 0 && !copy(other.get(), connection_.fd())) return;
  }
}

// --- the server

namespace {

bool parse_head(std::string_view head, ServerRequest& request) {
  const auto lines = split(head, '\n');
  const auto words = split(trim(lines[0]), ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) return false;
  request.method = words[0];
  request.target = words[1];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos) return false;
    request.headers.emplace_back(trim(lines[i].substr(0, colon)), trim(lines[i].substr(colon + 1)));
  }
  return true;
}

/// The next request of a connection: its head, then as many bytes as Content-Length says.
std::optional<ServerRequest> read_request(ServerSocket& connection) {
  std::string& buffer = connection.buffer();
  std::size_t end = std::string::npos;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    const bool never_http = !buffer.empty() && (buffer[0] < 'A' || buffer[0] > 'Z');
    if (never_http || !connection.receive()) return std::nullopt;
  }
  ServerRequest request;
  if (!parse_head(std::string_view(buffer).substr(0, end), request)) return std::nullopt;
  buffer.erase(0, end + 4);
  const std::size_t length =
      std::strtoull(std::string(request.header("Content-Length")).c_str(), nullptr, 10);
  while (buffer.size() < length)
    if (!connection.receive()) return std::nullopt;
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  request.client_subject = connection.client_subject();
  request.sni = connection.sni();
  return request;
}

}  // namespace

HttpServer::HttpServer(ServerHandler handler, std::optional<ServerTls> tls) : handler_(std::move(handler)) {
  if (tls) tls_.reset(new TlsContext{make_context(*tls)});
  listener_ = bound_socket(port_);
  MIST_CHECK(::listen(listener_.get(), 128) == 0);
  accepting_ = std::thread(&HttpServer::accept_all, this);
}

HttpServer::~HttpServer() {
  stopping_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& connection : connections_) connection->interrupt();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::string HttpServer::url(std::string_view path) const {
  return fmt::format("{}://127.0.0.1:{}{}", tls_ ? "https" : "http", port_, path);
}

std::vector<ServerRequest> HttpServer::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void HttpServer::accept_all() {
  block_sigpipe();
  while (!stopping_) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) continue;
    ++accepted_;
    auto connection = std::make_unique<ServerReply::Connection>(std::move(fd), stopping_);
    ServerReply::Connection& borrowed = *connection;
    {
      const std::scoped_lock lock(mutex_);
      connections_.push_back(std::move(connection));
    }
    threads_.emplace_back([this, &borrowed] { serve(borrowed); });
  }
}

void HttpServer::serve(ServerReply::Connection& connection) {
  block_sigpipe();
  if (tls_ && !connection.handshake(tls_->context.get())) return connection.finish(false);
  while (!stopping_) {
    const std::optional<ServerRequest> request = read_request(connection);
    if (!request) {
      // The answer of Go's server to bytes that are no request, e.g. a TLS handshake at a plain port.
      if (!connection.buffer().empty())
        connection.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      break;
    }
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(*request);
    }
    ServerReply reply(connection);
    handler_(*request, reply);
    if (!reply.reusable_) break;
  }
  connection.finish(true);
}

ClosedPort::ClosedPort() : bound_(bound_socket(port_)) {}

}  // namespace mist::testing
