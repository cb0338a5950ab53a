#pragma once
// URLs (RFC 3986), taken apart and put together by Boost.URL, which url.cc alone sees. Some addresses are no
// URLs and have readers of their own: git's scp form (registry/git_url.h), references to OCI registries
// (oci/reference.h), patterns of the trust policy (trust/), and PostgreSQL's lists of hosts (postgres/url.h).
// Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mist {

/// The parts of "scheme://userinfo@host:port/path?query#fragment", as they are written: views of the text
/// that was split, with its escapes and its case.
struct UrlParts {
  std::string_view scheme;
  std::string_view authority;  ///< userinfo, host and port
  std::string_view server;     ///< host and port
  std::string_view userinfo;   ///< without the '@'
  std::string_view host;       ///< an IPv6 address in its brackets; empty in "file:///x"
  std::uint16_t port = 0;      ///< 0: none is written
  std::string_view path;       ///< empty, or begins with '/'
  std::string_view query;      ///< without the '?'
  std::string_view fragment;   ///< without the '#'
  std::string_view target;     ///< path and query, with its '?'
};

/// Nothing: `text` is no URL with "://". Everything before the path must be as RFC 3986 has it: a port is a
/// number from 1 to 65535, a user or password has no '@', '/', '?', '#' or blank that isn't escaped, an IPv6
/// address has no zone. Behind that, characters that should be escaped are tolerated, as by git, curl and
/// browsers.
std::optional<UrlParts> split_url(std::string_view text);

/// In lower case: "https" of "HTTPS://h/x", "mailto" of "mailto:x"; empty: there is none, as in "//h/x" and
/// "x". The rest is not judged: "host:80" has one too.
std::string scheme_of(std::string_view text);
/// True for https: and http:, in any case.
bool is_http(std::string_view text);
/// True for what begins with a scheme and "://", whatever follows.
bool is_url(std::string_view text);

/// RFC 3986 section 5.2: `reference` resolved in a document at `base`. A reference with a scheme stays as it
/// is, and so does one that can't be resolved, which names no scheme and so is no URL. Elsewhere stray
/// characters are escaped.
std::string resolved_url(std::string_view base, std::string_view reference);

/// True if both are URLs of the same scheme, host and port, http's and https's own ports being known.
bool same_origin(std::string_view url, std::string_view other);

/// `url` with `userinfo`, escaped, in place of its own; as it is if it is no URL.
std::string with_userinfo(std::string_view url, std::string_view userinfo);

/// Escapes everything but unreserved characters (RFC 3986 section 2.3) and those of `kept`: ' ' becomes
/// "%20".
std::string percent_encoded(std::string_view text, std::string_view kept = {});
/// The inverse; an incomplete escape stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace mist
