#include "catalog/webhook.h"

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::catalog {
namespace {

bool equal(std::string_view a, std::string_view b) {
  return crypto::constant_time_equal(crypto::as_bytes(a), crypto::as_bytes(b));
}

}  // namespace

bool is_genuine(const http::Headers& headers, std::string_view body, const SecretString& secret) {
  if (secret.empty()) return false;
  const std::string expected =
      hex(crypto::hmac_sha256(crypto::as_bytes(secret.reveal()), crypto::as_bytes(body)));
  constexpr std::string_view kPrefix = "sha256=";
  if (std::string_view github = http::find_header(headers, "X-Hub-Signature-256"); !github.empty())
    return github.starts_with(kPrefix) && equal(github.substr(kPrefix.size()), expected);
  if (const std::string_view gitea = http::find_header(headers, "X-Gitea-Signature"); !gitea.empty())
    return equal(gitea, expected);
  if (const std::string_view gitlab = http::find_header(headers, "X-Gitlab-Token"); !gitlab.empty())
    return equal(gitlab, secret.reveal());
  return false;
}

}  // namespace mist::catalog
