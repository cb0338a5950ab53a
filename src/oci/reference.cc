#include "oci/reference.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/url_credentials.h"
#include "encoding/semver.h"
#include "oci/tags.h"

namespace mist::oci {
namespace {

constexpr std::size_t kMaxReference = 2048;
constexpr std::size_t kMostShown = 200;  // bytes of it, in an error
constexpr std::size_t kMaxPath = 255;    // of repository names, as registries hold it
constexpr std::string_view kForm =
    "write oci://<host>/<path>:<version>, such as oci://registry.example/team/shop:1.4.0";
constexpr std::string_view kPrefixForm =
    "write oci://<host> or oci://<host>/<path>, such as oci://registry.example/team";
constexpr std::string_view kDockerHub = "docker.io";

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Without what may be a password, also where the scheme is missing.
std::string shown(std::string_view text) {
  const bool has_scheme = text.contains("://");
  const std::string url = fmt::format("{}{}", has_scheme ? "" : kScheme, escape_controls(text));
  return clipped(redact_urls(url).substr(has_scheme ? 0 : kScheme.size()), kMostShown);
}

Error bad(std::string_view text, std::string_view why, std::string hint = std::string(kForm)) {
  return error(ErrorKind::Invalid, "'{}' is not an OCI reference: {}", shown(text), why)
      .with_hint(std::move(hint));
}

}  // namespace

// [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*
bool is_path_segment(std::string_view text) {
  if (text.empty() || !is_lower_alphanumeric(text.front()) || !is_lower_alphanumeric(text.back()))
    return false;
  for (std::size_t i = 0; i < text.size();) {
    if (is_lower_alphanumeric(text[i])) {
      ++i;
      continue;
    }
    const std::size_t end =
        std::min(static_cast<std::size_t>(std::ranges::find_if(text.substr(i), is_lower_alphanumeric) -
                                          text.substr(i).begin()) +
                     i,
                 text.size());
    const std::string_view separator = text.substr(i, end - i);
    const bool dashes = separator.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && separator != "." && separator != "_" && separator != "__") return false;
    i = end;
  }
  return true;
}

std::string host_objection(std::string_view host) {
  std::string_view name = host, port;
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    if (end == std::string_view::npos) return "its host has a '[' without its ']'";
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
    if (name.find(':') == std::string_view::npos ||
        name.find_first_not_of("0123456789abcdef:.") != std::string_view::npos)
      return "its host is no IPv6 address";
  } else {
    const auto colon = std::min(host.find(':'), host.size());
    name = host.substr(0, colon);
    port = host.substr(colon);
    const auto part_of_name = [](char c) { return is_lower_alphanumeric(c) || c == '-' || c == '.'; };
    if (name.empty()) return "it names no host";
    if (name.size() > 253 || !std::ranges::all_of(name, part_of_name) ||
        !is_lower_alphanumeric(name.front()) || !is_lower_alphanumeric(name.back()) ||
        name.find("..") != std::string_view::npos)
      return fmt::format("'{}' is not a host name", escape_controls(name));
  }
  if (port.empty()) return {};
  unsigned number = 0;
  const auto [end, code] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
  if (port.front() != ':' || code != std::errc() || end != port.data() + port.size() || number == 0 ||
      number > 65535)
    return fmt::format("'{}' is not a port", escape_controls(port));
  return {};
}

