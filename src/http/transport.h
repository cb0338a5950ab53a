#pragma once
// HTTP as the rest of Mistletoe sees it: blocking calls with a Context. client.h is the real one (libcurl on
// one I/O thread), testing/fake_transport.h the scripted one. Implementations may be used from any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/body_source.h"

namespace mist::http {

/// Names compare without case.
struct Header {
  std::string name;
  std::string value;
};
using Headers = std::vector<Header>;

/// The first value of `name`; empty if there is none.
std::string_view find_header(const Headers& headers, std::string_view name);

/// True for an error of Transport after which the server can't have seen the request (nothing listens, no
/// such host, TLS failed): sending it again is safe even when Repeat is Unsafe. False also means "not known".
bool surely_not_sent(const Error& error);
/// True for an error after which the server may have acted on the request, or may still do so. False also
/// means "not known".
bool maybe_acted_on(const Error& error);

/// Whether the server can have seen a request that got no answer.
enum class Sent : std::uint8_t { Nothing, Maybe };
/// The Retryable error of such a request: `failed` says what happened, the message also what is known of
/// that.
Error undelivered(Sent sent, std::string failed);
/// `failure`, after which the server may have acted all the same: maybe_acted_on() is true of it.
Error as_maybe_sent(Error failure);
/// The text given to undelivered(); of other errors the message.
std::string without_sent(const Error& error);

/// Whether a request may be sent again when nobody knows if the first try arrived. Never: only its sender
/// repeats it, and has to hear of each outage.
enum class Repeat : std::uint8_t { Safe, Unsafe, Never };

struct Request {
  std::string method = "GET";
  std::string url = {};  ///< absolute; path and query are escaped already
  Headers headers = {};  ///< without Authorization
  std::string body = {};
  std::shared_ptr<const BodySource> source = {};   ///< the body in place of `body`, read while it is sent
  std::optional<SecretString> authorization = {};  ///< the whole value: "Bearer …"; never logged
  Repeat repeat = Repeat::Unsafe;
  std::uint64_t response_limit = std::uint64_t{512} << 20;  ///< bytes of body; more is an Invalid error
  /// No byte for this long is a Retryable error; nullopt: the client's default.
  std::optional<Duration> idle_timeout = {};
  /// For name, connection, proxy and TLS together; nullopt: the client's default.
  std::optional<Duration> connect_timeout = {};
  /// For the whole exchange with its repeats, but without getting the credentials, which may ask a person:
  /// kube::AuthTransport keeps it, other transports only know their Context.
  std::optional<Duration> time_limit = {};
  /// Forbidden, before a connection is opened, unless the server is at a public address (public_address.h).
  /// Through a proxy, which resolves names itself, only the URL's host is judged.
  bool public_only = false;
  /// Of a write. Once its caller is stopped, nothing of it is sent any more; but if it was sent, its answer
  /// is waited for this long, so that the caller knows what it did. If none comes then, or before its
  /// deadline, maybe_acted_on() the error, which is Cancelled or Timeout.
  Duration await_answer = {};
  /// Asked before it is sent, after it, and when this process or its machine was stopped meanwhile: an error
  /// ends the exchange, and if it says more than that nobody waits any more (Timeout, Cancelled), its
  /// connection. Any thread may ask as long as somebody waits for the exchange. Empty: it may always be sent.
  std::function<Status()> may_be_sent = {};
};

/// Of its body, in bytes.
std::uint64_t body_size(const Request& request);

struct Response {
  int status = 0;
  Headers headers = {};
  std::string body = {};
};

/// Called on the calling thread with each piece of the body as it arrives; false ends the exchange without
/// error.
using BodyPiece = std::function<bool(std::string_view)>;

class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends once; any HTTP status is a Response. Errors: Retryable (connection refused, reset, cut, garbage;
  /// the message says whether anything had been sent), Forbidden (TLS: untrusted (untrusted.h), expired,
  /// wrong name; public_only), Invalid (URL, body over the limit), Timeout, Cancelled.
  virtual Result<Response> send(const Request& request, const Context& context) = 0;

  /// The same with a body that is handed on while it arrives (watches). The Response has no body when its
  /// status is 2xx; of other statuses it has the body and `piece` is not called.
  virtual Result<Response> stream(const Request& request, const BodyPiece& piece, const Context& context) = 0;
};

}  // namespace mist::http
