#include "kpm/changes.h"

#include "base/text.h"
#include "base/text_diff.h"
#include "base/tree.h"

namespace mist::kpm {
namespace {

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && is_valid_utf8(bytes);
}

FileChange change_of(std::string path, ChangeKind kind, std::string_view before, std::string_view after,
                     std::size_t context) {
  FileChange change{.path = std::move(path), .kind = kind, .is_binary = !is_text(before) || !is_text(after)};
  if (!change.is_binary) change.lines = unified_file_diff(before, after, context);
  return change;
}

}  // namespace

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::Added:
      return "added";
    case ChangeKind::Changed:
      return "changed";
    case ChangeKind::Removed:
      return "removed";
  }
  return "changed";
}

std::vector<FileChange> changes_between(const registry::PackageTree& before,
                                        const registry::PackageTree& after, std::size_t context) {
  std::vector<FileChange> changes;
  // Both are sorted by path.
  auto old_file = before.files.begin();
  auto new_file = after.files.begin();
  const auto old_end = before.files.end();
  const auto new_end = after.files.end();
  while (old_file != old_end || new_file != new_end) {
    if (new_file == new_end || (old_file != old_end && old_file->path < new_file->path)) {
      if (!is_hidden_path(old_file->path))
        changes.push_back(change_of(old_file->path, ChangeKind::Removed, old_file->bytes, {}, context));
      ++old_file;
    } else if (old_file == old_end || new_file->path < old_file->path) {
      changes.push_back(change_of(new_file->path, ChangeKind::Added, {}, new_file->bytes, context));
      ++new_file;
    } else {
      if (old_file->bytes != new_file->bytes)
        changes.push_back(
            change_of(old_file->path, ChangeKind::Changed, old_file->bytes, new_file->bytes, context));
      ++old_file;
      ++new_file;
    }
  }
  return changes;
}

}  // namespace mist::kpm
