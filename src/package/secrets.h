#pragma once
// Stable secrets: what secret.get gives is a function of the release's seed and of names, never of what else
// a package asks. The derivation is a stored format with test vectors:
// docs/internals/secret-derivation.md. Pure; any thread.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/text_mask.h"
#include "crypto/random_stream.h"
#include "encoding/value.h"

namespace mist::package {

using encoding::Value;

/// How often each secret was rotated, by its name. Names that aren't here: never. The empty name stands for
/// the random bytes that a guest draws without a name (WASI's random_get).
using Rotations = std::map<std::string, std::uint32_t>;
inline constexpr std::string_view kUnnamed;

/// The source of the secrets of one render.
struct SecretScope {
  crypto::Seed seed{};
  std::string package;  ///< the package's own name (metadata.name)
  std::string install;  ///< its data.name
  Rotations rotations;
  /// Stands before the names of its secrets where several packages' are told apart; "mariadb/shop-db/".
  std::string prefix = {};
};

enum class SecretKind : std::uint8_t { Password, Alphanumeric, Hex, Base64, Bytes, Uuid, Ed25519, Ecdsa };

/// A checked secret.get.
struct SecretRequest {
  static constexpr std::size_t kLeast = 4;
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kLongestName = 128;

  std::string name;
  SecretKind kind = SecretKind::Password;
  std::size_t length = 0;            ///< characters; of Base64 and Bytes, bytes before they are encoded
  std::string alphabet;              ///< of Password: at least two different characters from ! to ~
  std::vector<std::string> require;  ///< of Password: classes of which it has one character at least

  /// From the request of a guest, strictly. Invalid, saying what is known.
  static Result<SecretRequest> parse(const Value& request);

  friend bool operator==(const SecretRequest&, const SecretRequest&) = default;
};

struct Secret {
  SecretString value;      ///< Bytes: in base64; keys: PEM
  std::string public_key;  ///< of keys, PEM; else empty
};

/// The same request in the same scope gives the same secret, whatever else was asked. Invalid if no password
/// of the length can have all that is required.
Result<Secret> derive_secret(const SecretScope& scope, const SecretRequest& request);

/// The seed of the random bytes without a name after that many rotations.
crypto::Seed unnamed_seed(const SecretScope& scope);

/// Replaces secrets in a text for people by ***: as they are, as JSON quotes them, without white space around
/// them, each line of at least 12 characters, and the base64 of all these.
std::string without_secrets(std::string text, const std::map<std::string, SecretString>& secrets);
Error without_secrets(Error failure, const std::map<std::string, SecretString>& secrets);

/// The same for callers that have many texts: the mask is built once.
TextMask mask_of(const std::map<std::string, SecretString>& secrets);
std::string without_secrets(std::string text, const TextMask& mask);
Error without_secrets(Error failure, const TextMask& mask);

}  // namespace mist::package
