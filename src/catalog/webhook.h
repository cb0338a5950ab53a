#pragma once
// Whether a call of a webhook comes from the repository's server: it proves that it knows the secret, in the
// way of GitHub, Gitea or GitLab. Pure; any thread.

#include <string_view>

#include "base/secret.h"
#include "http/transport.h"

namespace mist::catalog {

/// `body` exactly as it came. X-Hub-Signature-256 (GitHub, Gitea, Forgejo): "sha256=" and the hexadecimal
/// HMAC-SHA256 of the body; X-Gitea-Signature: that without prefix; X-Gitlab-Token: the secret itself.
bool is_genuine(const http::Headers& headers, std::string_view body, const SecretString& secret);

}  // namespace mist::catalog
