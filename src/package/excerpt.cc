#include "package/excerpt.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "base/text.h"
#include "package/called_objects.h"

namespace mist::package {

void add_excerpt(Error& failure, const Files& files) {
  if (!failure.where || failure.where->line == 0) return;
  const auto file = files.find(failure.where->file);
  if (file == files.end()) return;
  const auto lines = split(file->second, '\n');
  if (failure.where->line > lines.size()) return;
  std::string_view line = lines[failure.where->line - 1];
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (is_valid_utf8(line)) failure.where->excerpt = line;
}

Error with_excerpt(Error failure, const Source& source, const FileOrigins& origins) {
  if (!failure.where || !failure.where->excerpt.empty()) return failure;
  const Source* const owner = called_source(source, failure.where->package);
  const auto* const files = owner == nullptr ? nullptr : std::get_if<Files>(&owner->content);
  if (files == nullptr) return failure;
  const bool template_line = std::ranges::any_of(origins, [&](const auto& each) {
    const FileOrigin& origin = each.second;
    const bool own = origin.source == failure.where->file && !origin.lines.empty();
    return origin.package == failure.where->package && (own || origin.others.contains(failure.where->file));
  });
  if (template_line) add_excerpt(failure, *files);
  return failure;
}

}  // namespace mist::package
