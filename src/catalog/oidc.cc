#include "catalog/oidc.h"

#include "base/text.h"
#include "catalog/place.h"
#include "crypto/digest.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "http/public_address.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr Duration kPatience = std::chrono::seconds(10);
constexpr Duration kKeepPlaces = std::chrono::hours(1);
// A discovery that failed isn't tried again for so long.
constexpr Duration kKeepFailure = std::chrono::seconds(10);
constexpr Duration kKeepKeys = std::chrono::hours(1);
// A token with an unknown key makes the catalog ask for keys again, but not more often.
constexpr Duration kKeysAgain = std::chrono::seconds(30);
constexpr std::uint64_t kLargestAnswer = 1 << 20;

// Detail of an error: the issuer wasn't asked, for others ask it.
struct AskedByOthers {};

Error unusable(std::string_view what) {
  return error(ErrorKind::Retryable, "the issuer that accounts sign in with can't be used now")
      .with_because(std::string(what));
}

// Tokens and codes go over https, or stay on this machine.
bool is_safe(std::string_view url) {
  const auto parsed = http::Url::parse(url);
  return parsed.ok() && parsed->user.empty() &&
         (parsed->scheme == "https" || http::may_be_this_machine(parsed->host));
}

std::string challenge_of(std::string_view verifier) {
  return encoding::base64url_encode(crypto::sha256(verifier).raw());
}

}  // namespace

OidcQuestion new_oidc_question(Random& random) {
  return {.state = random.token(32), .nonce = random.token(32), .verifier = random.token(32)};
}

Result<std::unique_ptr<OidcClient>> OidcClient::make(http::Transport& web, Clock& clock,
                                                     OidcOptions options) {
  if (!is_safe(options.issuer))
    return error(ErrorKind::Invalid, "{} can't be an issuer", escape_controls(options.issuer))
        .with_hint("it must be an https address");
  if (options.client_id.empty()) return error(ErrorKind::Invalid, "an issuer needs a client id");
  return std::unique_ptr<OidcClient>(new OidcClient(web, clock, std::move(options)));
}

// Sign-ins come from anybody, and the threads that answer requests are few.
Result<http::Response> OidcClient::send(const http::Request& request) {
  const Place place(free_);
  if (!place.taken())
    return error(ErrorKind::Retryable, "others are signing in by the issuer just now")
        .with_hint("try again in a moment")
        .with_detail(AskedByOthers{});
  auto answer = web_.send(request, Context().with_timeout(kPatience));
  if (!answer.ok()) return unusable(answer.error().message);
  return answer;
}

