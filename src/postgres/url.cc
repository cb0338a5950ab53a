#include "postgres/url.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "base/url.h"

namespace mist::postgres {
namespace {

constexpr std::array<std::string_view, 2> kSchemes{"postgresql://", "postgres://"};

// Each % begins the code of a byte, and none is a NUL: libpq shows what it can't read.
bool has_whole_escapes(std::string_view text) {
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (auto at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    const std::string_view code = text.substr(at + 1, 2);
    if (code.size() < 2 || !is_hex(code[0]) || !is_hex(code[1]) || code == "00") return false;
  }
  return true;
}

}  // namespace

Error Url::not_understood(std::string_view why) {
  return error(ErrorKind::Invalid, "the database's URL can't be understood")
      .with_because(std::string(why))
      .with_hint(
          "postgresql://USER:PASSWORD@HOST:5432/NAME, with characters like @ / : ? % in it written as %40");
}

// libpq's own syntax, no RFC 3986 URL: "postgresql://one:5432,two:5433/name" has several hosts.
Result<Url> Url::parse(SecretString text) {
  const std::string_view whole = text.reveal();
  const auto scheme = std::ranges::find_if(kSchemes, [&](auto each) { return whole.starts_with(each); });
  if (scheme == kSchemes.end()) return not_understood("it doesn't begin with postgresql://");
  if (std::ranges::any_of(whole, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }))
    return not_understood("it has spaces or control characters");
  if (!has_whole_escapes(whole)) return not_understood("there is a % with no code of a character after it");
  const std::string_view rest = whole.substr(scheme->size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  const std::string_view tail = rest.substr(authority.size());
  // A password with one of them would be taken for a host or a name, and shown.
  if (tail.find('@') != tail.npos || std::ranges::count(authority, '@') > 1)
    return not_understood("there is an @ where none can be");
  Url url;
  const std::size_t at = authority.find('@');
  const std::string_view person = at == authority.npos ? std::string_view() : authority.substr(0, at);
  const std::string_view hosts = at == authority.npos ? authority : authority.substr(at + 1);
  const std::size_t colon = person.find(':');
  const std::string_view path = tail.substr(0, tail.find('?'));
  for (const std::string_view parameter : split(tail.substr(path.size()), '&')) {
    const std::string_view plain = parameter.starts_with('?') ? parameter.substr(1) : parameter;
    const std::string name = percent_decoded(plain.substr(0, plain.find('=')));
    if (name == "password") url.has_password_ = true;
    if (name == "sslpassword") url.has_key_password_ = true;
  }
  if (colon != person.npos && colon + 1 < person.size()) url.has_password_ = true;
  url.shown_ =
      fmt::format("{}{}{}{}{}", *scheme, person.substr(0, colon), person.empty() ? "" : "@", hosts, path);
  url.text_ = std::move(text);
  return url;
}

Url Url::with_password(const SecretString& password) const {
  Url url = *this;
  const std::string& whole = text_.reveal();
  url.text_ = SecretString(fmt::format("{}{}password={}", whole, whole.find('?') == whole.npos ? '?' : '&',
                                       percent_encoded(password.reveal())));
  url.has_password_ = true;
  return url;
}

}  // namespace mist::postgres
