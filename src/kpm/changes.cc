#include "kpm/changes.h"

#include "base/text.h"
#include "base/text_diff.h"
#include "base/tree.h"

namespace mist::kpm {
namespace {

using registry::PackageFile;

bool is_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && is_valid_utf8(bytes);
}

// Null: the file isn't there.
FileChange change_of(const PackageFile* before, const PackageFile* after, std::size_t context) {
  const std::string_view was = before == nullptr ? std::string_view() : before->bytes;
  const std::string_view is = after == nullptr ? std::string_view() : after->bytes;
  FileChange change{.path = before == nullptr ? after->path : before->path,
                    .kind = before == nullptr  ? ChangeKind::Added
                            : after == nullptr ? ChangeKind::Removed
                                               : ChangeKind::Changed,
                    .is_binary = !is_text(was) || !is_text(is)};
  if (!change.is_binary) change.lines = unified_file_diff(was, is, context);
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
  while (old_file != before.files.end() || new_file != after.files.end()) {
    const bool is_old =
        new_file == after.files.end() || (old_file != before.files.end() && old_file->path <= new_file->path);
    const bool is_new =
        old_file == before.files.end() || (new_file != after.files.end() && new_file->path <= old_file->path);
    const PackageFile* const was = is_old ? &*old_file++ : nullptr;
    const PackageFile* const is = is_new ? &*new_file++ : nullptr;
    if (was != nullptr && is != nullptr && was->bytes == is->bytes) continue;
    if (is == nullptr && is_hidden_path(was->path)) continue;
    changes.push_back(change_of(was, is, context));
  }
  return changes;
}

}  // namespace mist::kpm
