#include "sigstore/device_login.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "http/url.h"
#include "sigstore/answers.h"
#include "sigstore/signing_config.h"

namespace mist::sigstore {
namespace {

using encoding::Value;
using Form = std::vector<std::pair<std::string, std::string>>;

constexpr int kAnswered = 200;
constexpr int kLoginDepth = 16;
constexpr std::size_t kMostCharacters = 500;  // of an address or a code
constexpr std::size_t kVerifierBytes = 32;
// RFC 8628, sections 3.2 and 3.5.
constexpr std::int64_t kUsualInterval = 5, kLongestInterval = 60;
constexpr std::int64_t kLongestLogin = 1800;
constexpr Duration kSlower = std::chrono::seconds(5);

class Login {
 public:
  Login(const LoginDependencies& dependencies, const std::string& issuer, std::string_view client,
        const Context& context)
      : dependencies_(dependencies),
        issuer_(issuer),
        client_(client),
        context_(context),
        verifier_(dependencies.random.token(kVerifierBytes)) {}

  Result<IdentityToken> run() {
    MIST_TRY_VOID(find_endpoints());
    MIST_TRY_VOID(ask_for_code());
    dependencies_.show(shown_);
    const SteadyTime end = dependencies_.clock.steady_now() + shown_.valid;
    while (dependencies_.clock.steady_now() < end) {
      if (!dependencies_.clock.sleep(interval_, context_.stop())) break;
      MIST_TRY_VOID(context_.check());
      MIST_TRY(std::optional<IdentityToken> token, ask_for_token());
      if (token) return *std::move(token);
    }
    MIST_TRY_VOID(context_.check());
    return expired();
  }

 private:
  // OpenID Connect Discovery 1.0, section 4.
  Status find_endpoints() {
    const http::Request request{.url = http::join_url(issuer_, ".well-known/openid-configuration"),
                                .headers = {{"Accept", "application/json"}},
                                .repeat = http::Repeat::Safe,
                                .response_limit = kMaxAnswerBytes};
    MIST_TRY(const http::Response response, dependencies_.transport.send(request, context_).in(frame()));
    if (response.status != kAnswered)
      return error(kind_of_status(response.status), "the issuer {} doesn't say how to log in", issuer_)
          .with_because(fmt::format("{} answers with status {}", request.url, response.status))
          .with_hint(kOtherWay);
    MIST_TRY(const Value document, object_of(response));
    std::string_view named = document.string_at("issuer");
    if (named.ends_with('/')) named.remove_suffix(1);
    if (named != issuer_)
      return error(ErrorKind::Invalid, "the issuer {} says that it is another one", issuer_)
          .with_because(fmt::format("its openid-configuration names {}", plain(named)))
          .with_hint("see oidcUrls of the signing configuration");
    device_ = document.string_at("device_authorization_endpoint");
    token_ = document.string_at("token_endpoint");
    if (is_safe_url(device_) && is_safe_url(token_)) return {};
    return error(ErrorKind::Invalid, "the issuer {} has no login with a code", issuer_)
        .with_because(
            "its openid-configuration has no device_authorization_endpoint and token_endpoint by https")
        .with_hint(kOtherWay);
  }

  Status ask_for_code() {
    MIST_TRY(const http::Response response,
             post(device_, {{"client_id", client_},
                            {"scope", "openid email"},
                            {"code_challenge", encoding::base64url_encode(crypto::sha256(verifier_).raw())},
                            {"code_challenge_method", "S256"}}));
    if (response.status != kAnswered) return refusal(response);
    MIST_TRY(const Value answer, object_of(response));
    shown_ = {.page = std::string(answer.string_at("verification_uri")),
              .code = plain(answer.string_at("user_code")),
              .direct = std::string(answer.string_at("verification_uri_complete")),
              .valid = std::chrono::seconds(
                  std::clamp<std::int64_t>(answer.int_at("expires_in"), 1, kLongestLogin))};
    code_ = SecretString(std::string(answer.string_at("device_code")));
    const std::int64_t given =
        answer.find("interval") == nullptr ? kUsualInterval : answer.int_at("interval");
    interval_ = std::chrono::seconds(std::clamp<std::int64_t>(given, 1, kLongestInterval));
    if (!may_be_shown(shown_.direct)) shown_.direct.clear();
    if (may_be_shown(shown_.page) && !shown_.code.empty() && !code_.reveal().empty()) return {};
    return bad_answer("it has no device_code, user_code or verification_uri");
  }

