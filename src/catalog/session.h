#pragma once
// The cookies and form tokens by which a browser is known again. A cookie holds 256 random bits; the database
// has their digest alone. A form's token is made of the cookie, so that only pages which were shown to that
// browser have it (CSRF). Pure; any thread.

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/secret.h"
#include "http/web_server.h"

namespace mist::catalog {

enum class CookieFor : std::uint8_t {
  Session,  ///< somebody who signed in
  Browser,  ///< a browser that shows a form before that
};

/// How long a browser keeps it: until it is closed, or that long.
inline constexpr Duration kUntilClosed{};

class Cookies {
 public:
  /// `url` of the catalog, as others reach it. With https cookies are Secure and have the prefix __Host-, so
  /// that no other host of the domain and no http page can set or read them.
  explicit Cookies(std::string_view url) : is_secure_(url.starts_with("https://")) {}

  std::string name(CookieFor what) const;
  /// Empty: the request has none. Of several the first.
  SecretString find(const http::WebRequest& request, CookieFor what) const;
  http::Header set(CookieFor what, const SecretString& value, Duration keep) const;
  http::Header remove(CookieFor what) const;

 private:
  bool is_secure_;
};

SecretString new_cookie(Random& random);
/// The digest under which a session is stored.
std::string session_digest(const SecretString& cookie);

/// The value of the field kFormField in a page's forms, when the page is shown to a browser with that cookie.
std::string form_token(const SecretString& cookie);
inline constexpr std::string_view kFormField = "form";

/// Forbidden: the request isn't sent by a form of a page of ours that was shown to the browser with `cookie`.
/// `origin` of this catalog; `token`: what the form has.
Status check_form(const http::WebRequest& request, std::string_view origin, const SecretString& cookie,
                  std::string_view token);

}  // namespace mist::catalog