namespace {

// Of a reference, which is no URL: ':' and '@' behind its path begin a version and a digest.
struct Parts {
  std::string_view host, path, version;
  bool has_version = false;
  std::optional<crypto::Digest> digest;
};

Result<Parts> split_parts(std::string_view text) {
  if (text.size() > kMaxReference) return bad(text, fmt::format("it is longer than {} bytes", kMaxReference));
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }))
    return bad(text, "it holds a control character, or one that isn't ASCII");
  if (!text.starts_with(kScheme)) return bad(text, "it doesn't begin with oci://");
  std::string_view rest = text.substr(kScheme.size());
  Parts parts;
  const auto slash = rest.find('/');
  if (without_credentials(text) != text)
    return bad(text, "it holds credentials", "remove them, and run mistctl login with that host");
  if (slash == std::string_view::npos) return bad(text, "it names a host, but no repository there");
  parts.host = rest.substr(0, slash);
  rest.remove_prefix(slash + 1);
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    const Result<crypto::Digest> digest = crypto::Digest::parse(rest.substr(at + 1));
    if (!digest)
      return bad(text, "no digest follows the '@'", "write @sha256: and 64 lower-case hexadecimal digits");
    parts.digest = *digest;
    rest = rest.substr(0, at);
  }
  const auto colon = rest.find(':');
  parts.path = rest.substr(0, colon);
  parts.has_version = colon != std::string_view::npos;
  if (parts.has_version) parts.version = rest.substr(colon + 1);
  return parts;
}

Result<Repository> repository_of(std::string_view text, const Parts& parts, std::string_view form = kForm) {
  Repository repository{lower_case(parts.host), std::string(parts.path)};
  if (const std::string objection = host_objection(repository.host); !objection.empty())
    return bad(text, objection, std::string(form));
  if (repository.path.empty())
    return bad(text, "it names a host, but no repository there", std::string(form));
  if (repository.path.size() > kMaxPath)
    return bad(text, fmt::format("its path is longer than {} bytes", kMaxPath), std::string(form));
  for (const std::string_view segment : split(repository.path, '/')) {
    if (is_path_segment(segment)) continue;
    if (segment.empty()) return bad(text, "its path has an empty segment", std::string(form));
    if (is_path_segment(lower_case(segment)))
      return bad(text, "its path has capital letters, which no registry takes",
                 fmt::format("write {}{}/{}", kScheme, repository.host, lower_case(repository.path)));
    return bad(text, fmt::format("'{}' can't stand in its path", escape_controls(segment)),
               "a segment has lower-case letters and digits, with '.', '_' or '-' between them");
  }
  // As Docker's tools: images of Docker itself have no name before theirs.
  if (repository.host == kDockerHub && repository.path.find('/') == std::string::npos)
    repository.path.insert(0, "library/");
  return repository;
}

enum class Named : bool { MayBeMissing, Required };

Result<Reference> parse_reference(std::string_view text, Named named) {
  MIST_TRY(const Parts parts, split_parts(text));
  Reference reference;
  MIST_TRY(reference.repository, repository_of(text, parts));
  reference.digest = parts.digest;
  if (!parts.has_version) {
    if (parts.digest || named == Named::MayBeMissing) return reference;
    return bad(text, "it names no version",
               fmt::format("add a version, a range or a digest: {0}:1.4.0, '{0}:^1.4', {0}@sha256:…",
                           reference.repository.str()));
  }
  if (encoding::may_be_range(parts.version)) {
    const auto range = encoding::SemVerRange::parse(parts.version);
    if (!range)
      return bad(text, "the range after the ':' can't be understood", range.error().hint)
          .with_because(range.error().message);
    if (parts.digest) return bad(text, "it has a range and a digest", "leave one of them out");
    reference.range = std::string(parts.version);
    return reference;
  }
  reference.tag = tag_of_version(parts.version);
  if (!is_tag(reference.tag))
    return bad(
        text, reference.tag.empty() ? "no version follows the ':'" : "no tag looks like what follows the ':'",
        "a tag has letters, digits, '.', '_' and '-', and at most 128 of them");
  return reference;
}

}  // namespace

Result<Repository> Repository::parse(std::string_view text) {
  MIST_TRY(const Parts parts, split_parts(text));
  if (parts.has_version || parts.digest)
    return bad(text, "a version follows the repository", "leave out what follows the path");
  return repository_of(text, parts);
}

std::string Repository::host_name() const {
  return host.substr(0, host.starts_with('[') ? host.find(']') + 1 : host.find(':'));
}

std::string Repository::str() const { return fmt::format("{}{}/{}", kScheme, host, path); }

