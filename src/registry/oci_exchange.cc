#include "registry/oci_exchange.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "http/url.h"
#include "oci/answers.h"
#include "oci/reference.h"
#include "registry/oci_reach.h"

namespace mist::registry {
namespace {

constexpr int kMaxHops = 10;
constexpr std::chrono::minutes kPatience{5};        // a login helper may ask a person
constexpr std::uint64_t kSlowestServer = 32 << 10;  // bytes per second

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_https(std::string_view origin) { return scheme_of(origin) == "https"; }

std::vector<oci::Challenge> challenges_in(const http::Response& response) {
  std::vector<oci::Challenge> all;
  for (const http::Header& header : response.headers) {
    if (lower_case(header.name) != "www-authenticate") continue;
    for (oci::Challenge& each : oci::parse_challenges(header.value)) all.push_back(std::move(each));
  }
  return all;
}

// Credentials for the registry are none for the server that it sends us to.
Error refused_elsewhere(const std::string& host, const http::Url& by, const http::Response& response) {
  return error(ErrorKind::Forbidden, "{}, where {} sends us, answered {}",
               escape_controls(oci::canonical_host(by.authority())), host, response.status)
      .with_because(oci::words_of(response.body))
      .with_hint("try again; if it stays so, ask whoever runs the registry");
}

Error not_reached(Error failure, const OciCall& call, bool at_registry) {
  if (!call.public_only || !at_registry) return sent_elsewhere(std::move(failure), call.host);
  if (failure.kind != ErrorKind::Forbidden || !failure.hint.empty()) return failure;
  failure.hint = fmt::format(
      "a package from elsewhere names it; if you trust that server: mistctl registry add NAME --oci {}{}",
      oci::kScheme, call.host);
  return failure;
}

// A server that sends a byte now and then is never idle, and never done.
Context bounded(const OciCall& call, const Context& context) {
  const std::uint64_t bytes = call.request.response_limit + http::body_size(call.request);
  return context.with_timeout(kPatience + std::chrono::seconds(bytes / kSlowestServer));
}

}  // namespace

OciCall OciCall::to_registry(const std::string& host, std::string_view path) {
  OciCall call{.host = host};
  call.request.url = path;
  call.request.repeat = http::Repeat::Safe;
  call.request.response_limit = kMaxOciAnswer;
  return call;
}

OciCall OciCall::to(const oci::Repository& repository, std::string_view rest) {
  OciCall call = to_registry(repository.host, fmt::format("/v2/{}/{}", repository.path, rest));
  call.repository = repository.path;
  call.public_only = repository.public_only;
  return call;
}

std::string origin_in(std::string_view url) {
  const Result<http::Url> parsed = http::Url::parse(url);
  return parsed ? parsed->origin() : std::string();
}

Error unexpected_answer(const http::Response& response, const std::string& host, std::string_view what) {
  const bool later = response.status == 429 || response.status >= 500;
  return error(later ? ErrorKind::Retryable : ErrorKind::Invalid, "{} answered {} to {}", host,
               response.status, what)
      .with_because(oci::words_of(response.body));
}

OciExchange::OciExchange(http::Transport& transport, FindLogin logins, bool plain_http,
                         http::Resolver resolve)
    : transport_(transport),
      auth_(transport, std::move(logins), resolve),
      plain_http_(plain_http),
      resolve_(std::move(resolve)) {}

bool OciExchange::has_answered(const std::string& host) {
  return auth_.known({.host = host, .origin = origin_of(host), .path = {}}).has_value();
}

std::string OciExchange::origin_of(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = origins_.find(host); known != origins_.end()) return known->second;
  const bool plain = plain_http_ || oci::is_loopback_host(host);
  return fmt::format("{}{}", plain ? "http://" : "https://", oci::api_host(host));
}

