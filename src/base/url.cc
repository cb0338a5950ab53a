#include "base/url.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/url/src.hpp>  // the sources of the whole library, so that nothing more is linked
#include <charconv>
#include <utility>

#include "base/text.h"

namespace mist {
namespace {

namespace urls = boost::urls;

constexpr auto kBehindAuthority = urls::pchars + "/?";

std::string_view view_of(urls::string_view text) { return {text.data(), text.size()}; }

bool is_escape(std::string_view text) {
  return text.size() >= 3 && text[0] == '%' && urls::grammar::hexdig_value(text[1]) >= 0 &&
         urls::grammar::hexdig_value(text[2]) >= 0;
}

// Where path, query or fragment begin.
std::size_t end_of_authority(std::string_view text) {
  const std::size_t scheme = scheme_of(text).size();
  const std::size_t slashes = scheme + (scheme > 0 ? 1 : 0);
  if (!text.substr(slashes).starts_with("//")) return slashes;
  return std::min(text.find_first_of("/?#", slashes + 2), text.size());
}

// `text`, with `replaced` in place of each character behind its authority that should have been escaped.
template <typename Replaced>
std::string without_stray(std::string_view text, const Replaced& replaced) {
  const std::size_t behind = end_of_authority(text);
  const std::size_t fragment = text.find('#', behind);
  std::string out(text.substr(0, behind));
  for (std::size_t i = behind; i < text.size(); ++i) {
    if (i == fragment || kBehindAuthority(text[i]) || is_escape(text.substr(i)))
      out += text[i];
    else
      out += replaced(text[i]);
  }
  return out;
}

std::string escaped(char c) { return percent_encoded({&c, 1}); }

std::optional<std::uint16_t> port_number(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_port = code == std::errc() && end == text.data() + text.size() && port != 0;
  return is_port ? std::optional(port) : std::nullopt;
}

std::string origin_of(const UrlParts& url) {
  const std::string scheme = lower_case(url.scheme);
  const std::uint16_t usual = scheme == "https" ? 443 : scheme == "http" ? 80 : 0;
  return fmt::format("{}://{}:{}", scheme, lower_case(url.host), url.port == 0 ? usual : url.port);
}

}  // namespace

std::optional<UrlParts> split_url(std::string_view text) {
  if (!is_url(text)) return std::nullopt;  // Boost.URL 1.81 has a failing assertion for "x:?"
  const std::string tame = without_stray(text, [](char) { return '_'; });
  const auto url = urls::parse_uri(tame);
  if (!url || !url->has_authority()) return std::nullopt;
  const auto in_text = [&](urls::string_view part) {
    return part.empty() ? std::string_view()
                        : text.substr(static_cast<std::size_t>(part.data() - tame.data()), part.size());
  };
  UrlParts parts{.scheme = in_text(url->scheme()),
                 .authority = in_text(url->encoded_authority()),
                 .server = in_text(url->encoded_host_and_port()),
                 .userinfo = in_text(url->encoded_userinfo()),
                 .host = in_text(url->encoded_host()),
                 .port = port_number(view_of(url->port())).value_or(0),
                 .path = in_text(url->encoded_path()),
                 .query = in_text(url->encoded_query()),
                 .fragment = in_text(url->encoded_fragment()),
                 .target = in_text(url->encoded_target())};
  // Boost.URL 1.81 takes "@h/" of "//u@p@h/" for a path, though none begins so behind an authority.
  const bool has_path = parts.path.empty() || parts.path.starts_with('/');
  const bool has_port = parts.port != 0 || url->port().empty();
  return has_path && has_port ? std::optional(parts) : std::nullopt;
}

std::string scheme_of(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto url = urls::parse_uri({text.data(), colon + 1});
  return url ? lower_case(view_of(url->scheme())) : std::string();
}

bool is_http(std::string_view text) {
  const std::string scheme = scheme_of(text);
  return scheme == "https" || scheme == "http";
}

bool is_url(std::string_view text) {
  const std::size_t scheme = scheme_of(text).size();
  return scheme > 0 && text.substr(scheme).starts_with("://");
}

std::string resolved_url(std::string_view base, std::string_view reference) {
  if (!scheme_of(reference).empty()) return std::string(reference);
  const bool names_server = reference.starts_with("//");
  if (!split_url(base) || (names_server && !split_url(fmt::format("http:{}", reference))))
    return std::string(reference);
  const std::string from = without_stray(base, escaped), to = without_stray(reference, escaped);
  const auto document = urls::parse_uri(from);
  const auto relative = urls::parse_relative_ref(to);
  urls::url resolved;
  if (!document || !relative || urls::resolve(*document, *relative, resolved).has_error())
    return std::string(reference);
  // Section 5.2.4 leaves nothing above the root; Boost.URL 1.81 does.
  std::string url(view_of(resolved.buffer()));
  const auto path = static_cast<std::size_t>(resolved.encoded_path().data() - resolved.buffer().data());
  while (std::string_view(url).substr(path).starts_with("/../")) url.erase(path, 3);
  if (url.substr(path, url.find_first_of("?#", path) - path) == "/..") url.replace(path, 3, "/");
  return url;
}

bool same_origin(std::string_view url, std::string_view other) {
  const auto one = split_url(url), two = split_url(other);
  return one && two && origin_of(*one) == origin_of(*two);
}

std::string with_userinfo(std::string_view url, std::string_view userinfo) {
  const auto parts = split_url(url);
  if (!parts || parts->server.empty()) return std::string(url);
  const auto server = static_cast<std::size_t>(parts->server.data() - url.data());
  return fmt::format("{}://{}@{}", parts->scheme, userinfo, url.substr(server));
}

std::string percent_encoded(std::string_view text, std::string_view kept) {
  const urls::string_view plain(text.data(), text.size());
  if (kept.empty()) return urls::encode(plain, urls::unreserved_chars);
  const auto is_kept = [&](char c) { return urls::unreserved_chars(c) || kept.contains(c); };
  return urls::encode(plain, urls::grammar::lut_chars(is_kept));
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_escape(text.substr(i))) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(urls::grammar::hexdig_value(text[i + 1]) * 16 +
                             urls::grammar::hexdig_value(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace mist
