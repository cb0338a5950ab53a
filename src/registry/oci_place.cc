#include "registry/oci_place.h"

#include "base/text.h"
#include "config/redact.h"
#include "registry/reference.h"

namespace mist::registry {
namespace {

constexpr std::string_view kDirectoryScheme = "oci-layout:";
constexpr std::string_view kArchiveScheme = "oci-archive:";

Error no_place(std::string_view text, std::string_view why) {
  return error(ErrorKind::Invalid, "\"{}\" is not a place for copies: {}", shown_url(text), why)
      .with_hint("write oci://HOST/PATH for a registry, oci-layout:DIR for a directory, or oci-archive:FILE");
}

}  // namespace

bool names_layout(std::string_view text) {
  return text.starts_with(kDirectoryScheme) || text.starts_with(kArchiveScheme);
}

Result<OciPlace> OciPlace::parse(std::string_view text) {
  for (const auto& [scheme, kind] :
       {std::pair(kDirectoryScheme, Kind::Directory), std::pair(kArchiveScheme, Kind::Archive)}) {
    if (!text.starts_with(scheme)) continue;
    const std::string_view path = text.substr(scheme.size());
    if (path.empty()) return no_place(text, "no path follows the ':'");
    return OciPlace{.kind = kind, .path = Path(path)};
  }
  if (!text.starts_with(oci::kScheme)) return no_place(text, "its scheme isn't known");
  MIST_TRY(std::string prefix, oci::parse_prefix(text));
  return OciPlace{.kind = Kind::Registry, .prefix = std::move(prefix)};
}

std::string OciPlace::str() const {
  switch (kind) {
    case Kind::Registry:
      return prefix;
    case Kind::Directory:
      return fmt::format("{}{}", kDirectoryScheme, path.string());
    case Kind::Archive:
      return fmt::format("{}{}", kArchiveScheme, path.string());
  }
  return prefix;
}

std::string mirror_host_segment(std::string_view host) {
  const std::string name = oci::canonical_host(host);
  std::string segment;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (is_plain)
      segment += c;
    else if (!segment.empty() && segment.back() != '_')
      segment += '_';
  }
  return segment;
}

Result<oci::Repository> mirror_repository(const std::string& prefix, const oci::Repository& repository) {
  return repository_below(prefix,
                          fmt::format("{}/{}", mirror_host_segment(repository.host), repository.path));
}

}  // namespace mist::registry
