#pragma once
// Which proxy a request goes through, decided as Go's net/http (golang.org/x/net/http/httpproxy) does, so
// that mistctl and kubectl take the same way from one environment. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/url.h"

namespace mist::http {

/// The variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or their lower-case forms where those are empty.
struct ProxyEnvironment {
  std::string http_proxy = {};
  std::string https_proxy = {};
  std::string no_proxy = {};

  /// `lookup` answers what getenv would; null: not set. HTTP_PROXY is ignored in a CGI program
  /// (REQUEST_METHOD is set), where a client of that program chooses it (CVE-2016-5385).
  static ProxyEnvironment from(const std::function<const char*(const char*)>& lookup);
};

/// True when NO_PROXY, or the rule that local addresses need none, says that `url` is asked directly.
bool bypasses_proxy(const Url& url, std::string_view no_proxy);

/// The proxy for `url` as curl wants it; nullopt: none. Schemes: http, https, socks5 and socks5h (both let
/// the proxy resolve names, as Go does); without one it is http. Invalid: another scheme, no host.
Result<std::optional<std::string>> proxy_for(const Url& url, const ProxyEnvironment& environment);

/// The same for a proxy that was asked for by name (`proxy-url` of a kubeconfig): it is always used.
Result<std::string> normal_proxy(std::string_view proxy);

}  // namespace mist::http
