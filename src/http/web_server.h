#pragma once
// An HTTP/1.1 server for whole applications: requests with bodies, handlers that may block, on threads of
// their own. One thread does all network I/O and never waits for a handler. TLS is the business of the proxy
// in front, unless `tls` gives a certificate.
//
// Every connection is bounded in time and bytes: a request must have come within `patience`, however slowly
// its client sends, and its answer must have been taken within as much again (a shared one, which takes no
// memory for each client, within what slow networks need, unless there are more connections than it takes, or
// more of such answers than it may have in memory). A request whose end two servers could see in two places
// (RFC 9112, section 11.2: request smuggling) is answered with 400 and its connection closed.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "http/server_tls.h"
#include "http/transport.h"

namespace mist::http {

struct WebRequest {
  std::string method = {};
  std::string path = {};   ///< escaped, as it came; begins with '/'. Of an absolute target without its host
  std::string query = {};  ///< escaped, without the '?'
  Headers headers = {};    ///< without trailers, which are read and dropped. Host is an absolute target's
  std::string body = {};
  std::string peer = {};  ///< IP address of the other end of the connection
};

struct WebAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};  ///< to HEAD only its length is sent
  Headers headers = {};   ///< others than Content-Type, Content-Length, Connection
  /// Sent in place of `body`, if there is one: large bytes that many answers have in common.
  std::shared_ptr<const std::string> shared = nullptr;
  /// To HEAD, in place of a body: how long GET's would be.
  std::optional<std::uint64_t> length = {};

  const std::string& content() const { return shared ? *shared : body; }
};

/// Called on any of the handlers' threads, several at once.
using HandleWeb = std::function<WebAnswer(const WebRequest&)>;

struct WebServerOptions {
  std::size_t handlers = 4;  ///< threads
  /// Beyond them, new ones push out those that wait for a request, then those that are slow: whose request
  /// hasn't come whole, or whose answer isn't taken after `patience`.
  std::size_t connections = 512;
  static constexpr std::uint32_t kHeaderBytes = 16u << 10;
  std::uint64_t body_bytes = 1u << 20;           ///< more is answered with 413
  Duration patience = std::chrono::seconds(10);  ///< for a request that has begun, and for its answer
  std::uint64_t slowest = 64u << 10;  ///< bytes a second: a shared answer has the time for that in addition
  /// Of different shared answers at the same time. Beyond it those that aren't taken after `patience` are
  /// ended, the oldest first: there is always room for clients that aren't slow.
  std::uint64_t shared_bytes = std::numeric_limits<std::uint64_t>::max();
  Duration idle = std::chrono::seconds(30);  ///< of a connection between requests
  /// Answers by TLS alone, each connection with the certificate that is held when it is opened; null: without
  /// TLS. Outlives the server.
  const ServerTlsHolder* tls = nullptr;
  static constexpr Duration kDrain =
      std::chrono::seconds(10);  ///< for requests that are being answered when it stops
};

class WebServer {
 public:
  /// `address` and errors as of Server::listen.
  static Result<std::unique_ptr<WebServer>> listen(std::string_view address, WebServerOptions options,
                                                   HandleWeb handle);
  /// Takes no more connections, lets requests that have come be answered within `kDrain`, then ends the rest.
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  /// Where it listens, with the port that it got: "127.0.0.1:34567".
  std::string address() const;

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::http
