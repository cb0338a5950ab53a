#include "catalog/session.h"

#include "base/text.h"
#include "crypto/digest.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kCookieBytes = 32;

bool is_cookie(std::string_view text) { return text.size() == 2 * kCookieBytes && is_lower_hex(text); }

}  // namespace

std::string Cookies::name(CookieFor what) const {
  return fmt::format("{}{}", is_secure_ ? "__Host-" : "",
                     what == CookieFor::Session ? "catalog-session" : "catalog-browser");
}

SecretString Cookies::find(const http::WebRequest& request, CookieFor what) const {
  const std::string wanted = name(what);
  for (const http::Header& header : request.headers) {
    if (lower_case(header.name) != "cookie") continue;
    for (const std::string_view each : split(header.value, ';')) {
      const std::string_view pair = trim(each);
      const auto equals = pair.find('=');
      if (equals == pair.npos || pair.substr(0, equals) != wanted) continue;
      const std::string_view value = pair.substr(equals + 1);
      return is_cookie(value) ? SecretString(std::string(value)) : SecretString();
    }
  }
  return {};
}

http::Header Cookies::set(CookieFor what, const SecretString& value, Duration keep) const {
  // Lax, not Strict: whoever follows a link to a page stays signed in. Changes need a form's token anyway.
  std::string text = fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax{}", name(what), value.reveal(),
                                 is_secure_ ? "; Secure" : "");
  if (keep != kUntilClosed)
    text += fmt::format("; Max-Age={}", std::chrono::duration_cast<std::chrono::seconds>(keep).count());
  return {"Set-Cookie", std::move(text)};
}

http::Header Cookies::remove(CookieFor what) const {
  return {"Set-Cookie", fmt::format("{}=; Path=/; HttpOnly; SameSite=Lax{}; Max-Age=0", name(what),
                                    is_secure_ ? "; Secure" : "")};
}

SecretString new_cookie(Random& random) { return SecretString(random.token(kCookieBytes)); }

std::string session_digest(const SecretString& cookie) { return crypto::sha256(cookie.reveal()).str(); }

std::string form_token(const SecretString& cookie) {
  return hex(crypto::hmac_sha256(crypto::as_bytes(cookie.reveal()), crypto::as_bytes("form")));
}

Status check_form(const http::WebRequest& request, std::string_view origin, const SecretString& cookie,
                  std::string_view token) {
  const std::string_view from = http::find_header(request.headers, "Origin");
  if (!from.empty() && from != origin)
    return error(ErrorKind::Forbidden, "the form was sent by another site")
        .with_hint(fmt::format("open the catalog at {}", origin));
  const std::string_view site = http::find_header(request.headers, "Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none")
    return error(ErrorKind::Forbidden, "the form was sent by another site");
  const std::string_view type = http::find_header(request.headers, "Content-Type");
  if (!lower_case(type).starts_with("application/x-www-form-urlencoded"))
    return error(ErrorKind::Invalid, "the body must be a form's");
  if (cookie.empty() ||
      !crypto::constant_time_equal(crypto::as_bytes(form_token(cookie)), crypto::as_bytes(token)))
    return error(ErrorKind::Forbidden, "the page is too old, or the browser keeps no cookies")
        .with_hint("open it again and send the form once more");
  return {};
}

}  // namespace mist::catalog
