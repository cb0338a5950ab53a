#pragma once
// The real Transport: libcurl's multi interface on one I/O thread, which starts with the first request.
// send() and stream() block the calling thread and may be called from any number of threads; requests to one
// server share its HTTP/2 connections. Callers give up at once when their Context ends, whatever the network
// does. It sends once and follows no redirects: retry.h repeats, registries redirect.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/secret.h"
#include "http/host_tls.h"
#include "http/proxy.h"
#include "http/transport.h"

namespace mist::http {

/// TLS 1.2 at least. PEM texts, not file names.
struct TlsOptions {
  std::string ca_pem = {};                  ///< the only roots that are trusted; empty: the system's
  std::string client_certificate_pem = {};  ///< may be followed by its chain
  SecretString client_key_pem = {};         ///< not encrypted
  /// The name that is sent (SNI) and that the certificate must carry; empty: the URL's host.
  std::string server_name = {};
  bool insecure_skip_verify = false;
};

struct ClientOptions {
  TlsOptions tls = {};
  /// Certificates of single servers. They count for the server of a request's URL and no other; the proxy
  /// before it never sees them. Empty: there are none.
  FindHostTls find_host_tls = {};
  std::string proxy_url = {};               ///< used for every request; empty: what `proxy_environment` says
  ProxyEnvironment proxy_environment = {};  ///< main fills it by ProxyEnvironment::from(getenv)
  std::string user_agent = "mistletoe";
  Duration connect_timeout = std::chrono::seconds(15);  ///< name, connection, proxy and TLS together
  Duration idle_timeout = std::chrono::seconds(60);     ///< for requests that name none
  /// To one host, for send(); more requests wait for a free one. Those of stream() don't count: with
  /// HTTP/1.1, each watch keeps one for as long as it lasts.
  std::size_t max_connections = 64;
  /// With HTTP/2: requests that share one connection before another is opened. README.md has the measurement.
  std::size_t streams_per_connection = 100;
  bool compression = true;  ///< accept gzip in answers to send()
  /// An HTTP/2 connection that is in use is pinged this often (after client-go's ReadIdleTimeout), and is
  /// closed if nothing at all comes within `ping_timeout`: a load balancer on the way may acknowledge what
  /// nobody gets any more.
  Duration ping_after = std::chrono::seconds(30);
  Duration ping_timeout = std::chrono::seconds(15);
};

class Client final : public Transport {
 public:
  explicit Client(ClientOptions options);
  /// Requests that still run end with Cancelled, and are waited for; no call may begin any more.
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<Response> send(const Request& request, const Context& context) override;
  Result<Response> stream(const Request& request, const BodyPiece& piece, const Context& context) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mist::http
