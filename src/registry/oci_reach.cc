#include "registry/oci_reach.h"

#include <algorithm>

#include "base/url.h"
#include "http/public_address.h"
#include "oci/reference.h"

namespace mist::registry {
namespace {

// "registry.corp.example" → "corp.example"; empty: it has none, or others have hosts there too ("co.uk").
std::string_view own_domain(std::string_view host) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (host.find(':') != std::string_view::npos || host.empty() || is_digit(host.back())) return {};
  const auto dot = host.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view domain = host.substr(dot + 1);
  const auto second = domain.find('.');
  if (second == std::string_view::npos) return {};
  const std::string_view rest = domain.substr(second + 1);
  const bool of_a_country = rest.size() == 2 && second <= 3;
  return of_a_country || rest.empty() ? std::string_view() : domain;
}

bool is_own_host(const http::Url& registry, const http::Url& url) {
  if (url.host == registry.host) return true;
  const std::string_view domain = own_domain(registry.host);
  if (domain.empty() || url.scheme != "https") return false;
  return url.host == domain ||
         (url.host.ends_with(domain) && url.host.substr(0, url.host.size() - domain.size()).ends_with('.'));
}

// Behind a proxy its name may mean nothing here; then the proxy's rules hold.
bool is_private(const std::string& host, const http::Resolver& resolve) {
  const auto addresses = resolve(host);
  return addresses && std::ranges::any_of(*addresses, [](const std::string& address) {
           return !http::is_public_address(address);
         });
}

}  // namespace

bool must_be_public(std::string_view origin, const http::Url& url, const http::Resolver& resolve) {
  const auto registry = http::Url::parse(origin);
  if (!registry) return true;
  if (url.origin() == registry->origin()) return false;
  if (oci::is_loopback_host(registry->authority()) && oci::is_loopback_host(url.authority())) return false;
  return !is_own_host(*registry, url) || !is_private(registry->host, resolve);
}

bool may_follow(std::string_view host, std::string_view from, const http::Url& to) {
  if (scheme_of(from) == "https" && to.scheme != "https") return false;
  return oci::is_loopback_host(host) || !oci::is_loopback_host(to.authority());
}

}  // namespace mist::registry
