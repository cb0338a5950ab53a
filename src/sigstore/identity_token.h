#pragma once
// Identity tokens (OpenID Connect, JSON Web Tokens) that keyless signing begins with: what one says of
// itself, and where one is found. Its signature is for the certificate authority to check. A token is a
// credential: no error and no log has any of its text. Any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/transport.h"

namespace mist::sigstore {

/// The audience that Sigstore's authorities accept.
inline constexpr std::string_view kAudience = "sigstore";
inline constexpr std::uint64_t kMaxTokenBytes = std::uint64_t{64} << 10;

class IdentityToken {
 public:
  /// `source`: where it comes from, for messages. Errors: Invalid (it is no JSON Web Token).
  static Result<IdentityToken> parse(std::string_view text, std::string source);

  /// Whether an authority can accept it, as far as it says so itself. Errors: Forbidden (it expired, is not
  /// valid yet, is for others).
  Status check(std::string_view audience, WallTime now) const;

  const SecretString& text() const { return text_; }
  /// "the token of https://accounts.example for sigstore, which expires at …"
  std::string describe() const;
  /// `words`, in which somebody else may have repeated the token or a piece of it, without them. A piece has
  /// at least 16 characters, so words may be cut only after this.
  std::string without_token(std::string words) const;

 private:
  SecretString text_;
  std::string source_;
  std::string issuer_;
  std::vector<std::string> audience_;
  std::optional<WallTime> expires_;
  std::optional<WallTime> begins_;
};

/// Where a token may be when nobody named a file.
struct TokenPlaces {
  std::function<std::optional<std::string>(std::string_view)> environment;
  const FileSystem& files;
  http::Transport& transport;
};

/// SIGSTORE_ID_TOKEN, that of GitHub Actions (which is asked for one), the file that cosign's pods have.
/// Nothing: there is none. Errors: Forbidden (GitHub refuses), Invalid, of FileSystem and Transport.
Result<std::optional<IdentityToken>> find_token(const TokenPlaces& places, std::string_view audience,
                                                const Context& context);

}  // namespace mist::sigstore
