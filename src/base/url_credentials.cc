#include "base/url_credentials.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

#include "base/secret_names.h"
#include "base/text.h"

namespace mist {
namespace {

constexpr std::string_view kHidden = "***";
constexpr int kDeepest = 8;  // URLs in URLs: what is deeper is hidden whole

// All of this reads running text, in which a URL may be misspelt and hold a password all the same: no parser
// of URLs.
enum class Way : std::uint8_t { Hide, Leave };  // Leave: as if it had never been there

bool is_scheme_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }

bool is_quote(char c) { return c == '\'' || c == '"' || c == '<' || c == '>' || c == '`'; }

// Where the URL that begins with `rest`, which follows "://" in running text, ends: at a blank or a
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

// "host", "host:443" and "[::1]:443", but not "host:x": what follows the ':' may be a password.
bool has_usable_port(std::string_view host) {
  if (host.starts_with('[') && !host.contains(']')) return false;
  // An IPv6 address has colons of its own.
  const auto colon = host.find(':', host.starts_with('[') ? std::min(host.find(']'), host.size()) : 0);
  if (colon == std::string_view::npos) return true;
  const std::string_view port = host.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), number);
  return code == std::errc() && end == port.data() + port.size() && number != 0;
}

// How long the userinfo is with which `rest` begins, the URL behind its "://"; npos: it has none.
std::size_t userinfo_length(std::string_view scheme, std::string_view rest, Way way) {
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  // In a reference to a registry, a digest comes last: an '@' with a '/' behind it ends a password, also one
  // such as "ci:123/456", which looks like a port and a path.
  if (scheme == "oci" && authority.find_first_of(":@") != std::string_view::npos) {
    const auto at = rest.substr(0, std::min(rest.rfind('/'), rest.size())).rfind('@');
    if (at != std::string_view::npos) return at;
  }
  // The last '@': git and curl both take a password that holds one.
  const auto at = authority.rfind('@');
  // "user:pa/ss@host": a port is a number, so this is a password in which a '/', '?' or '#' isn't escaped.
  if (at == std::string_view::npos) return has_usable_port(authority) ? at : rest.rfind('@');
  // "user:p@s/s@host" asks the host "s", but its owner meant a password.
  const bool has_password = authority.substr(0, at).contains(':');
  return way == Way::Hide && has_password ? rest.substr(0, rest.find('?')).rfind('@') : at;
}

// A value that is one URL from its beginning to its end. A password may hold a blank.
bool is_one_url(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos || text.find("://", colon + 1) != std::string_view::npos ||
      !std::ranges::all_of(text.substr(0, colon), is_scheme_character))
    return false;
  const std::string_view rest = text.substr(colon + 3);
  const auto blank = static_cast<std::size_t>(std::ranges::find_if(rest, is_blank) - rest.begin());
  const std::size_t at = userinfo_length(text.substr(0, colon), rest, Way::Leave);
  return blank == rest.size() || (at != std::string_view::npos && blank < at);
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

std::string each_url(std::string_view text, Way way, int depth);

// With its '?', if anything stays behind it.
std::string redact_query(std::string_view query, Way way, int depth) {
  std::string result;
  for (const std::string_view parameter : split(query, '&')) {
    const auto equals = parameter.find('=');
    const bool secret = equals != std::string_view::npos && names_secret(parameter.substr(0, equals));
    if (secret && way == Way::Leave) continue;
    result += result.empty() ? '?' : '&';
    result +=
        secret ? fmt::format("{}={}", parameter.substr(0, equals), kHidden) : each_url(parameter, way, depth);
  }
  return result;
}

// `rest` is the URL behind its "://". There may be others in its path, as of what a proxy fetches, and in its
// parameters.
std::string redact_after_scheme(std::string_view scheme, std::string_view rest, Way way, int depth) {
  if (depth == kDeepest) return std::string(way == Way::Hide ? kHidden : "");
  std::string result;
  if (const std::size_t at = userinfo_length(scheme, rest, way); at != std::string_view::npos) {
    result += redact_userinfo(scheme, rest.substr(0, at), way);
    rest.remove_prefix(at + 1);
  }
  const auto question = rest.find('?');
  result += each_url(rest.substr(0, question), way, depth + 1);
  if (question != std::string_view::npos) result += redact_query(rest.substr(question + 1), way, depth + 1);
  return result;
}

std::string each_url(std::string_view text, Way way, int depth) {
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
    result += redact_after_scheme(scheme, text.substr(0, end), way, depth);
    text.remove_prefix(end);
  }
}

}  // namespace

std::string_view without_userinfo(std::string_view rest) {
  const std::size_t at = userinfo_length("", rest, Way::Hide);
  return at == std::string_view::npos ? rest : rest.substr(at + 1);
}

std::string hidden_query(std::string_view query) { return redact_query(query, Way::Hide, 1); }

std::string shown_url(std::string_view text) {
  constexpr std::size_t kMostShown = 200;
  return clipped(redact_urls(escape_controls(text)), kMostShown);
}

std::string redact_urls(std::string_view text) { return each_url(text, Way::Hide, 0); }

std::string without_credentials(std::string_view text) { return each_url(text, Way::Leave, 0); }

}  // namespace mist
