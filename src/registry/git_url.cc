#include "registry/git_url.h"

#include <algorithm>

#include "base/text.h"
#include "base/url.h"
#include "base/url_credentials.h"
#include "config/redact.h"
#include "http/public_address.h"
#include "http/url.h"

namespace mist::registry {
namespace {

constexpr std::size_t kMaxUrl = 1024;
constexpr std::string_view kPossible =
    "use https://<host>/<repository>, ssh://<user>@<host>/<repository>, <user>@<host>:<repository>, or a "
    "path "
    "on this machine";
// For passwords that git would take for a port and a path, and show.
constexpr std::string_view kEscapePassword =
    "write a port as a number; in a password write / as %2F, ? as %3F, # as %23, @ as %40 and a blank as %20";

Error bad(std::string_view text, std::string_view why, std::string hint = std::string(kPossible)) {
  return error(ErrorKind::Invalid, "'{}' can't be used as the address of a git repository: {}",
               shown_url(text), why)
      .with_hint(std::move(hint));
}

std::string_view without_user(std::string_view authority) {
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  return authority;
}

// A host or user that begins with '-' would be an option of ssh.
bool is_host(std::string_view host) {
  return !host.empty() && host.front() != '-' &&
         std::ranges::none_of(host, [](char c) { return c == ' ' || c == '%' || c == '@'; });
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

// "ext::sh -c …": two colons that aren't those of an IPv6 address in a URL.
bool names_helper(std::string_view text) {
  const auto colons = text.find("::");
  if (colons == std::string_view::npos) return false;
  const auto scheme = text.find("://");
  const auto open = text.find('[');
  return scheme == std::string_view::npos || open == std::string_view::npos || scheme > colons ||
         open > colons || text.substr(scheme + 3, open - scheme - 3).find('/') != std::string_view::npos;
}

// "git@host:path": a colon before the first slash. git itself calls it the scp form; it is no URL.
bool is_scp_form(std::string_view text) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && colon > 0 &&
         text.substr(0, colon).find('/') == std::string_view::npos;
}

}  // namespace

bool is_this_machine(std::string_view url) {
  const std::optional<UrlParts> parts = split_url(url);
  return parts && is_loopback(parts->host);
}

Result<GitUrl> GitUrl::parse(std::string_view text, const Path& directory) {
  if (text.empty()) return bad(text, "it is empty");
  if (text.size() > kMaxUrl) return bad(text, fmt::format("it is longer than {} bytes", kMaxUrl));
  if (text.front() == '-') return bad(text, "it begins with '-'");
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }) ||
      !is_valid_utf8(text))
    return bad(text, "it holds a control character or invalid UTF-8");
  if (names_helper(text)) return bad(text, "remote helpers ('<helper>::<address>') may run any program");

  if (!text.contains("://")) {
    if (is_scp_form(text)) {
      const std::string_view host = without_user(text.substr(0, text.find(':')));
      if (!is_host(host) || text.ends_with(':')) return bad(text, "it has no host, or nothing behind it");
      return GitUrl(std::string(text), Transport::Ssh);
    }
    const Path path = Path(text).is_absolute() ? Path(text) : directory / Path(text);
    if (!path.is_absolute()) return bad(text, "it is neither a URL nor an absolute path");
    return GitUrl("file://" + path.lexically_normal().string(), Transport::File);
  }
  const std::optional<UrlParts> url = split_url(text);
  // git knows protocols in lower case only.
  const std::string scheme = scheme_of(text);
  const std::string address = scheme + std::string(text.substr(scheme.size()));
  if (scheme == "file") {
    if (!url || !url->authority.empty() || url->path.empty())
      return bad(text, "file:// needs an absolute path", "write file:///<path>");
    return GitUrl(address, Transport::File);
  }
  if (scheme != "https" && scheme != "ssh" && scheme != "http")
    return bad(text, scheme.empty() ? "it doesn't begin with a scheme"
                                    : fmt::format("'{}' is not an allowed protocol", scheme));
  // "https://u:/pw@host": a password that begins with '/' follows what looks like an empty port.
  if (!url || url->server.ends_with(':'))
    return bad(text, "its user, host or port isn't written as in a URL", std::string(kEscapePassword));
  if (!is_host(url->host) || url->userinfo.starts_with('-')) return bad(text, "it has no host");
  if (scheme == "https") return GitUrl(address, Transport::Https);
  if (scheme == "ssh") return GitUrl(address, Transport::Ssh);
  if (is_loopback(url->host)) return GitUrl(address, Transport::LoopbackHttp);
  return bad(text, "anybody on the way could change what http delivers", "use https:// or ssh://");
}

std::string GitUrl::display() const { return config::redact_urls(text_); }

std::string_view GitUrl::host() const {
  if (transport_ == Transport::File) return {};
  if (const std::optional<UrlParts> url = split_url(text_)) return url->host;
  return without_user(std::string_view(text_).substr(0, text_.find(':')));
}

std::string_view GitUrl::protocol() const {
  switch (transport_) {
    case Transport::Https:
      return "https";
    case Transport::Ssh:
      return "ssh";
    case Transport::File:
      return "file";
    case Transport::LoopbackHttp:
      return "http";
  }
  return "https";
}

Result<GitUrl> GitUrl::limited_to_public(const http::Resolver& resolve) const {
  const auto forbidden = [&](std::string why) {
    return error(ErrorKind::Forbidden, "{} is not a repository of the Internet", escape_controls(display()))
        .with_because(std::move(why));
  };
  if (transport_ != Transport::Https) return forbidden("only https is possible for what a package names");
  MIST_TRY(const http::Url url, http::Url::parse(text_));
  if (!http::may_be_public_host(url.host))
    return forbidden("its host is of this machine or of a private network");
  MIST_TRY(const std::vector<std::string> addresses, resolve(url.host));
  std::string list;
  for (const std::string& address : addresses) {
    if (!http::is_public_address(address))
      return forbidden(fmt::format("{} is at {}, an address of this machine or of a private network",
                                   url.host, escape_controls(address)));
    list += fmt::format("{}{}", list.empty() ? "" : ",",
                        address.contains(':') ? fmt::format("[{}]", address) : address);
  }
  GitUrl limited = without_redirects();
  limited.public_only_ = true;
  const bool is_address = addresses.size() == 1 && url.host.contains(addresses.front());
  if (!is_address)
    limited.settings_.push_back(fmt::format("http.curloptResolve={}:{}:{}", url.host, url.port, list));
  return limited;
}

GitUrl GitUrl::without_redirects() const {
  GitUrl result = *this;
  result.settings_ = {"http.followRedirects=false"};
  return result;
}

bool is_git_ref(std::string_view text) {
  if (text.empty() || text.size() > 200 || text.find("..") != std::string_view::npos) return false;
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '+' || c == '/';
  };
  if (!std::ranges::all_of(text, allowed) || text.ends_with(".lock")) return false;
  return std::ranges::all_of(split(text, '/'), [](std::string_view segment) {
    return !segment.empty() && segment.front() != '-' && segment.front() != '.' && segment.back() != '.';
  });
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && is_lower_hex(text);
}

}  // namespace mist::registry
