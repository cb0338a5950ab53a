#include "registry/oci_layout_artifact.h"

#include <algorithm>

#include "base/text.h"
#include "oci/signature.h"
#include "oci/tags.h"

namespace mist::registry {
namespace {

constexpr std::size_t kMostNamed = 5;

using Entry = LayoutReader::Entries::value_type;

// Signatures and the like are copied with what they are for.
bool is_attached(std::string_view name) {
  return oci::subject_of_tag(name.substr(name.rfind(':') + 1)).has_value();
}

Error no_one_artifact(ErrorKind kind, const LayoutReader::Entries& entries, const OciPlace& place,
                      std::string_view what) {
  std::vector<std::string> names;
  for (const auto& [name, descriptor] : entries)
    if (!is_attached(name) && names.size() < kMostNamed) names.push_back(escape_controls(name));
  return error(kind, "{} has {}", escape_controls(place.str()), what)
      .with_because(names.empty() ? std::string() : fmt::format("it has {}", join(names, ", ")))
      .with_hint(names.empty() ? std::string()
                               : fmt::format("name one: {}:{}", escape_controls(place.str()), names.front()));
}

Result<const Entry*> entry_of(const LayoutReader::Entries& entries, const OciPlace& place,
                              const std::string& name) {
  if (!name.empty()) {
    const auto found = entries.find(name);
    if (found == entries.end())
      return no_one_artifact(ErrorKind::NotFound, entries, place,
                             fmt::format("no \"{}\"", escape_controls(name)));
    return &*found;
  }
  const Entry* only = nullptr;
  for (const Entry& each : entries) {
    if (is_attached(each.first)) continue;
    if (only != nullptr) return no_one_artifact(ErrorKind::Invalid, entries, place, "several artifacts");
    only = &each;
  }
  if (only == nullptr) return no_one_artifact(ErrorKind::NotFound, entries, place, "no artifact");
  return only;
}

}  // namespace

Result<LayoutArtifact> open_layout_artifact(const FileSystem& files, std::string_view text,
                                            oci::Reference& destination) {
  const auto path = text.find(':') + 1;
  const auto end = std::min(text.find(':', path), text.size());
  MIST_TRY(const OciPlace place, OciPlace::parse(text.substr(0, end)));
  MIST_TRY(std::unique_ptr<LayoutFiles> opened, layout_at(files, place));
  MIST_TRY(std::unique_ptr<LayoutReader> layout,
           LayoutReader::open(std::move(opened), escape_controls(place.str()), BareTags::OfAnyRepository));
  const std::string name(end == text.size() ? std::string_view() : text.substr(end + 1));
  MIST_TRY(const Entry* const entry, entry_of(layout->entries(), place, name));
  const auto& [key, descriptor] = *entry;
  auto whole = oci::Reference::parse(fmt::format("{}{}", oci::kScheme, key));
  if (whole && whole->range.empty()) {
    if (whole->digest && *whole->digest != descriptor.digest)
      return error(ErrorKind::Invalid, "{} names {} as {}", escape_controls(place.str()),
                   descriptor.digest.str(), whole->str());
    // Its repository may be written in another form than ours.
    whole->digest = descriptor.digest;
    return LayoutArtifact{std::move(layout), *std::move(whole)};
  }
  if (destination.tag.empty() && oci::is_tag(key)) destination.tag = key;
  oci::Reference reference{destination.repository, {}, {}, descriptor.digest};
  return LayoutArtifact{std::move(layout), std::move(reference)};
}

}  // namespace mist::registry
