#pragma once
// Inside WebServer: a connection, with TLS or without. It is what Beast calls an AsyncStream. Its server's
// I/O thread only.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "http/server_tls.h"

namespace mist::http {

struct ServerTls::Impl {
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_server};
};

class ServerStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  /// `tls`: null: without.
  ServerStream(boost::asio::ip::tcp::socket socket, std::shared_ptr<const ServerTls> tls)
      : tcp_(std::move(socket)), tls_(std::move(tls)) {
    if (tls_) secured_.emplace(tcp_, tls_->impl().context);
  }
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;

  executor_type get_executor() { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  template <typename Time>
  void expires_after(Time time) {
    tcp_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(time));
  }
  void expires_never() { tcp_.expires_never(); }

  /// Whether handshake() comes before everything else.
  bool needs_handshake() const { return secured_ && !is_secured_; }
  /// `done`: called with an error_code.
  template <typename Done>
  void handshake(Done done) {
    is_secured_ = true;
    secured_->async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
  }

  template <typename Buffers, typename Done>
  void async_read_some(const Buffers& buffers, Done&& done) {
    if (secured_) return secured_->async_read_some(buffers, std::forward<Done>(done));
    tcp_.async_read_some(buffers, std::forward<Done>(done));
  }
  template <typename Buffers, typename Done>
  void async_write_some(const Buffers& buffers, Done&& done) {
    if (secured_) return secured_->async_write_some(buffers, std::forward<Done>(done));
    tcp_.async_write_some(buffers, std::forward<Done>(done));
  }

 private:
  boost::beast::tcp_stream tcp_;
  std::shared_ptr<const ServerTls> tls_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> secured_;
  bool is_secured_ = false;
};

}  // namespace mist::http
