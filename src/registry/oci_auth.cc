#include "registry/oci_auth.h"

#include <algorithm>

#include "base/text.h"
#include "http/url.h"
#include "oci/answers.h"
#include "registry/oci_reach.h"

namespace mist::registry {
namespace {

using oci::Challenge;

constexpr std::uint64_t kMaxTokenAnswer = std::uint64_t{1} << 20;

// As a token server is asked: several with spaces between them.
std::string scopes_of(const OciScope& scope) {
  std::string scopes = oci::scope_of(scope.path, scope.access);
  if (!scope.also_pull.empty()) scopes += " " + oci::scope_of(scope.also_pull, oci::Access::Pull);
  return scopes;
}

std::string key_of(const OciScope& scope) {
  return fmt::format("{}\n{}", scope.origin, scope.path.empty() ? std::string() : scopes_of(scope));
}

// A registry chooses where credentials go. They go over TLS, or as plainly as to the registry itself; and no
// registry elsewhere may direct requests to this machine.
Result<http::Url> checked_realm(const OciScope& scope, const std::string& realm) {
  const auto bad = [&](std::string because) {
    return error(ErrorKind::Forbidden, "{} sends us to a token server that can't be trusted", scope.host)
        .with_because(std::move(because))
        .with_hint("ask whoever runs the registry");
  };
  const Result<http::Url> url = http::Url::parse(realm);
  if (!url) return bad(escape_controls(url.error().message));
  const std::string authority = url->authority();
  const bool registry_is_here = oci::is_loopback_host(scope.host);
  if (!registry_is_here && oci::is_loopback_host(authority))
    return bad(fmt::format("{} is this machine", escape_controls(authority)));
  if (url->scheme == "https") return *url;
  const http::Url registry = http::Url::parse(scope.origin).value_or({});
  if (registry.scheme == "http" &&
      ((registry_is_here && oci::is_loopback_host(authority)) || url->host == registry.host))
    return *url;
  return bad(fmt::format("{} is plain http, and anybody on the way could read the credentials",
                         escape_controls(url->origin())));
}

http::Request token_request(const http::Url& realm, const Challenge& challenge, const std::string& scope,
                            const std::optional<Login>& login) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (!challenge.service.empty()) parameters.emplace_back("service", challenge.service);
  // Several are several parameters.
  for (const std::string_view each : split(scope, ' '))
    if (!each.empty()) parameters.emplace_back("scope", each);
  http::Request request;
  request.repeat = http::Repeat::Safe;
  request.response_limit = kMaxTokenAnswer;
  request.url = realm.str();
  if (login && !login->identity_token.empty()) {  // OAuth2, as Docker's tools send it
    parameters.emplace_back("grant_type", "refresh_token");
    parameters.emplace_back("client_id", "mistctl");
    parameters.emplace_back("refresh_token", login->identity_token.reveal());
    request.method = "POST";
    request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
    request.body = http::query_of(parameters);
    return request;
  }
  if (!parameters.empty()) request.url += (realm.query.empty() ? "?" : "&") + http::query_of(parameters);
  if (login)
    request.authorization =
        SecretString("Basic " + base64_encode(fmt::format("{}:{}", login->user, login->password.reveal())));
  return request;
}

}  // namespace

Error sent_elsewhere(Error failure, const std::string& host) {
  if (failure.kind != ErrorKind::Forbidden || !failure.hint.empty()) return failure;
  failure.hint = fmt::format(
      "{} names it; a registry may send us to public servers, and to its own domain by https if it is at a "
      "private address: ask whoever runs it",
      host);
  return failure;
}

Error login_refused(const std::string& host, bool had_login, std::string words) {
  Error failure = had_login
                      ? error(ErrorKind::Forbidden, "{} refuses the credentials, or they don't reach", host)
                      : error(ErrorKind::Forbidden, "{} needs credentials, and there are none", host);
  failure.because = std::move(words);
  failure.hint = had_login ? fmt::format("check who may use it; to log in again: mistctl login {}", host)
                           : fmt::format("mistctl login {}", host);
  return failure;
}

std::optional<OciAnswer> OciAuth::known(const OciScope& scope) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key_of(scope));
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::optional<Login>> OciAuth::find_login(const OciScope& scope, const Context& context) {
  const std::lock_guard lock(asking_);
  return logins_(scope.host, scope.path, context);
}

Result<OciAnswer> OciAuth::answer(const OciScope& scope, const std::vector<Challenge>& challenges,
                                  const Context& context) {
  if (challenges.empty())
    return error(ErrorKind::Invalid, "{} wants credentials in a way that mistctl doesn't know", scope.host)
        .with_hint("mistctl knows Basic and Bearer tokens");
  // A token says less about its owner than a password.
  const auto bearer = std::ranges::find(challenges, Challenge::Scheme::Bearer, &Challenge::scheme);
  MIST_TRY(const std::optional<Login> login, find_login(scope, context));
  SecretString authorization;
  if (bearer != challenges.end()) {
    MIST_TRY(authorization, fetch_token(scope, *bearer, login, context));
  } else {
    if (!login || login->password.empty()) return login_refused(scope.host, false, "");
    authorization =
        SecretString("Basic " + base64_encode(fmt::format("{}:{}", login->user, login->password.reveal())));
  }
  OciAnswer answer{std::move(authorization), login.has_value()};
  const std::lock_guard lock(mutex_);
  known_[key_of(scope)] = answer;
  return answer;
}

Result<SecretString> OciAuth::fetch_token(const OciScope& scope, const Challenge& challenge,
                                          const std::optional<Login>& login, const Context& context) {
  MIST_TRY(const http::Url realm, checked_realm(scope, challenge.realm));
  const std::string wanted = scope.path.empty() ? challenge.scope : scopes_of(scope);
  http::Request request = token_request(realm, challenge, wanted, login);
  request.public_only = scope.public_only || must_be_public(scope.origin, realm, resolve_);
  Result<http::Response> answer =
      transport_.send(request, context)
          .in(fmt::format("while asking {} for a token for {}", realm.origin(), scope.host));
  if (!answer && request.public_only) return sent_elsewhere(std::move(answer).error(), scope.host);
  MIST_TRY(const http::Response response, std::move(answer));
  if (response.status == 200) {
    MIST_TRY(const SecretString token,
             oci::parse_token(response.body).in(fmt::format("while reading a token of {}", realm.origin())));
    return SecretString("Bearer " + token.reveal());
  }
  std::string words = oci::words_of(response.body);
  if (response.status == 400 || response.status == 401 || response.status == 403)
    return login_refused(scope.host, login.has_value(), std::move(words));
  return error(response.status == 429 || response.status >= 500 ? ErrorKind::Retryable : ErrorKind::Invalid,
               "the token server {} of {} answered {}", realm.origin(), scope.host, response.status)
      .with_because(std::move(words));
}

}  // namespace mist::registry
