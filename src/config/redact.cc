#include "config/redact.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "base/secret_names.h"
#include "base/text.h"

namespace mist::config {
namespace {

using encoding::Value;

constexpr std::string_view kHidden = "***";

enum class Way : std::uint8_t { Hide, Leave };  // Leave: as if it had never been there

bool is_scheme_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }

bool is_quote(char c) { return c == '\'' || c == '"' || c == '<' || c == '>' || c == '`'; }

// Where the URL that begins with `rest`, which stands behind "://" in running text, ends: at a blank or a
// quote. A password may hold a quote, so one with an '@' behind it, and no '/' between, belongs to the URL.
std::size_t length_in_text(std::string_view rest) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (is_blank(rest[i])) return i;
    if (!is_quote(rest[i])) continue;
    const std::string_view tail = rest.substr(i);
    const auto next = std::ranges::find_if(tail, [](char c) { return c == '@' || c == '/' || is_blank(c); });
    if (next == tail.end() || *next != '@') return i;
    i += static_cast<std::size_t>(next - tail.begin());
  }
  return rest.size();
}

// A value that is one URL from its beginning to its end.
bool is_one_url(std::string_view text) {
  const auto colon = text.find("://");
  return colon != std::string_view::npos && text.find("://", colon + 1) == std::string_view::npos &&
         std::ranges::all_of(text.substr(0, colon), is_scheme_character) &&
         std::ranges::none_of(text, is_blank);
}

// "user:pw@" before the host. ssh needs its user name to be of use in a message, and it is not a secret.
std::string redact_userinfo(std::string_view scheme, std::string_view userinfo, Way way) {
  const bool ssh = scheme.ends_with("ssh");
  const auto colon = userinfo.find(':');
  const std::string_view user = ssh ? userinfo.substr(0, colon) : std::string_view();
  if (ssh && (colon == std::string_view::npos || way == Way::Leave)) return fmt::format("{}@", user);
  if (way == Way::Leave) return {};
  return ssh ? fmt::format("{}:{}@", user, kHidden) : fmt::format("{}@", kHidden);
}

// With its '?', if anything stays behind it.
std::string redact_query(std::string_view query, Way way) {
  std::string result;
  for (const std::string_view parameter : split(query, '&')) {
    const auto equals = parameter.find('=');
    const bool secret = equals != std::string_view::npos && names_secret(parameter.substr(0, equals));
    if (secret && way == Way::Leave) continue;
    result += result.empty() ? '?' : '&';
    result += secret ? fmt::format("{}={}", parameter.substr(0, equals), kHidden) : std::string(parameter);
  }
  return result;
}

// `rest` is the URL behind its "://".
std::string redact_after_scheme(std::string_view scheme, std::string_view rest, Way way) {
  std::string result;
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  // The last '@': git and curl both take a password that holds one.
  const auto at = authority.rfind('@');
  if (at != std::string_view::npos) {
    result += redact_userinfo(scheme, authority.substr(0, at), way);
    rest.remove_prefix(at + 1);
  }
  const auto question = rest.find('?');
  result += rest.substr(0, question);
  if (question != std::string_view::npos) result += redact_query(rest.substr(question + 1), way);
  return result;
}

std::string each_url(std::string_view text, Way way) {
  const bool one = is_one_url(text);
  std::string result;
  while (true) {
    const auto colon = text.find("://");
    if (colon == std::string_view::npos) return result += text;
    std::size_t begin = colon;
    while (begin > 0 && is_scheme_character(text[begin - 1])) --begin;
    const std::string_view scheme = text.substr(begin, colon - begin);
    result += text.substr(0, colon + 3);
    text.remove_prefix(colon + 3);
    const std::size_t end = one ? text.size() : length_in_text(text);
    result += redact_after_scheme(scheme, text.substr(0, end), way);
    text.remove_prefix(end);
  }
}

}  // namespace

std::string redact_urls(std::string_view text) { return each_url(text, Way::Hide); }

std::string without_credentials(std::string_view text) { return each_url(text, Way::Leave); }

Value redact(Value value) {
  if (value.is_string()) return Value(redact_urls(value.as_string()));
  if (value.is_array()) {
    for (Value& item : value.as_array()) item = redact(std::move(item));
  } else if (value.is_object()) {
    for (auto& [key, member] : value.as_object())
      member = member.is_string() && names_secret(key) ? Value(kHidden) : redact(std::move(member));
  }
  return value;
}

}  // namespace mist::config