Result<Value> OidcClient::ask(const http::Request& request) {
  MIST_TRY(const http::Response answer, send(request));
  if (answer.status != 200)
    return unusable(fmt::format("{} answered {}", http::loggable_url(request.url), answer.status));
  auto value = encoding::parse_json(
      answer.body, {.strict = true, .max_depth = 20, .max_values = 10'000, .file = "the issuer's answer"});
  if (!value.ok() || !value->is_object())
    return unusable(fmt::format("{} is no JSON object", http::loggable_url(request.url)));
  return value;
}

Result<Value> OidcClient::get(const std::string& url) {
  return ask({.url = url, .repeat = http::Repeat::Safe, .response_limit = kLargestAnswer});
}

// Those of an hour ago are better than none: they rarely change.
Result<OidcClient::Places> OidcClient::places() {
  {
    const std::scoped_lock lock(mutex_);
    const SteadyTime now = clock_.steady_now();
    const bool is_fresh = places_ && now - places_->found < kKeepPlaces;
    const bool just_failed = failed_ && now - failed_->when < kKeepFailure;
    if (places_ && (is_fresh || just_failed || discovering_)) return *places_;
    if (just_failed) return failed_->why;
    discovering_ = true;
  }
  Result<Places> found = discover();
  const std::scoped_lock lock(mutex_);
  discovering_ = false;
  if (found.ok()) {
    places_ = *found;
    failed_.reset();
    return found;
  }
  if (found.error().detail<AskedByOthers>() == nullptr)
    failed_ = FailedDiscovery{.why = found.error(), .when = clock_.steady_now()};
  if (places_) return *places_;
  return found;
}

// OpenID Connect Discovery, section 4.
Result<OidcClient::Places> OidcClient::discover() {
  MIST_TRY(const Value found, get(http::join_url(options_.issuer, "/.well-known/openid-configuration")));
  if (found.string_at("issuer") != options_.issuer)
    return unusable(fmt::format("it calls itself {}", escape_controls(found.string_at("issuer"))));
  Places places{.authorization = std::string(found.string_at("authorization_endpoint")),
                .token = std::string(found.string_at("token_endpoint")),
                .keys = std::string(found.string_at("jwks_uri")),
                .found = clock_.steady_now()};
  for (const std::string& each : {places.authorization, places.token, places.keys})
    if (!is_safe(each)) return unusable("an address of its discovery document isn't at https");
  return places;
}

Result<std::shared_ptr<const OidcClient::Keys>> OidcClient::keys(Duration not_older) {
  {
    const std::scoped_lock lock(mutex_);
    if (keys_.keys && clock_.steady_now() - keys_.found < not_older) return keys_.keys;
  }
  MIST_TRY(const Places at, places());
  MIST_TRY(const Value set, get(at.keys));
  auto made = std::make_shared<const Keys>(issuer_keys(set));
  const std::scoped_lock lock(mutex_);
  keys_ = {.keys = made, .found = clock_.steady_now()};
  return std::shared_ptr<const Keys>(made);
}

Result<std::string> OidcClient::address(const OidcQuestion& question) {
  MIST_TRY(const Places at, places());
  const std::vector<std::pair<std::string, std::string>> parameters{
      {"response_type", "code"},
      {"client_id", options_.client_id},
      {"redirect_uri", options_.redirect_url},
      {"scope", "openid profile"},
      {"state", question.state},
      {"nonce", question.nonce},
      {"code_challenge", challenge_of(question.verifier)},
      {"code_challenge_method", "S256"}};
  return fmt::format("{}{}{}", at.authorization, at.authorization.find('?') == std::string::npos ? '?' : '&',
                     http::query_of(parameters));
}

Result<std::string> OidcClient::id_token(const OidcQuestion& question, const std::string& code) {
  MIST_TRY(const Places at, places());
  std::vector<std::pair<std::string, std::string>> form{{"grant_type", "authorization_code"},
                                                        {"code", code},
                                                        {"redirect_uri", options_.redirect_url},
                                                        {"code_verifier", question.verifier}};
  http::Request request{
      .method = "POST",
      .url = at.token,
      .headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}},
      .response_limit = kLargestAnswer};
  if (options_.client_secret.empty())
    form.emplace_back("client_id", options_.client_id);
  else  // RFC 6749, section 2.3.1
    request.authorization =
        SecretString("Basic " + base64_encode(http::escape_query(options_.client_id) + ":" +
                                              http::escape_query(options_.client_secret.reveal())));
  request.body = http::query_of(form);
  MIST_TRY(const http::Response answer, send(request));
  if (answer.status >= 400 && answer.status < 500)
    return error(ErrorKind::Forbidden, "the issuer doesn't know this sign-in")
        .with_hint("begin again at /login");
  if (answer.status != 200) return unusable(fmt::format("it answered {}", answer.status));
  const auto value = encoding::parse_json(
      answer.body, {.strict = true, .max_depth = 20, .max_values = 1000, .file = "the issuer's answer"});
  if (!value.ok() || value->string_at("id_token").empty()) return unusable("its answer has no ID token");
  return std::string(value->string_at("id_token"));
}

Result<Identity> OidcClient::identity(const OidcQuestion& question, const std::string& code) {
  MIST_TRY(const std::string token, id_token(question, code));
  const ExpectedToken expected{.issuer = options_.issuer,
                               .client_id = options_.client_id,
                               .nonce = question.nonce,
                               .now = clock_.now()};
  MIST_TRY(std::shared_ptr<const Keys> known, keys(kKeepKeys));
  Result<Identity> found = verify_id_token(token, *known, expected);
  if (!found.ok() && found.error().kind == ErrorKind::NotFound) {
    // The issuer may have changed its keys since.
    MIST_TRY(known, keys(kKeysAgain));
    found = verify_id_token(token, *known, expected);
  }
  if (!found.ok() && found.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::Forbidden, "the issuer's answer can't be trusted")
        .with_because(found.error().message);
  return found;
}

}  // namespace mist::catalog
