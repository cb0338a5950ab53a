#pragma once
// Which packages a deployment would take in other versions than the deployed revision: its own, and those
// that it calls. Pure; any thread.

#include <string>
#include <vector>

#include "release/record.h"

namespace mist::action {

struct PackageChange {
  std::string package;        ///< a name for the release's own, an id for those that are called
  std::string before, after;  ///< versions; empty: unknown
  bool called_before = true, called_after = true;
  bool is_remote =
      false;  ///< what a kustomization names elsewhere, in a lock; versions are commits or digests
  bool tag_moved = false;  ///< in its OCI registry the version has another manifest now
};

/// Sorted by id, the release's own first. A package whose version stays and whose bytes differ is among them.
std::vector<PackageChange> package_changes(const release::PackageInfo& before,
                                           const release::PackageInfo& after);

/// "mistletoe/databases/mariadb 1.0.0 → 2.0.0", "./db: other content", "mistletoe/web 0.1.0 is called now".
std::string to_text(const PackageChange& change);

}  // namespace mist::action
