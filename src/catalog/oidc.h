#pragma once
// Signing in by an OpenID Connect issuer: the authorization code flow with PKCE (RFC 7636). Finds the
// issuer's addresses and keys by its discovery document, keeps them for a while, and asks for keys again when
// a token names a new one. Blocking; any thread, but an issuer that doesn't answer holds up no more than
// kAsksAtOnce of them.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "catalog/id_token.h"
#include "http/transport.h"

namespace mist::catalog {

struct OidcOptions {
  std::string issuer = {};  ///< as its tokens have it: "https://login.example.com"
  std::string client_id = {};
  SecretString client_secret = {};  ///< empty: the client is public
  std::string redirect_url = {};    ///< of this catalog
};

/// The secrets that a sign-in keeps until the browser comes back.
struct OidcQuestion {
  std::string state = {}, nonce = {}, verifier = {};
};
OidcQuestion new_oidc_question(Random& random);

class OidcClient {
 public:
  static constexpr int kAsksAtOnce = 2;

  /// Invalid: the issuer isn't at https (or at http on this machine).
  static Result<std::unique_ptr<OidcClient>> make(http::Transport& web, Clock& clock, OidcOptions options);

  const std::string& issuer() const { return options_.issuer; }

  /// Where to send the browser. Retryable: the issuer can't be asked, or says nonsense.
  Result<std::string> address(const OidcQuestion& question);
  /// The identity that came back with `code`. Errors: of address, and Forbidden.
  Result<Identity> identity(const OidcQuestion& question, const std::string& code);

 private:
  OidcClient(http::Transport& web, Clock& clock, OidcOptions options)
      : web_(web), clock_(clock), options_(std::move(options)) {}

  struct Places {
    std::string authorization = {}, token = {}, keys = {};
    SteadyTime found{};
  };
  using Keys = std::vector<IssuerKey>;
  struct KnownKeys {
    std::shared_ptr<const Keys> keys = {};
    SteadyTime found{};
  };
  struct FailedDiscovery {
    Error why;
    SteadyTime when{};
  };
  Result<http::Response> send(const http::Request& request);
  Result<encoding::Value> get(const std::string& url);
  Result<encoding::Value> ask(const http::Request& request);
  Result<Places> places();
  Result<Places> discover();
  Result<std::shared_ptr<const Keys>> keys(Duration not_older);
  Result<std::string> id_token(const OidcQuestion& question, const std::string& code);

  http::Transport& web_;
  Clock& clock_;
  const OidcOptions options_;
  std::atomic<int> free_{kAsksAtOnce};
  std::mutex mutex_;
  std::optional<Places> places_;           // guarded by mutex_
  std::optional<FailedDiscovery> failed_;  // guarded by mutex_
  bool discovering_ = false;               // guarded by mutex_
  KnownKeys keys_;                         // guarded by mutex_
};

}  // namespace mist::catalog
