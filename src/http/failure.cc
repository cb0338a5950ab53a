#include "http/failure.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "http/transport.h"
#include "http/untrusted.h"

namespace mist::http {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A proxy with https has a handshake of its own, before it answers.
bool at_proxy(const Failure& failure) {
  return failure.proxy.starts_with("https:") && failure.proxy_status / 100 != 2;
}

// The peer whose handshake failed.
std::string peer(const Failure& failure) {
  return at_proxy(failure) ? "the proxy " + failure.proxy : failure.url.authority();
}

std::string because_of(const Failure& failure) {
  if (!failure.detail.empty()) return escape_controls(failure.detail);
  return curl_easy_strerror(static_cast<CURLcode>(failure.code));
}

Error retryable(const Failure& failure, std::string message) {
  return undelivered(failure.sent ? Sent::Maybe : Sent::Nothing, std::move(message));
}

Error no_such_host(const Failure& failure) {
  return retryable(failure, fmt::format("the host name {} can't be resolved", failure.url.host))
      .with_because(because_of(failure))
      .with_hint("check the name for typing errors, and the DNS and VPN settings of this machine");
}

Error proxy_unreachable(const Failure& failure, std::string_view why) {
  return retryable(failure, fmt::format("{}: the proxy {} {}", failure.url.authority(), failure.proxy, why))
      .with_because(because_of(failure))
      .with_hint("check proxy-url in the kubeconfig and the variables HTTPS_PROXY and NO_PROXY");
}

Error not_connected(const Failure& failure) {
  if (!failure.proxy.empty()) return proxy_unreachable(failure, "can't be reached");
  const std::string server = failure.url.authority();
  switch (failure.os_error) {
    case ECONNREFUSED:
      return retryable(failure, fmt::format("nothing listens at {} (connection refused)", server))
          .with_hint("check that the server runs and that the address in the configuration is right");
    case ENETUNREACH:
    case EHOSTUNREACH:
      return retryable(failure, fmt::format("no route leads to {}", server))
          .with_because(std::generic_category().message(failure.os_error))
          .with_hint("check the network and the VPN of this machine");
    default:
      return retryable(failure, fmt::format("no connection to {} comes about", server))
          .with_because(failure.os_error != 0 ? std::generic_category().message(failure.os_error)
                                              : because_of(failure))
          .with_hint("check the address, the network and firewalls between here and there");
  }
}

Error timed_out(const Failure& failure) {
  const auto seconds = std::chrono::duration<double>(failure.connect_timeout).count();
  return retryable(failure, fmt::format("{} did not complete a connection within {:g} s",
                                        failure.url.authority(), seconds))
      .with_because(because_of(failure))
      .with_hint("check the address, the network, and firewalls that swallow packets");
}

std::string describe(const CertificateFacts& facts) {
  return fmt::format("{} (issued by {})", facts.subject, facts.issuer);
}

Error forbidden(const Failure& failure, std::string_view why) {
  return error(ErrorKind::Forbidden, "the TLS certificate of {} is not acceptable: {}", peer(failure), why);
}

Error expired(const Failure& failure, const CertificateFacts& facts, WallTime now) {
  return forbidden(failure, fmt::format("{} expired at {}, {} ago", describe(facts),
                                        format_time(facts.not_after), format_age(now - facts.not_after)))
      .with_hint("renew the server's certificate; if it is new, check the clock of this machine");
}

Error not_yet_valid(const Failure& failure, const CertificateFacts& facts, WallTime now) {
  return forbidden(failure, fmt::format("{} is valid only from {}, and here it is {}", describe(facts),
                                        format_time(facts.not_before), format_time(now)))
      .with_hint("check the clock of this machine");
}

std::string authority_hint(const Failure& failure) {
  if (at_proxy(failure))
    return "add the authority's certificate to those of this machine, or name a file with it and all others "
           "that you need in SSL_CERT_FILE";
  if (failure.host_tls && !failure.host_tls->authority_hint.empty()) return failure.host_tls->authority_hint;
  return "give the authority's certificate (certificate-authority or certificate-authority-data in a "
         "kubeconfig); insecure-skip-tls-verify turns the check off";
}

Error unknown_authority(const Failure& failure, const CertificateFacts& facts) {
  return forbidden(failure, fmt::format("no trusted authority signed {}", describe(facts)))
      .with_because(failure.tls.verify_text)
      .with_hint(authority_hint(failure));
}

Error wrong_name(const Failure& failure) {
  std::string names = "no names at all";
  if (failure.tls.leaf && !failure.tls.leaf->names.empty()) names = join(failure.tls.leaf->names, ", ");
  if (at_proxy(failure))
    return forbidden(failure, fmt::format("it is good for {}", names))
        .with_hint("use one of these names in the proxy's address");
  const std::string& wanted = failure.server_name.empty() ? failure.url.host : failure.server_name;
  return forbidden(failure, fmt::format("it is good for {} but not for {}", names, wanted))
      .with_hint("use one of these names in the address, or name one as tls-server-name");
}

Error why_untrusted(const Failure& failure, WallTime now) {
  const TlsReport& tls = failure.tls;
  if (tls.failed) {
    switch (trust_problem(tls)) {
      case TrustProblem::Expired:
        return expired(failure, *tls.failed, now);
      case TrustProblem::NotYetValid:
        return not_yet_valid(failure, *tls.failed, now);
      case TrustProblem::UnknownAuthority:
        return unknown_authority(failure, *tls.failed);
      case TrustProblem::None:
      case TrustProblem::Other:
        return forbidden(failure, fmt::format("{}: {}", describe(*tls.failed), tls.verify_text));
    }
  }
  if (tls.leaf) return wrong_name(failure);
  return forbidden(failure, because_of(failure));
}

// A new authority may have the name of the old one, so other problems than an unknown authority are of the
// roots, too.
Error untrusted(const Failure& failure, WallTime now) {
  Error why = why_untrusted(failure, now);
  if (at_proxy(failure) || !failure.tls.failed) return why;
  return std::move(why).with_detail(Untrusted());
}

std::string certificate_hint(const Failure& failure) {
  if (failure.host_tls && !failure.host_tls->certificate_hint.empty())
    return failure.host_tls->certificate_hint;
  return "give one (client-certificate and client-key in a kubeconfig)";
}

// " (/etc/docker/certs.d/registry.example)": where the client certificate is from, if it is known.
std::string place_of(const Failure& failure) {
  const bool known = failure.host_tls && !failure.host_tls->place.empty();
  return known ? fmt::format(" ({})", failure.host_tls->place) : "";
}

/// The server broke the handshake off because of our certificate, or of its absence.
Error client_rejected(const Failure& failure, WallTime now) {
  Error result =
      error(ErrorKind::Forbidden, "{} demands a client certificate and got none", failure.url.authority())
          .with_hint(certificate_hint(failure));
  if (failure.has_client_certificate) {
    result.message = fmt::format("{} does not accept our client certificate", failure.url.authority());
    result.hint = fmt::format("ask for a new client certificate, or check that it belongs to this server{}",
                              place_of(failure));
    if (const auto facts = read_certificate(failure.client_certificate_pem)) {
      result.message += fmt::format(" {}", describe(*facts));
      if (facts->not_after < now) {
        result.message += fmt::format(", which expired at {}, {} ago", format_time(facts->not_after),
                                      format_age(now - facts->not_after));
        result.hint = fmt::format("get a new client certificate{}", place_of(failure));
      }
    }
  }
  result.because = because_of(failure);
  return result;
}

/// A server of TLS 1.3 refuses our certificate only after the handshake, by an alert and the end of the
/// connection; what we send meanwhile may meet that end before the alert is read. So what broke before any
/// answer names the certificate where it may be the reason.
Error with_doubtful_certificate(Error broken, const Failure& failure, WallTime now) {
  if (!failure.has_client_certificate || failure.url.scheme != "https") return broken;
  const auto facts = read_certificate(failure.client_certificate_pem);
  if (!facts) return broken;
  if (facts->not_after < now)
    broken.hint =
        fmt::format("get a new client certificate: ours, {}, expired at {}, {} ago", describe(*facts),
                    format_time(facts->not_after), format_age(now - facts->not_after));
  else if (failure.tls.certificate_asked)
    broken.hint = fmt::format(
        "if it breaks every time, the server may not accept our client certificate {}: ask for a new one, or "
        "check that it belongs to this server{}",
        describe(*facts), place_of(failure));
  return broken;
}

Error unusable_key_pair(const Failure& failure) {
  return error(ErrorKind::Invalid, "the client certificate or its key can't be used")
      .with_because(because_of(failure))
      .with_hint(fmt::format("both must be PEM texts that belong together, the key not encrypted{}",
                             place_of(failure)));
}

bool is_client_certificate_alert(const std::string& detail) {
  // The wording of OpenSSL for TLS alerts 42 to 49 and 116.
  for (const std::string_view alert :
       {"alert bad certificate", "alert certificate", "certificate required", "alert unknown ca",
        "alert unsupported certificate", "alert access denied"})
    if (contains(detail, alert)) return true;
  return false;
}

Error handshake_failed(const Failure& failure, WallTime now) {
  if (at_proxy(failure)) return proxy_unreachable(failure, "can't be talked to by TLS");
  if (is_client_certificate_alert(failure.detail)) return client_rejected(failure, now);
  if (contains(failure.detail, "wrong version number") ||
      contains(failure.detail, "packet length too long") || contains(failure.detail, "http request"))
    return error(ErrorKind::Forbidden, "the server at {} does not speak TLS", failure.url.authority())
        .with_because(because_of(failure))
        .with_hint(fmt::format("check the port; a server without TLS has the address http://{}",
                               failure.url.authority()));
  if (contains(failure.detail, "protocol version") || contains(failure.detail, "unsupported protocol"))
    return error(ErrorKind::Forbidden, "the server at {} offers no TLS version from 1.2 on",
                 failure.url.authority())
        .with_because(because_of(failure));
  return with_doubtful_certificate(
      retryable(failure, fmt::format("the TLS handshake with {} broke off", failure.url.authority()))
          .with_because(because_of(failure))
          .with_hint("check the address and the port; something between here and there may break TLS"),
      failure, now);
}

Error tunnel_refused(const Failure& failure) {
  const std::string message = fmt::format("the proxy {} answered {} to the request to reach {}",
                                          failure.proxy, failure.proxy_status, failure.url.authority());
  if (failure.proxy_status == 407)
    return error(ErrorKind::Forbidden, "{}", message)
        .with_hint("put the proxy's user and password into its URL");
  if (failure.proxy_status == 403)
    return error(ErrorKind::Forbidden, "{}", message)
        .with_hint(fmt::format("ask who runs the proxy, or add {} to NO_PROXY", failure.url.host));
  return retryable(failure, message);
}

Error broken(const Failure& failure, WallTime now) {
  if (failure.proxy_status != 0 && failure.proxy_status / 100 != 2) return tunnel_refused(failure);
  if (is_client_certificate_alert(failure.detail)) return client_rejected(failure, now);
  const std::string server = failure.url.authority();
  const std::string message =
      failure.received > 0
          ? fmt::format("the connection to {} broke in the middle of the answer, after {} bytes", server,
                        failure.received)
          : fmt::format("the connection to {} broke before an answer came", server);
  Error result = retryable(failure, message).with_because(because_of(failure));
  if (failure.url.scheme == "http" && failure.received == 0)
    result.hint = fmt::format("if the server uses TLS, its address is https://{}", server);
  return failure.received > 0 ? result : with_doubtful_certificate(std::move(result), failure, now);
}

Error garbage(const Failure& failure) {
  return retryable(failure, fmt::format("the server at {} does not speak HTTP", failure.url.authority()))
      .with_because(because_of(failure))
      .with_hint(failure.url.scheme == "http"
                     ? fmt::format("check the port; a server with TLS has the address https://{}",
                                   failure.url.authority())
                     : "check the address and the port");
}

// A server that refuses our certificate by an alert of TLS 1.3 reads nothing of the request before it.
bool refused_unread(const Failure& failure) {
  const bool after_handshake = failure.code == CURLE_RECV_ERROR || failure.code == CURLE_SEND_ERROR;
  return after_handshake && is_client_certificate_alert(failure.detail);
}

Error described(const Failure& failure, WallTime now) {
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return no_such_host(failure);
    case CURLE_COULDNT_RESOLVE_PROXY:
      return proxy_unreachable(failure, "has a host name that can't be resolved");
    case CURLE_COULDNT_CONNECT:
      return failure.proxy_status != 0 ? broken(failure, now) : not_connected(failure);
    case CURLE_PROXY:
      return failure.proxy_status != 0 ? tunnel_refused(failure)
                                       : proxy_unreachable(failure, "did not open the way");
    case CURLE_OPERATION_TIMEDOUT:
      return timed_out(failure);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ISSUER_ERROR:
      return untrusted(failure, now);
    case CURLE_SSL_CONNECT_ERROR:
      return failure.tls.verify_error != 0 ? untrusted(failure, now) : handshake_failed(failure, now);
    case CURLE_SSL_CERTPROBLEM:
      return unusable_key_pair(failure);
    case CURLE_SSL_CACERT_BADFILE:
      return error(ErrorKind::Invalid, "the certificates of the trusted authorities can't be read")
          .with_because(because_of(failure))
          .with_hint("certificate-authority must hold PEM certificates");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return garbage(failure);
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return broken(failure, now);
    case CURLE_URL_MALFORMAT:
      return error(ErrorKind::Invalid, "'{}' is not a URL that can be used", loggable_url(failure.url.str()))
          .with_because(because_of(failure));
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
      return error(ErrorKind::Internal, "the HTTP library failed").with_because(because_of(failure));
    default:
      // libcurl has no code of its own for a key that doesn't fit.
      if (contains(failure.detail, "private key")) return unusable_key_pair(failure);
      return retryable(failure, fmt::format("the request to {} failed", failure.url.authority()))
          .with_because(because_of(failure));
  }
}

}  // namespace

// When a kept connection ends without an answer, libcurl repeats the request on a new one by itself. Even if
// that one fails before anything is sent, the request was sent by the first.
Error describe_failure(const Failure& failure, WallTime now) {
  Error what = described(failure, now);
  if (!failure.sent || maybe_acted_on(what) || refused_unread(failure)) return what;
  return as_maybe_sent(std::move(what));
}

}  // namespace mist::http
