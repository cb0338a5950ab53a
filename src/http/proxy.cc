#include "http/proxy.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

#include "base/text.h"
#include "base/url.h"

namespace mist::http {
namespace {

struct Address {
  std::array<unsigned char, 16> bytes{};
  std::size_t size = 0;  // 4 or 16
};

std::optional<Address> parse_address(std::string_view text) {
  const std::string zero_terminated(text);
  Address address;
  if (::inet_pton(AF_INET, zero_terminated.c_str(), address.bytes.data()) == 1) {
    address.size = 4;
    return address;
  }
  if (::inet_pton(AF_INET6, zero_terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.size = 16;
  return address;
}

bool is_loopback(const Address& address) {
  if (address.size == 4) return address.bytes[0] == 127;
  return std::all_of(address.bytes.begin(), address.bytes.end() - 1,
                     [](unsigned char b) { return b == 0; }) &&
         address.bytes[15] == 1;
}

bool in_network(const Address& address, const Address& network, unsigned bits) {
  if (address.size != network.size || bits > address.size * 8) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80u >> (bit % 8);
    if (((address.bytes[bit / 8] ^ network.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool cidr_matches(std::string_view entry, const std::optional<Address>& host) {
  const std::size_t slash = entry.find('/');
  const std::optional<Address> network = parse_address(entry.substr(0, slash));
  unsigned bits = 0;
  const std::string_view count = entry.substr(slash + 1);
  const auto [end, code] = std::from_chars(count.data(), count.data() + count.size(), bits);
  return host && network && code == std::errc() && end == count.data() + count.size() &&
         in_network(*host, *network, bits);
}

/// Takes ":443" off the end of an entry; 0 when it has none.
unsigned take_port(std::string_view& entry) {
  const std::size_t colon = entry.rfind(':');
  const bool bare_ipv6 = std::ranges::count(entry, ':') > 1 && !entry.starts_with('[');
  if (colon == std::string_view::npos || bare_ipv6 || entry.ends_with(']')) return 0;
  unsigned port = 0;
  const std::string_view digits = entry.substr(colon + 1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (code != std::errc() || end != digits.data() + digits.size()) return 0;
  entry = entry.substr(0, colon);
  return port;
}

bool domain_matches(std::string_view entry, std::string_view host) {
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  // ".example.org" means the hosts below it, "example.org" also itself.
  const bool only_below = entry.starts_with('.');
  const std::string suffix = only_below ? std::string(entry) : fmt::format(".{}", entry);
  return (!only_below && host == entry) || (host.size() > suffix.size() && host.ends_with(suffix));
}

bool entry_matches(std::string_view entry, const Url& url, const std::optional<Address>& address) {
  if (entry.find('/') != std::string_view::npos) return cidr_matches(entry, address);
  const unsigned port = take_port(entry);
  if (port != 0 && port != url.port) return false;
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (const std::optional<Address> listed = parse_address(entry))
    return address && in_network(*address, *listed, static_cast<unsigned>(listed->size * 8));
  return domain_matches(entry, url.host);
}

}  // namespace

ProxyEnvironment ProxyEnvironment::from(const std::function<const char*(const char*)>& lookup) {
  const auto first = [&](const char* upper, const char* lower) -> std::string {
    for (const char* name : {upper, lower})
      if (const char* value = lookup(name); value != nullptr && *value != '\0') return value;
    return {};
  };
  ProxyEnvironment result;
  result.http_proxy = lookup("REQUEST_METHOD") == nullptr ? first("HTTP_PROXY", "http_proxy") : std::string();
  result.https_proxy = first("HTTPS_PROXY", "https_proxy");
  result.no_proxy = first("NO_PROXY", "no_proxy");
  return result;
}

bool bypasses_proxy(const Url& url, std::string_view no_proxy) {
  if (url.host == "localhost") return true;
  const std::optional<Address> address = parse_address(url.host);
  if (address && is_loopback(*address)) return true;
  for (const std::string_view part : split(no_proxy, ',')) {
    const std::string_view entry = trim(part);
    if (entry.empty()) continue;
    if (entry == "*") return true;
    if (entry_matches(lower_case(entry), url, address)) return true;
  }
  return false;
}

Result<std::string> normal_proxy(std::string_view proxy) {
  const std::string_view given = trim(proxy);
  const std::string text = fmt::format("{}{}", given.contains("://") ? "" : "http://", given);
  const std::string scheme = scheme_of(text);
  const bool socks = scheme == "socks5" || scheme == "socks5h";
  if (!socks && !is_http(text))
    return error(ErrorKind::Invalid, "the proxy '{}' can't be used: its scheme must be http, https or socks5",
                 loggable_url(given));
  // Only the authority counts; parsing it as a web address checks host and port.
  MIST_TRY(const Url parsed, Url::parse((scheme == "https" ? "https" : "http") + text.substr(scheme.size()))
                                 .in("while reading the proxy's address"));
  const std::optional<UrlParts> parts = split_url(text);
  const bool has_port = parts && parts->port != 0;
  const unsigned port = has_port || !socks ? parsed.port : 1080u;
  const std::string host =
      parsed.host.find(':') == std::string::npos ? parsed.host : fmt::format("[{}]", parsed.host);
  return fmt::format("{}://{}{}{}:{}", socks ? "socks5h" : scheme, parsed.user,
                     parsed.user.empty() ? "" : "@", host, port);
}

Result<std::optional<std::string>> proxy_for(const Url& url, const ProxyEnvironment& environment) {
  const std::string& proxy = url.scheme == "https" ? environment.https_proxy : environment.http_proxy;
  if (proxy.empty() || bypasses_proxy(url, environment.no_proxy)) return std::optional<std::string>();
  MIST_TRY(std::string normal, normal_proxy(proxy));
  return std::optional<std::string>(std::move(normal));
}

}  // namespace mist::http
