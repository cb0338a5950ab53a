#include "registry/address_name.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "crypto/digest.h"
#include "oci/tags.h"

namespace mist::registry {
namespace {

constexpr std::size_t kTagDigits = 16;
constexpr std::size_t kMostOfText = 64;

struct AddressParts {
  std::string host;
  std::string_view path;
};

// Nothing: a path of this machine.
std::optional<AddressParts> parts_of_address(std::string_view address) {
  if (is_url(address)) {
    const std::optional<UrlParts> url = split_url(address);
    const std::string scheme = scheme_of(address);
    if (!url || scheme == "file") return std::nullopt;
    const bool has_ssh_port = scheme == "ssh" && url->port == 22;
    return AddressParts{oci::canonical_host(has_ssh_port ? url->host : url->server), url->path};
  }
  // git's scp form, "git@host:path", is no URL: it has no slash before its colon.
  const auto end = address.find_first_of(":/");
  if (end == std::string_view::npos || address[end] == '/') return std::nullopt;
  std::string_view host = address.substr(0, end);
  if (const auto at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  address.remove_prefix(end + 1);
  return AddressParts{oci::canonical_host(host), address.substr(0, address.find_first_of("?#"))};
}

std::string short_hash(std::string_view text) { return crypto::sha256(text).hex().substr(0, kTagDigits); }

// As it is where an OCI repository may have it; else its letters and digits, and a part of its SHA-256.
std::string repository_segment(std::string_view segment) {
  if (oci::is_path_segment(segment)) return std::string(segment);
  std::string plain;
  for (const char each : lower_case(segment)) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9');
    if (is_plain)
      plain += each;
    else if (!plain.empty() && plain.back() != '-')
      plain += '-';
    if (plain.size() == kMostOfText) break;
  }
  if (!plain.empty() && plain.back() != '-') plain += '-';
  return plain + short_hash(segment);
}

// Without empty segments.
std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  for (const std::string_view each : split(path, '/'))
    if (!each.empty()) segments.emplace_back(each);
  return segments;
}

}  // namespace

std::optional<AddressName> AddressName::of(std::string_view address, std::string_view path) {
  const std::optional<AddressParts> parts = parts_of_address(address);
  if (!parts || parts->host.empty()) return std::nullopt;
  const std::vector<std::string> outer = segments_of(parts->path), inner = segments_of(path);
  std::string name = std::string(oci::kScheme) + parts->host;
  for (const auto* const segments : {&outer, &inner})
    for (const std::string& each : *segments) name += "/" + repository_segment(each);
  const Result<oci::Repository> repository = oci::Repository::parse(name);
  if (!repository) return std::nullopt;
  std::string original = parts->host;
  if (!outer.empty()) original += "/" + join(outer, "/");
  if (!inner.empty()) original += "//" + join(inner, "/");
  return AddressName{*repository, std::move(original)};
}

std::string tag_of_ref(CopyOf what, std::string_view ref) {
  const std::string_view prefix = what == CopyOf::Package ? "ref" : what == CopyOf::Base ? "base" : "bare";
  std::string tag = fmt::format("{}-{}", prefix, ref.empty() ? "HEAD" : ref);
  return oci::is_tag(tag) ? tag : fmt::format("{}-sha256-{}", prefix, short_hash(ref));
}

std::string tag_of_file(std::string_view url) {
  const auto query = url.find('?');
  return query == std::string_view::npos ? "file" : fmt::format("file-{}", short_hash(url.substr(query)));
}

}  // namespace mist::registry
