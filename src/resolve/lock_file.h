#pragma once
// mistletoe.lock as data: which version of each package was resolved, from where, with which bytes, so that
// tomorrow's resolution gives the same. docs/formats/lock.md describes the file. Pure; any thread.
//
// Made for merging: a block of lines for each package, sorted, and nothing that counts or sums up, so that
// two people who add packages touch different lines.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "resolve/solver.h"

namespace mist::resolve {

/// Beside what asks for the packages.
inline constexpr std::string_view kLockFileName = "mistletoe.lock";

/// A dependency of a locked package: the range that it asked for, and the version that it got.
struct LockedDependency {
  std::string range;  ///< as its author wrote it
  Version version;
};

/// Where a package's bytes come from.
struct Origin {
  std::string source;  ///< for people and for fetching it again: a URL or a reference
  std::string digest;  ///< sha256:… of its bytes
};

struct LockedPackage {
  std::string name;  ///< the id that the solver knows it by
  Version version;
  Origin origin;
  std::map<std::string, LockedDependency> dependencies;  ///< by name
};

/// Anything elsewhere that a kustomization of the package names: a repository's directory, a file, or a
/// chart.
struct LockedRemote {
  std::string name;    ///< as it is named there, without credentials: "https://host/repo//path?ref=v1"
  std::string commit;  ///< of a repository; empty for others
  /// sha256:… of a file or chart; of a repository, of the tree of files that was taken: empty where an older
  /// mistctl wrote the lock, or where one name stands for two trees, with submodules and without.
  std::string digest;
  friend bool operator==(const LockedRemote&, const LockedRemote&) = default;
};

class LockFile {
 public:
  LockFile() = default;
  static LockFile of(const Solution& solution,
                     const std::function<Origin(const std::string&, const Version&)>& origin);

  /// Reads the text of `file`. Unknown members are ignored: a newer mistctl wrote them. Errors: Invalid, with
  /// file and line; another apiVersion is refused.
  static Result<LockFile> parse(std::string_view text, const std::string& file);

  /// The same bytes for the same packages. parse() reads it back.
  std::string to_text() const;

  /// Sorted by name, each name once.
  const std::vector<LockedPackage>& packages() const { return packages_; }
  const LockedPackage* find(std::string_view name) const;
  /// Sorted by name, each name once.
  const std::vector<LockedRemote>& remotes() const { return remotes_; }
  const LockedRemote* find_remote(std::string_view name) const;
  /// Of those with one name the first counts, without a digest where theirs differ.
  void set_remotes(std::vector<LockedRemote> remotes);
  /// For Request::locked.
  std::map<std::string, Version> versions() const;

  /// Whether each dependency is here, in the version that it names and in its range: after a merge of two
  /// changes it may not be, and then the versions are only wishes. Errors: Invalid, naming the packages.
  Status check_consistent() const;

 private:
  std::vector<LockedPackage> packages_;
  std::vector<LockedRemote> remotes_;
};

}  // namespace mist::resolve
