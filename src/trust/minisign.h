#pragma once
// Signatures of files as minisign makes them (https://jedisct1.github.io/minisign/, "Signature format"): what
// a registry in git or a directory has beside its packages. Ed25519 over BLAKE2b-512 of the file ("ED"), or,
// of old versions, over the file ("Ed"). Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "trust/key_file.h"

namespace mist::trust {

/// "NAME.minisig", beside the file.
inline constexpr std::string_view kMinisignEnding = ".minisig";

/// True for text that begins as minisign's files, or its public keys, do.
bool is_minisign(std::string_view text);

/// The key in a file of `minisign -G`, or its second line alone. Errors: Invalid.
Result<crypto::PublicKey> read_minisign_public_key(std::string_view text);

struct MinisignClaim {
  bool prehashed = true;
  std::string key_id;           ///< 8 bytes that name the key
  std::string signature;        ///< 64 bytes
  std::string trusted_comment;  ///< signed
  std::string global_signature;
  std::string file;                   ///< the name that the trusted comment says; empty: none
  std::optional<WallTime> signed_at;  ///< "timestamp:1700000000" in the trusted comment
};
/// Errors: Invalid, saying which line is wrong.
Result<MinisignClaim> parse_minisign(std::string_view text);
/// Whether both signatures are of that key.
bool verify_minisign(const MinisignClaim& claim, const crypto::PublicKey& key, std::string_view file);

class MinisignKey {
 public:
  /// A file of `minisign -G`. Errors: Invalid (no such key, a wrong password), of `ask`.
  static Result<MinisignKey> read(std::string_view text, const AskPassword& ask);

  crypto::PublicKey public_key() const { return key_.public_key(); }
  /// The text of the signature file. `name`: of the file, for the trusted comment.
  std::string sign(std::string_view file, std::string_view name, WallTime now) const;

 private:
  MinisignKey(std::string id, crypto::PrivateKey key) : id_(std::move(id)), key_(std::move(key)) {}
  std::string id_;
  crypto::PrivateKey key_;
};

}  // namespace mist::trust
