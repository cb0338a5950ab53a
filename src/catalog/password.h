#pragma once
// Passwords: kept as a scrypt hash (RFC 7914) that carries its own parameters, so that they can grow. Hashing
// takes much memory and time on purpose; a PasswordHasher bounds how much of both is taken at once. Any
// thread.

#include <atomic>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "crypto/secretbox.h"

namespace mist::catalog {

/// 32 MiB, about a third of a second: OWASP's "Password Storage Cheat Sheet", scrypt.
inline constexpr crypto::ScryptCost kPasswordCost{.n = 1 << 15, .r = 8, .p = 3};

inline constexpr std::size_t kShortestPassword = 12;
inline constexpr std::size_t kLongestPassword = 256;
/// Invalid: it is too short, too long, not UTF-8, or says the account's name.
Status check_new_password(const SecretString& password, std::string_view account);

class PasswordHasher {
 public:
  explicit PasswordHasher(Random& random, const crypto::ScryptCost& cost = kPasswordCost, int at_once = 2)
      : random_(random), cost_(cost), free_(at_once) {}

  /// "scrypt$15,8,3$<salt>$<hash>", salt and hash in hexadecimal. Retryable: others are being hashed.
  Result<std::string> hash(const SecretString& password);
  /// False after as long a time where `stored` is empty: nobody learns so which accounts exist. Retryable as
  /// hash(); Internal: `stored` is no hash.
  Result<bool> matches(const SecretString& password, const std::string& stored);
  /// It was made with other parameters than hash() takes now.
  bool is_old(const std::string& stored) const;

 private:
  Result<std::string> paid(const SecretString& password, const std::string& salt,
                           const crypto::ScryptCost& cost);

  Random& random_;
  const crypto::ScryptCost cost_;
  std::atomic<int> free_;
};

}  // namespace mist::catalog
