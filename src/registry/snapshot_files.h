#pragma once
// A git snapshot as what kustomizations are read from. Used in the call that made it; one thread.

#include "base/context.h"
#include "registry/kustomization.h"
#include "registry/snapshot_store.h"

namespace mist::registry {

class SnapshotFiles final : public KustomizationSource {
 public:
  /// All outlive this.
  SnapshotFiles(const SnapshotStore& store, const Snapshot& snapshot, const PackageIndex& index,
                const Context& context)
      : store_(store), snapshot_(snapshot), index_(index), context_(context) {}

  bool is_file(const std::string& path) const override { return index_.entry_at(path) != nullptr; }
  bool is_directory(const std::string& path) const override { return index_.is_directory(path); }
  /// git's trees have no directories behind links.
  Status check_directory(const std::string&) const override { return {}; }
  Result<std::vector<std::string>> read(const std::vector<NamedFile>& files) const override;
  Result<std::vector<PackageFile>> read_all(const std::string& directory) const override;
  std::string top() const override;
  const GitUrl& url() const { return store_.url(); }

 private:
  const SnapshotStore& store_;
  const Snapshot& snapshot_;
  const PackageIndex& index_;
  const Context& context_;
};

}  // namespace mist::registry
