#pragma once
// OciAuth: what a request to an OCI registry carries to say who asks. A registry says what it wants by
// refusing the first request (challenge.h); the answer is kept for the others of this process. Any thread.

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/resolve.h"
#include "http/transport.h"
#include "oci/challenge.h"
#include "registry/docker_config.h"

namespace mist::registry {

/// The credentials for a repository of a host, if there are any.
using FindLogin = std::function<Result<std::optional<Login>>(const std::string& host, const std::string& path,
                                                             const Context&)>;

/// Where a request goes, and what it wants to do there.
struct OciScope {
  std::string host;    ///< as in references
  std::string origin;  ///< as it is reached: "https://registry.example"
  std::string path;    ///< of the repository; empty: the registry itself
  oci::Access access = oci::Access::Pull;
  std::string also_pull = {};  ///< another repository there, to be read too; empty: none
  bool public_only = false;    ///< oci::Repository::public_only
};

/// The value of Authorization, and whether somebody stands behind it (a token may be anybody's).
struct OciAnswer {
  SecretString authorization;
  bool with_login = false;
};

class OciAuth {
 public:
  /// `transport` outlives this.
  OciAuth(http::Transport& transport, FindLogin logins, http::Resolver resolve)
      : transport_(transport), logins_(std::move(logins)), resolve_(std::move(resolve)) {}

  /// The answer that the registry was given before; nothing: it hasn't asked yet.
  std::optional<OciAnswer> known(const OciScope& scope) const;

  /// The value of Authorization that answers `challenges`; what was known is replaced. Errors: Forbidden (no
  /// credentials, or the token server refuses them; a token server that credentials must not go to), Invalid
  /// (a challenge that can't be answered), of the login and the transport.
  Result<OciAnswer> answer(const OciScope& scope, const std::vector<oci::Challenge>& challenges,
                           const Context& context);

 private:
  Result<std::optional<Login>> find_login(const OciScope& scope, const Context& context);
  Result<SecretString> fetch_token(const OciScope& scope, const oci::Challenge& challenge,
                                   const std::optional<Login>& login, const Context& context);

  http::Transport& transport_;
  FindLogin logins_;
  http::Resolver resolve_;
  std::mutex
      asking_;  // held while logins_ looks: a helper may ask a person, who answers one question at a time
  mutable std::mutex mutex_;
  std::map<std::string, OciAnswer> known_;  // guarded by mutex_
};

/// `failure` of a request to where the registry `host` sent us, with a hint if it isn't public (oci_reach.h).
Error sent_elsewhere(Error failure, const std::string& host);

/// The error for a registry or token server that doesn't let us in; `words`: its own.
Error login_refused(const std::string& host, bool had_login, std::string words);

}  // namespace mist::registry