// A TLS server answers plain http with 400, or hangs up. Another thread may have found that out meanwhile.
bool OciExchange::may_be_tls(const std::string& host, const std::string& tried,
                             const Result<Answered>& result) const {
  if (plain_http_ || !oci::is_loopback_host(host) || is_https(tried)) return false;
  if (const std::lock_guard lock(mutex_); origins_.contains(host) && origins_.at(host) == tried) return false;
  if (result) return result->response.status == 400;
  return result.error().kind == ErrorKind::Retryable && !http::surely_not_sent(result.error());
}

// A host that was reached by TLS is not asked without it again.
void OciExchange::note_origin(const std::string& host, const std::string& origin) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = origins_.emplace(host, origin);
  if (!is_new && is_https(origin)) known->second = origin;
}

Result<OciExchange::Answered> OciExchange::follow(const OciCall& call, const std::string& origin,
                                                  const std::optional<OciAnswer>& known,
                                                  const Context& context) {
  http::Request request = call.request;
  request.url = resolved_url(origin + "/", call.request.url);
  std::string from = origin;
  for (int hop = 0; hop <= kMaxHops; ++hop) {
    const Result<http::Url> url = http::Url::parse(request.url);
    if (!url || !may_follow(call.host, from, *url))
      return error(ErrorKind::Invalid, "{} sends us to an address that can't be trusted", call.host)
          .with_because(escape_controls(http::loggable_url(request.url)))
          .with_hint("ask whoever runs the registry");
    const bool at_registry = url->origin() == origin_in(origin);
    request.public_only = call.public_only || must_be_public(origin, *url, resolve_);
    request.authorization = at_registry && known ? std::optional(known->authorization) : std::nullopt;
    Result<http::Response> answer = call.piece != nullptr ? transport_.stream(request, *call.piece, context)
                                                          : transport_.send(request, context);
    if (!answer && request.public_only) return not_reached(std::move(answer).error(), call, at_registry);
    MIST_TRY(http::Response response, std::move(answer));
    const bool reads = request.method == "GET" || request.method == "HEAD";
    const std::string_view location = http::find_header(response.headers, "location");
    if (!reads || !is_redirect(response.status) || location.empty())
      return Answered{std::move(response), *url};
    const std::string next = resolved_url(request.url, location);
    from = std::exchange(request.url, next.substr(0, next.find('#')));
  }
  return error(ErrorKind::Invalid, "{} redirects from one address to the next without end", call.host)
      .with_hint("ask whoever runs the registry");
}

Result<http::Response> OciExchange::send(const OciCall& call, const Context& caller) {
  const Context context = bounded(call, caller);
  std::string origin = origin_of(call.host);
  OciScope scope{call.host, origin, call.repository, call.access, call.also_pull, call.public_only};
  std::optional<OciAnswer> known = auth_.known(scope);
  Result<Answered> result = follow(call, origin, known, context);
  if (may_be_tls(call.host, origin, result)) {
    scope.origin = origin = fmt::format("https://{}", oci::api_host(call.host));
    known = auth_.known(scope);
    Result<Answered> again = follow(call, origin, known, context);
    // Where TLS isn't spoken either, the first answer says more.
    if (!again && again.error().kind == ErrorKind::Retryable && result) return std::move(result->response);
    result = std::move(again);
  }
  MIST_TRY(Answered answered, std::move(result));
  note_origin(call.host, origin);
  const auto is_of_registry = [&] { return answered.by.origin() == origin_in(origin); };
  if (answered.response.status == 401 && is_of_registry()) {
    MIST_TRY(known, auth_.answer(scope, challenges_in(answered.response), context));
    MIST_TRY(answered, follow(call, origin, known, context));
  }
  if (answered.response.status != 401 && answered.response.status != 403) return std::move(answered.response);
  if (!is_of_registry()) return refused_elsewhere(call.host, answered.by, answered.response);
  return login_refused(call.host, known && known->with_login, oci::words_of(answered.response.body));
}

}  // namespace mist::registry
