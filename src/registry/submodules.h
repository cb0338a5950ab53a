#pragma once
// A git repository with its submodules as what kustomizations are read from: each is fetched at the commit
// that the repository says, from where its .gitmodules says, theirs in turn, as `git submodule update --init
// --recursive` does. Used in the call that made it; one thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "registry/git.h"
#include "registry/snapshot_files.h"

namespace mist::registry {

/// A repository at a ref, as it is on this machine now.
struct RepositoryAtRef {
  std::string shown;
  SnapshotStore store;
  Snapshot snapshot;
  PackageIndex index;
};

/// Fetches one, which `parent` names.
using OpenRepository = std::function<Result<RepositoryAtRef>(const GitUrl& parent, const std::string& url,
                                                             const std::string& ref)>;

/// Where a submodule of `parent` is: `url` of its .gitmodules, relative to the parent's if it begins with
/// "./" or
/// "../". Errors: Invalid for an address that git may not see, or one on this machine when the parent isn't.
Result<std::string> submodule_url(const GitUrl& parent, std::string_view url);

class RepositoryFiles final : public KustomizationSource {
 public:
  static constexpr std::size_t kMostSubmodules = 100;
  static constexpr std::size_t kDeepest = 10;

  /// `top` with its submodules, if `submodules`. All references outlive it. Errors: Invalid (a submodule
  /// without an address, too many), of opening them.
  static Result<RepositoryFiles> open(const Git& git, const RepositoryAtRef& top, bool submodules,
                                      const OpenRepository& open, const Context& context);

  bool is_file(const std::string& path) const override;
  bool is_directory(const std::string& path) const override;
  Status check_directory(const std::string&) const override { return {}; }
  Result<std::vector<std::string>> read(const std::vector<NamedFile>& files) const override;
  Result<std::vector<PackageFile>> read_all(const std::string& directory) const override;
  /// Whether the repository is that this path is in.
  bool is_on_this_machine(const std::string& path) const;
  std::string top() const override { return parts_.front().files.top(); }

 private:
  // The repository itself (`at` is empty), or a submodule.
  struct Part {
    std::string at;  // with '/' at its end
    std::unique_ptr<RepositoryAtRef> own;
    SnapshotFiles files;
    std::string below(const std::string& path) const { return path.substr(std::min(at.size(), path.size())); }
  };
  RepositoryFiles() = default;
  Status add_submodules(const Git& git, const std::string& at, const RepositoryAtRef& parent,
                        std::size_t depth, const OpenRepository& open, const Context& context);
  const Part& part_of(const std::string& path) const;

  std::vector<Part> parts_;
};

}  // namespace mist::registry
