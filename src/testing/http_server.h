#pragma once
// A small HTTP/1.1 server on 127.0.0.1 that does on purpose what real servers do by accident: hang, cut,
// reset, talk rubbish. One thread for each connection, TLS when asked, CONNECT tunnels. The destructor ends
// everything.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/handle.h"

namespace mist::testing {

struct ServerRequest {
  std::string method;
  std::string target;  ///< as sent: "/path?query", "host:port" for CONNECT
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string client_subject;  ///< common name of the client's certificate, empty: none
  std::string sni;             ///< the server name that the client sent

  /// The value of a header, names without case; empty: not sent.
  std::string_view header(std::string_view name) const;
};

/// A handler's access to the connection of its request. The connection stays open after respond() and
/// end_chunks(), and is closed when the handler returns after anything else. Only inside the handler.
class ServerReply {
 public:
  using HeaderList = std::vector<std::pair<std::string, std::string>>;

  void respond(int status, std::string_view body = {}, const HeaderList& headers = {});
  void begin_chunks(int status = 200, const HeaderList& headers = {});
  void chunk(std::string_view bytes);
  void end_chunks();
  /// These bytes and nothing else. False when the client is gone.
  bool raw(std::string_view bytes);
  /// Ends the connection with a TCP reset.
  void reset();
  /// Returns when the client hung up or the server ends.
  void hang();
  /// False when the server ends before that.
  bool sleep(std::chrono::milliseconds time);
  /// Joins the client with 127.0.0.1:`port`, after saying 200, until one side ends.
  void tunnel(std::uint16_t port);

 private:
  friend class HttpServer;
  class Connection;
  explicit ServerReply(Connection& connection) : connection_(connection) {}
  Connection& connection_;
  bool reusable_ = false;
};

/// Called on the connection's thread for each request; several at once for several connections.
using ServerHandler = std::function<void(const ServerRequest&, ServerReply&)>;

struct ServerTls {
  std::string certificate_pem;
  std::string key_pem;
  std::string client_ca_pem;  ///< demands client certificates of this authority; empty: doesn't
};

class HttpServer {
 public:
  explicit HttpServer(ServerHandler handler, std::optional<ServerTls> tls = std::nullopt);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const { return port_; }
  /// "http://127.0.0.1:4711" and `path`; https with TLS.
  std::string url(std::string_view path = "/") const;
  /// Everything that was asked so far. Any thread.
  std::vector<ServerRequest> requests() const;
  /// Connections that were ever made. Any thread.
  std::size_t connections() const { return accepted_.load(); }

 private:
  struct TlsContext;
  void accept_all();
  void serve(ServerReply::Connection& connection);

  ServerHandler handler_;
  std::unique_ptr<TlsContext> tls_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> accepted_{0};
  mutable std::mutex mutex_;
  std::vector<ServerRequest> requests_;                                // guarded by mutex_
  std::vector<std::unique_ptr<ServerReply::Connection>> connections_;  // guarded by mutex_
  std::vector<std::thread> threads_;                                   // the accepting thread's own
  std::thread accepting_;
};

/// A port of 127.0.0.1 where nothing listens, kept free for as long as the object lives.
class ClosedPort {
 public:
  ClosedPort();
  std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_ = 0;  // before bound_, whose making fills it
  UniqueFd bound_;
};

}  // namespace mist::testing