std::string Repository::identity() const {
  const std::string canonical = canonical_host(host);
  const bool is_of_docker = canonical == kDockerHub && path.find('/') == std::string::npos;
  return fmt::format("{}{}/{}{}", kScheme, canonical, is_of_docker ? "library/" : "", path);
}

Result<Reference> Reference::parse(std::string_view text) { return parse_reference(text, Named::Required); }

Result<Reference> Reference::parse_destination(std::string_view text) {
  return parse_reference(text, Named::MayBeMissing);
}

namespace {

// "oci://host": nothing that a path could hold.
Result<std::string> host_prefix(std::string_view text) {
  if (!text.starts_with(kScheme)) return bad(text, "it doesn't begin with oci://", std::string(kPrefixForm));
  const std::string host = lower_case(text.substr(kScheme.size()));
  if (host.find('@') != std::string::npos)
    return bad(text, "it holds credentials", "remove them, and run mistctl login with that host");
  if (const std::string objection = host_objection(host); !objection.empty())
    return bad(text, objection, std::string(kPrefixForm));
  return std::string(text);
}

}  // namespace

Result<std::string> parse_prefix(std::string_view text) {
  while (text.ends_with('/') && text.size() > kScheme.size()) text.remove_suffix(1);
  const bool has_path = text.starts_with(kScheme) && text.find('/', kScheme.size()) != std::string_view::npos;
  if (!has_path) return host_prefix(text);
  MIST_TRY(const Parts parts, split_parts(text));
  MIST_TRY_VOID(repository_of(text, parts, kPrefixForm));
  if (!parts.has_version && !parts.digest) return std::string(text);
  const std::string_view behind = text.substr(kScheme.size() + parts.host.size() + 1 + parts.path.size());
  return error(ErrorKind::Invalid, "'{}' names one package, not a place for many", shown(text))
      .with_because(fmt::format("'{}' follows its path", behind))
      .with_hint(fmt::format("leave out '{}': each package below it has a version of its own", behind));
}

std::string Reference::str() const {
  std::string text = repository.str();
  if (!tag.empty()) text.append(":").append(tag);
  if (!range.empty()) text.append(":").append(range);
  if (digest) text.append("@").append(digest->str());
  return text;
}

Result<std::string> parse_host(std::string_view text) {
  std::string_view rest = text;
  for (const std::string_view scheme : {kScheme, std::string_view("https://"), std::string_view("http://")})
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  std::string host = lower_case(rest);
  const std::string objection = rest.find('@') != std::string_view::npos   ? "it holds credentials"
                                : rest.find('/') != std::string_view::npos ? "a path follows the host"
                                                                           : host_objection(host);
  if (objection.empty()) return host;
  return error(ErrorKind::Invalid, "'{}' is not a registry's host: {}", shown(text), objection)
      .with_hint("write its name, with the port where it has one: registry.example:5000");
}

bool is_loopback_host(std::string_view host) {
  if (host.starts_with('[')) {
    return host.substr(1, host.find(']') - 1) == "::1";
  }
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" ||
         (name.starts_with("127.") && name.find_first_not_of("0123456789.") == name.npos);
}

std::string canonical_host(std::string_view host) {
  std::string name = lower_case(host);
  const auto colon = name.rfind(':');
  if (colon != std::string::npos && name.find(']', colon) == std::string::npos) {
    std::string_view port = std::string_view(name).substr(colon + 1);
    while (port.starts_with('0')) port.remove_prefix(1);
    const bool is_usual = port == "443" || port == "80";
    name = name.substr(0, colon) + (is_usual ? "" : fmt::format(":{}", port));
  }
  return std::ranges::find(kDockerHubNames, name) != std::end(kDockerHubNames) ? std::string(kDockerHub)
                                                                               : name;
}

std::string api_host(std::string_view host) {
  return host == kDockerHub || host == "index.docker.io" ? "registry-1.docker.io" : std::string(host);
}

}  // namespace mist::oci
