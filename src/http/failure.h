#pragma once
// From libcurl's error codes to errors for people: what failed, at which server, why, what to do. Pure; any
// thread.

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "http/host_tls.h"
#include "http/tls_report.h"
#include "http/url.h"

namespace mist::http {

/// Everything that is known about an exchange that ended without an answer.
struct Failure {
  int code = 0;                ///< CURLcode
  std::string detail;          ///< libcurl's own words
  int os_error = 0;            ///< errno of the connection, 0: none
  Url url;                     ///< what was asked
  std::string server_name;     ///< the name that the certificate should have carried
  std::string proxy;           ///< without credentials; empty: none
  int proxy_status = 0;        ///< the proxy's answer to CONNECT, 0: none
  bool sent = false;           ///< the request had been handed to a connection
  std::uint64_t received = 0;  ///< bytes of the body that had arrived
  bool has_client_certificate = false;
  std::string client_certificate_pem;
  std::shared_ptr<const HostTls> host_tls;  ///< of that server; null: none
  Duration connect_timeout{};
  TlsReport tls;
};

/// Kinds as transport.h promises them. A Retryable one is undelivered(); of the others, too, maybe_acted_on()
/// is true if the server may have got the request by an earlier connection.
Error describe_failure(const Failure& failure, WallTime now);

}  // namespace mist::http
