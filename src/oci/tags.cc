#include "oci/tags.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace mist::oci {
namespace {

using encoding::SemVer;

constexpr std::size_t kMaxTag = 128;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string with_plus(std::string_view tag) {
  std::string version(tag);
  if (const auto mark = version.find('_'); mark != std::string::npos) version[mark] = '+';
  return version;
}

std::vector<std::pair<SemVer, std::string>> versions_in(std::span<const std::string> tags) {
  std::vector<std::pair<SemVer, std::string>> found;
  for (const std::string& tag : tags)
    if (Result<SemVer> version = SemVer::parse_lenient(with_plus(tag)))
      found.emplace_back(*std::move(version), tag);
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.first == b.first ? a.second > b.second : a.first > b.first;
  });
  return found;
}

}  // namespace

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTag && is_word(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

std::string tag_of_version(std::string_view version) {
  std::string tag(version);
  std::ranges::replace(tag, '+', '_');
  return tag;
}

std::string version_of_tag(std::string_view tag) {
  std::string version = with_plus(tag);
  return SemVer::parse_lenient(version) ? version : std::string(tag);
}

bool is_fixed_version(std::string_view tag) {
  const std::string version = with_plus(tag.starts_with('v') ? tag.substr(1) : tag);
  return SemVer::parse(version).ok();
}

bool fits_version(std::string_view tag, std::string_view version) {
  const auto without_v = [](std::string_view text) { return text.substr(text.starts_with('v') ? 1 : 0); };
  const std::string own = tag_of_version(version);
  const std::string_view wanted = without_v(tag), is = without_v(own);
  if (wanted == is) return true;
  if (is_fixed_version(tag)) return false;
  const bool is_version =
      wanted.find('.') != std::string_view::npos && SemVer::parse_lenient(with_plus(wanted)).ok();
  return !is_version || (is.starts_with(wanted) && is.substr(wanted.size()).starts_with('.'));
}

std::optional<std::string> newest_in(const encoding::SemVerRange& range, std::span<const std::string> tags) {
  for (auto& [version, tag] : versions_in(tags))
    if (range.contains(version)) return std::move(tag);
  return std::nullopt;
}

std::vector<std::string> all_in(const encoding::SemVerRange& range, std::span<const std::string> tags) {
  std::vector<std::string> names;
  for (auto& [version, tag] : versions_in(tags))
    if (range.contains(version)) names.push_back(std::move(tag));
  return names;
}

std::vector<std::string> fixed_versions(std::span<const std::string> tags) {
  std::vector<std::string> fixed;
  std::ranges::copy_if(tags, std::back_inserter(fixed), is_fixed_version);
  return fixed;
}

std::vector<std::string> newest_first(std::span<const std::string> tags) {
  std::vector<std::string> names;
  for (auto& [version, tag] : versions_in(tags)) names.push_back(std::move(tag));
  return names;
}

}  // namespace mist::oci
