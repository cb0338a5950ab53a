#pragma once
// OpenSSL's verdict on a server's certificates, for error texts: libcurl only says that it did not like them.
// Filled on the I/O thread during the handshake, read after the exchange ended.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace mist::http {

struct CertificateFacts {
  std::string subject;  ///< "CN=kube-apiserver,O=x"
  std::string issuer;
  std::vector<std::string> names;  ///< DNS names and IP addresses it is good for
  WallTime not_before;
  WallTime not_after;
};

struct TlsReport {
  int verify_error = 0;                    ///< X509_V_ERR_*; 0: none
  std::string verify_text;                 ///< OpenSSL's words for it
  std::optional<CertificateFacts> failed;  ///< the certificate that verify_error is about
  std::optional<CertificateFacts> leaf;    ///< the server's own, when verification came to it
  bool certificate_asked = false;          ///< the server asked for ours
};

/// The classes of verify_error that have a text of their own.
enum class TrustProblem : std::uint8_t { None, Expired, NotYetValid, UnknownAuthority, Other };
TrustProblem trust_problem(const TlsReport& report);

/// Makes every handshake of `ssl_ctx` (an SSL_CTX*) fill `report`, and keeps libcurl's decision as it is.
void watch_handshake(void* ssl_ctx, std::shared_ptr<TlsReport> report);

/// Whether an SSL* has agreed on HTTP/2 (ALPN). False for null.
bool has_chosen_http2(const void* ssl);

/// The facts of the first certificate in a PEM text; nullopt when there is none.
std::optional<CertificateFacts> read_certificate(const std::string& pem);

}  // namespace mist::http
