#pragma once
// URLs as Mistletoe needs them (RFC 3986): http and https, taken apart, put together, percent-escaped. Pure;
// any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace mist::http {

struct Url {
  std::string scheme;      ///< "http" or "https"
  std::string user;        ///< what precedes the '@', escaped; usually empty
  std::string host;        ///< lower case; IPv6 addresses without their brackets
  std::uint16_t port = 0;  ///< as written, or the scheme's default
  std::string path = "/";  ///< escaped; begins with '/'
  std::string query;       ///< escaped, without the '?'

  /// Invalid: another scheme, no host, a port that isn't one, blanks or control characters, a fragment.
  static Result<Url> parse(std::string_view text);

  /// "127.0.0.1:6443", "[::1]:6443": always with the port, for messages.
  std::string authority() const;
  /// "https://127.0.0.1:6443", without the port where it is the scheme's own.
  std::string origin() const;
  /// The whole URL, without `user`.
  std::string str() const;

  friend bool operator==(const Url&, const Url&) = default;
};

/// Escapes everything but unreserved characters (RFC 3986 section 2.3), '/' too. Undone by percent_decoded().
std::string escape_segment(std::string_view text);
/// The same for the name or value of a query parameter; a blank becomes %20.
std::string escape_query(std::string_view text);

/// "a=1&b=x%20y" of names and values as they are meant.
std::string query_of(std::span<const std::pair<std::string, std::string>> parameters);

/// One '/' between both: ("https://h/base/", "/api/v1") is "https://h/base/api/v1". Neither has a query.
std::string join_url(std::string_view base, std::string_view path);

/// `url` as it may stand in logs and messages: no user, and *** for query values that look like credentials.
std::string loggable_url(std::string_view url);

}  // namespace mist::http
