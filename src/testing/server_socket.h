#pragma once
// One accepted connection of a test server, with or without TLS, and the listening socket that it came from.
// For http_server.cc and h2_server.cc.

#include <openssl/ssl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/handle.h"
#include "testing/http_server.h"

namespace mist::testing {

using ServerContext = Handle<SSL_CTX, &SSL_CTX_free>;

/// Bound to a free port of 127.0.0.1, which is written to `port`.
UniqueFd bound_socket(std::uint16_t& port);
ServerContext make_context(const ServerTls& tls);
/// OpenSSL writes without MSG_NOSIGNAL. For the calling thread.
void block_sigpipe();

/// Used by its connection's thread, but for interrupt().
class ServerSocket {
 public:
  explicit ServerSocket(UniqueFd fd);

  bool handshake(SSL_CTX* context);
  /// More bytes into buffer(); false at the end.
  bool receive();
  /// False when the client is gone.
  bool send(std::string_view bytes);
  std::string& buffer() { return buffer_; }
  int fd() const { return fd_.get(); }

  std::string client_subject() const;
  std::string sni() const;

  /// From any thread: whatever the connection's thread waits for ends.
  void interrupt();
  /// The end; `clean` says goodbye in TLS.
  void finish(bool clean);
  /// The end by a TCP reset.
  void reset();

 private:
  UniqueFd fd_;
  Handle<SSL, &SSL_free> ssl_;
  std::string buffer_;
};

}  // namespace mist::testing
