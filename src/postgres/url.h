#pragma once
// Where a PostgreSQL database is: postgresql://user:password@host:port/name?sslmode=verify-full. The password
// is shown nowhere. Pure; any thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace mist::postgres {

/// For hints: how a database that catalogs can use is made.
inline constexpr std::string_view kCreateDatabase =
    "createdb --encoding UTF8 --locale C.UTF-8 --template template0 NAME";

class Url {
 public:
  /// Invalid, without the text: parts of a URL that can't be understood may be its password.
  static Result<Url> parse(SecretString text);

  /// The error for a text that isn't understood, and `why`, which has nothing of it.
  static Error not_understood(std::string_view why);
  /// The same with a password, for one that has none. It goes before libpq's own PGPASSWORD.
  Url with_password(const SecretString& password) const;

  const SecretString& text() const { return text_; }
  bool has_password() const { return has_password_; }  ///< its user's
  /// Also that of a client's key: sslpassword.
  bool has_secret() const { return has_password_ || has_key_password_; }
  /// For messages: without password and parameters.
  const std::string& shown() const { return shown_; }

 private:
  SecretString text_;
  bool has_password_ = false;
  bool has_key_password_ = false;
  std::string shown_;
};

}  // namespace mist::postgres