  // Nothing: it isn't confirmed yet.
  Result<std::optional<IdentityToken>> ask_for_token() {
    Result<http::Response> response =
        post(token_, {{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                      {"client_id", client_},
                      {"device_code", std::string(code_.reveal())},
                      {"code_verifier", verifier_}});
    if (!response && response.error().kind == ErrorKind::Retryable) return std::optional<IdentityToken>();
    if (!response) return std::move(response).error();
    if (response->status == kAnswered) {
      MIST_TRY(const Value answer, object_of(*response));
      MIST_TRY(IdentityToken token, IdentityToken::parse(answer.string_at("id_token"), issuer_));
      return std::optional(std::move(token));
    }
    const std::string code = oauth_error(*response).first;
    if (code == "slow_down") interval_ += kSlower;
    if (code == "authorization_pending" || code == "slow_down") return std::optional<IdentityToken>();
    if (code.empty() && kind_of_status(response->status) == ErrorKind::Retryable)
      return std::optional<IdentityToken>();
    if (code == "expired_token") return expired();
    return refusal(*response);
  }

  Result<http::Response> post(const std::string& url, const Form& form) const {
    const http::Request request{
        .method = "POST",
        .url = url,
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}},
        .body = http::query_of(form),
        .response_limit = kMaxAnswerBytes};
    return dependencies_.transport.send(request, context_).in(frame());
  }

  std::string frame() const { return fmt::format("while logging in at {}", issuer_); }

  static std::string plain(std::string_view foreign) {
    return escape_controls(foreign.substr(0, kMostCharacters));
  }
  // A person opens it.
  static bool may_be_shown(const std::string& url) {
    const std::string bare = url.substr(0, url.find('?'));
    return url.size() <= kMostCharacters && escape_controls(url) == url && is_safe_url(bare);
  }

  Error bad_answer(std::string_view why) const {
    return error(ErrorKind::Invalid, "the issuer {} gave an answer that can't be used", issuer_)
        .with_because(std::string(why))
        .with_hint(kOtherWay);
  }
  Result<Value> object_of(const http::Response& response) const {
    Result<Value> document = encoding::parse_json(response.body, {.max_depth = kLoginDepth});
    if (!document || !document->is_object()) return bad_answer("it is not a JSON object");
    return document;
  }

  // RFC 6749, section 5.2: its code and its words.
  static std::pair<std::string, std::string> oauth_error(const http::Response& response) {
    const Result<Value> document = encoding::parse_json(response.body, {.max_depth = kLoginDepth});
    if (!document || !document->is_object()) return {};
    return {plain(document->string_at("error")), plain(document->string_at("error_description"))};
  }
  Error refusal(const http::Response& response) const {
    const auto [code, words] = oauth_error(response);
    if (code == "access_denied")
      return error(ErrorKind::Forbidden, "the login at {} was refused", issuer_)
          .with_because("the person who opened the page declined")
          .with_hint("run the command again to get another code");
    std::string because = code.empty() ? fmt::format("it answers with status {}", response.status) : code;
    if (!words.empty()) because += fmt::format(": {}", words);
    return error(code.empty() ? kind_of_status(response.status) : ErrorKind::Forbidden,
                 "the issuer {} gives {} no login with a code", issuer_, client_)
        .with_because(std::move(because))
        .with_hint(kOtherWay);
  }
  Error expired() const {
    return error(ErrorKind::Timeout, "nobody confirmed the code {} at {} in time", shown_.code, issuer_)
        .with_hint("run the command again to get another code");
  }

  static constexpr const char* kOtherWay =
      "get a token in another way, and name it with --identity-token FILE";

  const LoginDependencies& dependencies_;
  const std::string& issuer_;
  const std::string client_;
  const Context& context_;
  const std::string verifier_;
  std::string device_, token_;
  SecretString code_;
  DeviceCode shown_;
  Duration interval_{};
};

}  // namespace

Result<IdentityToken> log_in(const LoginDependencies& dependencies, const std::string& issuer,
                             std::string_view client, const Context& context) {
  return Login(dependencies, issuer, client, context).run();
}

}  // namespace mist::sigstore
