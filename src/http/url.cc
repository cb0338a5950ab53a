#include "http/url.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/url_credentials.h"

namespace mist::http {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// RFC 3986 section 5.2.4, of a path that begins with '/'.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  bool open = false;  // it ends with a directory
  for (const std::string_view part : split(path.substr(1), '/')) {
    open = part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!open) kept.push_back(part);
  }
  if (open) kept.emplace_back();
  std::string result;
  for (const std::string_view part : kept) result.append("/").append(part);
  return result;
}

std::uint16_t default_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

std::string bracketed(std::string_view host) {
  return host.find(':') == std::string_view::npos ? std::string(host) : fmt::format("[{}]", host);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

Error invalid(std::string_view text, std::string_view why) {
  return error(ErrorKind::Invalid, "'{}' is not a URL that can be used: {}",
               escape_controls(loggable_url(text)), why);
}

// Outside of brackets, where it begins a zone, a '%' would be an escape, and libcurl asks what it stands for.
bool is_host(std::string_view host) {
  const bool address = host.find(':') != std::string_view::npos;
  return std::ranges::all_of(host,
                             [&](char c) { return is_unreserved(c) || (address && (c == ':' || c == '%')); });
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const bool clean = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (!clean) return invalid(text, "it has blanks, control or non-ASCII characters; escape them");
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return invalid(text, "it must begin with https:// or http://");

  Url url;
  url.scheme = lower_case(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https")
    return invalid(text, "only https:// and http:// are supported");
  std::string_view rest = text.substr(colon + 3);
  if (rest.find('#') != std::string_view::npos) return invalid(text, "it has a fragment ('#')");

  const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, authority_end);
  rest.remove_prefix(authority_end);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }

  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return invalid(text, "a '[' without its ']'");
    url.host = lower_case(authority.substr(1, end - 1));
    port = authority.substr(end + 1);
    if (url.host.find(':') == std::string::npos) return invalid(text, "brackets are for IPv6 addresses");
  } else {
    const std::size_t end = std::min(authority.find(':'), authority.size());
    url.host = lower_case(authority.substr(0, end));
    port = authority.substr(end);
  }
  if (url.host.empty()) return invalid(text, "it names no host");
  if (!is_host(url.host)) return invalid(text, "its host has characters that no host name has");
  if (port.empty() || port == ":") {
    url.port = default_port(url.scheme);
  } else {
    const std::optional<std::uint16_t> number =
        port.front() == ':' ? parse_port(port.substr(1)) : std::optional<std::uint16_t>();
    if (!number) return invalid(text, "its port is not a number from 1 to 65535");
    url.port = *number;
  }

  const std::size_t query = std::min(rest.find('?'), rest.size());
  if (query > 0) url.path = rest.substr(0, query);
  if (query < rest.size()) url.query = rest.substr(query + 1);
  return url;
}

std::string Url::authority() const { return fmt::format("{}:{}", bracketed(host), port); }

std::string Url::origin() const {
  if (port == default_port(scheme)) return fmt::format("{}://{}", scheme, bracketed(host));
  return fmt::format("{}://{}", scheme, authority());
}

std::string Url::str() const {
  return fmt::format("{}{}{}{}", origin(), path, query.empty() ? "" : "?", query);
}

std::string escape_segment(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string escape_query(std::string_view text) { return escape_segment(text); }

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

std::string query_of(std::span<const std::pair<std::string, std::string>> parameters) {
  std::string out;
  for (const auto& [name, value] : parameters)
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", escape_query(name), escape_query(value));
  return out;
}

std::string join_url(std::string_view base, std::string_view path) {
  while (base.ends_with('/')) base.remove_suffix(1);
  while (path.starts_with('/')) path.remove_prefix(1);
  return fmt::format("{}/{}", base, path);
}

bool has_scheme(std::string_view url) {
  const auto end = url.find_first_of(":/?#");
  return end != std::string_view::npos && end > 0 && url[end] == ':';
}

std::string resolved_url(std::string_view base, std::string_view to) {
  if (has_scheme(to)) return std::string(to);
  base = base.substr(0, base.find('#'));
  const auto scheme = base.find("://");
  const auto host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto path_begin = std::min(base.find_first_of("/?", host), base.size());
  const auto query_begin = std::min(base.find('?', path_begin), base.size());
  std::string resolved(base.substr(0, path_begin));
  std::string_view path = base.substr(path_begin, query_begin - path_begin), query = base.substr(query_begin);
  if (to.starts_with("//")) {
    const auto end = std::min(to.find_first_of("/?#", 2), to.size());
    resolved = std::string(base.substr(0, host)).append(to.substr(2, end - 2));
    path = query = {};
    to.remove_prefix(end);
  }
  const auto end = std::min(to.find_first_of("?#"), to.size());
  const std::string_view own = to.substr(0, end), rest = to.substr(end);
  if (own.empty()) return resolved.append(path).append(rest.starts_with('?') ? "" : query).append(rest);
  if (own.starts_with('/')) return resolved.append(without_dots(own)).append(rest);
  const std::string below = fmt::format("{}/{}", path.substr(0, std::min(path.rfind('/'), path.size())), own);
  return resolved.append(without_dots(below)).append(rest);
}

std::string loggable_url(std::string_view url) {
  std::string out;
  if (const std::size_t colon = url.find("://"); colon != std::string_view::npos) {
    out = url.substr(0, colon + 3);
    url = without_userinfo(url.substr(colon + 3));
  }
  const std::size_t query = url.find('?');
  out += redact_urls(url.substr(0, query));  // of URLs within it
  return query == std::string_view::npos ? out : out + hidden_query(url.substr(query + 1));
}

}  // namespace mist::http
