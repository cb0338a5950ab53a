#include "http/url.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/url.h"
#include "base/url_credentials.h"

namespace mist::http {
namespace {

std::uint16_t default_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

std::string bracketed(std::string_view host) {
  return host.find(':') == std::string_view::npos ? std::string(host) : fmt::format("[{}]", host);
}

Error invalid(std::string_view text, std::string_view why) {
  return error(ErrorKind::Invalid, "'{}' is not a URL that can be used: {}",
               escape_controls(loggable_url(text)), why);
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const bool clean = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (!clean) return invalid(text, "it has blanks, control or non-ASCII characters; escape them");
  if (!is_url(text)) return invalid(text, "it must begin with https:// or http://");
  if (!is_http(text)) return invalid(text, "only https:// and http:// are supported");
  if (text.contains('#')) return invalid(text, "it has a fragment ('#')");
  const std::optional<UrlParts> parts = split_url(text);
  if (!parts)
    return invalid(text,
                   "its user, host or port isn't written as in a URL; a port is a number from 1 to 65535, an "
                   "IPv6 address stands in brackets, other characters are escaped");
  if (parts->host.empty()) return invalid(text, "it names no host");
  Url url;
  url.scheme = lower_case(parts->scheme);
  url.user = parts->userinfo;
  url.host = lower_case(parts->host);
  const bool is_address = url.host.starts_with('[');
  if (is_address) url.host = url.host.substr(1, url.host.size() - 2);
  // An escape isn't what it stands for: libcurl would ask that.
  if (is_address ? url.host.find_first_not_of("0123456789abcdef:.") != std::string::npos
                 : percent_encoded(url.host) != url.host)
    return invalid(text, "its host has characters that no host name has");
  url.port = parts->port != 0 ? parts->port : default_port(url.scheme);
  if (!parts->path.empty()) url.path = parts->path;
  url.query = parts->query;
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

std::string escape_segment(std::string_view text) { return percent_encoded(text); }

std::string escape_query(std::string_view text) { return percent_encoded(text); }

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

// Of any text, a URL or not, so nothing is parsed.
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
