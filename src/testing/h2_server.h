#pragma once
// A very small HTTP/2 server (RFC 9113) over TLS on 127.0.0.1, for what only a server that is badly behaved
// on purpose can show. It does not read header blocks: a request's body says what to do with it.
//
//   "echo …"     200 with the body
//   "gather N"   200 once N requests of this connection wait together
//   "hang"       no answer
//   "part"       200, half of an answer, then silence
//   "fill"       200, and more than a megabyte of the answer to "part"
//   "swallow"    from now on everything of this connection is read, and nothing answered, not even a ping
//   "reset"      RST_STREAM
//   "break"      the TCP connection is reset
//   "refuse"     RST_STREAM with REFUSED_STREAM: surely not acted on
//   "goaway"     GOAWAY that excludes this request, then the connection ends
//   ""           200 "ok"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "testing/http_server.h"
#include "testing/server_socket.h"

namespace mist::testing {

class H2Server {
 public:
  explicit H2Server(const ServerTls& tls);
  ~H2Server();
  H2Server(const H2Server&) = delete;
  H2Server& operator=(const H2Server&) = delete;

  std::string url() const;
  // Any thread.
  std::size_t connections() const { return accepted_.load(); }
  std::size_t requests() const { return requests_.load(); }
  /// Streams that the client gave up.
  std::size_t cancelled() const { return cancelled_.load(); }
  /// Pings that were answered.
  std::size_t pings() const { return pings_.load(); }

 private:
  class Session;
  void accept_all();

  ServerContext context_;
  std::uint16_t port_ = 0;
  UniqueFd listener_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> accepted_{0}, requests_{0}, cancelled_{0}, pings_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<ServerSocket>> sockets_;  // guarded by mutex_
  std::vector<std::thread> threads_;                    // the accepting thread's own
  std::thread accepting_;
};

}  // namespace mist::testing
