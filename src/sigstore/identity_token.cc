#include "sigstore/identity_token.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "encoding/base64url.h"
#include "encoding/json.h"
#include "http/url.h"
#include "sigstore/answers.h"
#include "sigstore/signing_config.h"

namespace mist::sigstore {
namespace {

using encoding::Value;

constexpr int kTokenDepth = 16;
constexpr std::size_t kMostClaims = 2'000;
constexpr std::size_t kParts = 3;
constexpr std::size_t kMostAudiences = 20;
constexpr auto kClockTolerance = std::chrono::seconds(60);
constexpr std::int64_t kLastTokenTime = 9'000'000'000;  // of the year 2255; WallTime ends in 2262
// https://docs.sigstore.dev/cosign/signing/overview, "On Kubernetes": what cosign looks for too.
constexpr const char* kPodToken = "/var/run/sigstore/cosign/oidc-token";

std::string plain(std::string_view foreign) {
  constexpr std::size_t kMost = 200;
  return escape_controls(foreign.substr(0, kMost));
}

std::optional<WallTime> time_at(const Value& claims, std::string_view key) {
  const Value* const value = claims.find(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double seconds = value->is_int() ? static_cast<double>(value->as_int()) : value->as_double();
  if (!(seconds >= 0) || seconds > static_cast<double>(kLastTokenTime)) return std::nullopt;
  return WallTime(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

}  // namespace

Result<IdentityToken> IdentityToken::parse(std::string_view text, std::string source) {
  text = trim(text);
  const auto refused = [&](std::string why) {
    return error(ErrorKind::Invalid, "{} holds no identity token", source)
        .with_because(std::move(why))
        .with_hint("it must be a JSON Web Token of an OpenID Connect issuer, and nothing else");
  };
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != kParts || text.size() > kMaxTokenBytes)
    return refused(text.empty() ? "it is empty" : "a JSON Web Token has three parts with dots between them");
  const Result<std::string> payload = encoding::base64url_decode(parts[1]);
  if (!payload) return refused("its second part is not base64url");
  const Result<Value> claims =
      encoding::parse_json(*payload, {.max_depth = kTokenDepth, .max_values = kMostClaims});
  if (!claims || !claims->is_object()) return refused("its second part is not a JSON object");
  IdentityToken token;
  token.text_ = SecretString(std::string(text));
  token.source_ = std::move(source);
  token.issuer_ = plain(claims->string_at("iss"));
  if (const Value* const one = claims->find("aud"); one != nullptr && one->is_string())
    token.audience_ = {one->as_string()};
  else
    token.audience_ = claims->texts_at("aud");
  if (token.audience_.size() > kMostAudiences) token.audience_.resize(kMostAudiences);
  token.expires_ = time_at(*claims, "exp");
  token.begins_ = time_at(*claims, "nbf");
  return token;
}

std::string IdentityToken::describe() const {
  std::vector<std::string> names;
  for (const std::string& each : audience_) names.push_back(plain(each));
  std::string text = fmt::format("the token is of {} for {}", issuer_.empty() ? "nobody" : issuer_,
                                 names.empty() ? "nobody" : join(names, ", "));
  if (expires_) text += fmt::format(", and expires at {}", format_time(*expires_));
  return text;
}

Status IdentityToken::check(std::string_view audience, WallTime now) const {
  const std::string clock = fmt::format("this machine's clock shows {}", format_time(now));
  if (expires_ && now > *expires_ + kClockTolerance)
    return error(ErrorKind::Forbidden, "the identity token of {} has expired", source_)
        .with_because(fmt::format("it was valid until {}; {}", format_time(*expires_), clock))
        .with_hint("get a new one: tokens are valid for minutes. If that one should be valid, set the clock");
  if (begins_ && now + kClockTolerance < *begins_)
    return error(ErrorKind::Forbidden, "the identity token of {} is not valid yet", source_)
        .with_because(fmt::format("it is valid from {}; {}", format_time(*begins_), clock))
        .with_hint("set this machine's clock");
  if (std::ranges::find(audience_, audience) == audience_.end())
    return error(ErrorKind::Forbidden, "the identity token of {} is not for {}", source_, audience)
        .with_because(describe())
        .with_hint(fmt::format("request one with the audience {}; --token-audience names the one that the "
                               "certificate authority accepts",
                               audience));
  return {};
}

namespace {

constexpr std::size_t kPiece = 16;  // so many characters don't stand in both by chance

// Without everything that `words` has in common with `secret`, a piece or more of it at a time.
std::string without_pieces(std::string_view words, std::string_view secret) {
  std::unordered_set<std::string_view> pieces;
  for (std::size_t at = 0; at + kPiece <= secret.size(); ++at) pieces.insert(secret.substr(at, kPiece));
  std::string rest;
  std::size_t hidden_until = 0;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool begins_piece = at + kPiece <= words.size() && pieces.contains(words.substr(at, kPiece));
    if (begins_piece && at >= hidden_until) rest += "***";
    if (begins_piece) hidden_until = at + kPiece;
    if (at >= hidden_until) rest += words[at];
  }
  return rest;
}

}  // namespace

std::string IdentityToken::without_token(std::string words) const {
  words = without_pieces(words, text_.reveal());
  // Its short parts too: a server may repeat what it couldn't read.
  constexpr std::size_t kShortest = 8;
  std::vector<std::string_view> secrets{text_.reveal()};
  for (const std::string_view part : split(text_.reveal(), '.'))
    if (part.size() >= kShortest) secrets.push_back(part);
  for (const std::string_view secret : secrets)
    for (std::size_t at = words.find(secret); at != std::string::npos; at = words.find(secret))
      words.replace(at, secret.size(), "***");
  return words;
}

namespace {

constexpr std::string_view kGitHubUrl = "ACTIONS_ID_TOKEN_REQUEST_URL";
constexpr std::string_view kGitHubToken = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

Result<IdentityToken> ask_github(http::Transport& transport, const std::string& url, const std::string& token,
                                 std::string_view audience, const Context& context) {
  const Result<http::Url> parsed = http::Url::parse(url);
  if (!parsed || !is_safe_url(url.substr(0, url.find('?'))))
    return error(ErrorKind::Invalid, "{} is not an https:// address", kGitHubUrl);
  const http::Request request{
      .method = "GET",
      .url = fmt::format("{}{}audience={}", url, url.find('?') == std::string::npos ? '?' : '&',
                         http::escape_query(audience)),
      .headers = {{"Accept", "application/json"}},
      .authorization = SecretString("Bearer " + token),
      .repeat = http::Repeat::Safe,
      .response_limit = kMaxTokenBytes,
  };
  Result<http::Response> response = transport.send(request, context);
  if (!response) return std::move(response).error().with_frame("while asking GitHub for an identity token");
  constexpr int kOk = 200;
  if (response->status != kOk)
    return error(kind_of_status(response->status), "GitHub gives out no identity token")
        .with_because(fmt::format("{} answers with status {}", parsed->authority(), response->status))
        .with_hint("give the job 'permissions: {id-token: write}'");
  MIST_TRY(const SecretString value, parse_github_token(response->body));
  return IdentityToken::parse(value.reveal(), "GitHub Actions");
}

}  // namespace

Result<std::optional<IdentityToken>> find_token(const TokenPlaces& places, std::string_view audience,
                                                const Context& context) {
  constexpr std::string_view kVariable = "SIGSTORE_ID_TOKEN";
  const auto found = [](Result<IdentityToken> token) -> Result<std::optional<IdentityToken>> {
    if (!token) return std::move(token).error();
    return std::optional(*std::move(token));
  };
  if (const auto text = places.environment(kVariable); text && !text->empty())
    return found(IdentityToken::parse(*text, std::string(kVariable)));
  const auto url = places.environment(kGitHubUrl);
  const auto secret = places.environment(kGitHubToken);
  if (url && secret && !url->empty() && !secret->empty())
    return found(ask_github(places.transport, *url, *secret, audience, context));
  if (!places.files.exists(kPodToken)) return std::optional<IdentityToken>();
  MIST_TRY(const std::string text, places.files.read(kPodToken, kMaxTokenBytes));
  return found(IdentityToken::parse(text, kPodToken));
}

}  // namespace mist::sigstore
