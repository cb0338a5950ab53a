#include "formats/trusted_servers.h"

#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "http/url.h"

namespace mist::formats {
namespace {

// "https://me@git.example:8443/x" → "git.example:8443", "me@git.example:x" → "git.example"; empty: it has
// none. Plain http is a service of its own, also where its port goes without saying.
std::string server_of(std::string_view address) {
  const bool has_scheme = address.contains("://");
  // git's scp form is no URL.
  if (!has_scheme && !address.contains(':')) return {};
  const std::string text =
      has_scheme ? std::string(address) : fmt::format("ssh://{}", address.substr(0, address.find(':')));
  const std::optional<UrlParts> parts = split_url(text);
  if (!parts) return {};
  const std::string scheme = lower_case(parts->scheme);
  // The server that http::Client connects to, by the same reading.
  const auto url =
      http::Url::parse(fmt::format("{}://{}", scheme == "http" ? "http" : "https", parts->server));
  if (!url) return {};
  constexpr std::uint16_t kHttps = 443, kSsh = 22;
  const bool usual = scheme == "http"  ? false
                     : scheme == "ssh" ? parts->port == 0 || parts->port == kSsh
                                       : url->port == kHttps;
  return usual ? url->host : url->authority();
}

}  // namespace

void TrustedServers::add(std::string_view address) {
  if (std::string server = server_of(address); !server.empty()) servers_.insert(std::move(server));
}

bool TrustedServers::contains(std::string_view address) const {
  const std::string server = server_of(address);
  return !server.empty() && servers_.contains(server);
}

Result<http::Response> LimitedTransport::judged(const http::Request& request, const Send& go_on) const {
  if (servers_.contains(request.url)) return go_on(request);
  if (scheme_of(request.url) != "https")
    return error(ErrorKind::Forbidden, "{} may not be asked",
                 escape_controls(http::loggable_url(request.url)))
        .with_because("only https proves who answers")
        .with_hint(hint_);
  http::Request limited = request;
  limited.public_only = true;
  Result<http::Response> response = go_on(limited);
  if (response || response.error().kind != ErrorKind::Forbidden || !response.error().hint.empty())
    return response;
  return std::move(response).error().with_hint(hint_);
}

Result<http::Response> LimitedTransport::send(const http::Request& request, const Context& context) {
  return judged(request, [&](const http::Request& each) { return behind_->send(each, context); });
}

Result<http::Response> LimitedTransport::stream(const http::Request& request, const http::BodyPiece& piece,
                                                const Context& context) {
  return judged(request, [&](const http::Request& each) { return behind_->stream(each, piece, context); });
}

}  // namespace mist::formats
