#include "formats/trusted_servers.h"

#include <cstdint>
#include <utility>

#include "base/text.h"
#include "http/url.h"

namespace mist::formats {
namespace {

// "https://me@git.example:8443/x" → "git.example:8443", "me@git.example:x" → "git.example"; empty: it has
// none. Plain http is a service of its own, also where its port goes without saying.
std::string server_of(std::string_view address) {
  const auto scheme_end = address.find("://");
  const bool has_scheme = scheme_end != std::string_view::npos;
  const std::string scheme = has_scheme ? lower_case(address.substr(0, scheme_end)) : "ssh";
  if (has_scheme) address.remove_prefix(scheme_end + 3);
  if (!has_scheme && address.find(':') == std::string_view::npos) return {};
  const std::string_view authority = address.substr(0, address.find_first_of(has_scheme ? "/?#" : ":"));
  // The server that http::Client connects to, by the same reading.
  const auto url = http::Url::parse(fmt::format("{}://{}", scheme == "http" ? "http" : "https", authority));
  if (!url) return {};
  constexpr std::uint16_t kHttps = 443, kSsh = 22;
  const std::string_view port = authority.substr(authority.find_last_of("@]") + 1);
  const bool names_port = port.find(':') != std::string_view::npos;
  const bool usual = scheme == "http"  ? false
                     : scheme == "ssh" ? !names_port || url->port == kSsh
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
  if (!request.url.starts_with("https://"))
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
