#include "trust/chart_address.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/url.h"
#include "oci/reference.h"

namespace mist::trust {
namespace {

constexpr std::string_view kAfterScheme = "://";
constexpr std::size_t kEscape = 3;  // "%2F"

struct AddressParts {
  std::string_view scheme, host, path;  // without credentials, query and fragment
};

// Also of a rule's pattern, which is no URL where its host or port has a '*'.
AddressParts parts_of(std::string_view url) {
  const std::size_t scheme = std::min(url.find(kAfterScheme), url.size());
  std::string_view rest = url.substr(std::min(scheme + kAfterScheme.size(), url.size()));
  rest = rest.substr(0, rest.find_first_of("?#"));
  const std::size_t path = std::min(rest.find('/'), rest.size());
  std::string_view host = rest.substr(0, path);
  host.remove_prefix(host.rfind('@') + 1);
  return {url.substr(0, scheme), host, rest.substr(path)};
}

// "h.:443" and "h:" are "h".
std::string host_name(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  std::string_view name = host.substr(0, has_port ? colon : host.size());
  const std::string_view port = has_port ? host.substr(colon + 1) : std::string_view();
  if (name.ends_with('.')) name.remove_suffix(1);
  return oci::canonical_host(port.empty() ? std::string(name) : fmt::format("{}:{}", name, port));
}

// RFC 3986 section 6.2.2.2. A server that takes an escaped '/' for one, and one that doesn't, can't be told
// apart, so it is one here; the '*' of a pattern isn't the one of an address.
bool needs_no_escape(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~/").find(c) != std::string_view::npos;
}

std::string with_needed_escapes(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::string decoded = percent_decoded(path.substr(i, kEscape));
    const bool is_escape = path[i] == '%' && decoded.size() == 1 && i + kEscape <= path.size();
    if (!is_escape) {
      out += path[i];
      continue;
    }
    out += needs_no_escape(decoded[0]) ? decoded : lower_case(path.substr(i, kEscape));
    i += 2;
  }
  return out;
}

}  // namespace

std::string chart_repository_name(std::string_view url) {
  const AddressParts parts = parts_of(url);
  std::string name = fmt::format("{}{}{}", lower_case(parts.scheme), kAfterScheme, host_name(parts.host));
  const std::string path = with_needed_escapes(parts.path);
  for (const std::string_view segment : split(path, '/'))
    if (!segment.empty()) name.append("/").append(segment);
  return name;
}

std::string objection_to_chart_address(std::string_view url) {
  const AddressParts parts = parts_of(url);
  if (parts.host.contains('%')) return "its host has an escape, so it is the address of another host";
  std::string path = with_needed_escapes(parts.path);
  // Some servers take it for '/'.
  for (std::size_t at = path.find("%5c"); at != std::string::npos; at = path.find("%5c"))
    path.replace(at, 3, "/");
  std::ranges::replace(path, '\\', '/');
  for (const std::string_view segment : split(path, '/'))
    if (segment == "." || segment == "..")
      return fmt::format("its path has a segment '{}', so it is the address of another path", segment);
  return {};
}

}  // namespace mist::trust
