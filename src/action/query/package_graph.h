#pragma once
// Which packages a release is made of, and who called whom: what its render has recorded. Pure but for
// package_graph_of_release, which reads the record. Nothing is written.

#include <string>
#include <vector>

#include "action/environment.h"
#include "release/record.h"

namespace mist::action {

struct PackageGraph {
  struct Package {
    std::string id;       ///< what names it in every version; of the release's own package its reference
    std::string install;  ///< its data.name
    std::string version;  ///< empty: it says none
    std::string digest;   ///< of its bytes; empty: not recorded
  };
  struct Call {
    std::size_t caller = 0;  ///< of `packages`
    std::size_t called = 0;
    std::string name;  ///< what the caller calls it
  };
  release::ReleaseId id;
  int revision = -1;              ///< -1: it isn't installed
  std::string name;               ///< of the release's own package
  std::vector<Package> packages;  ///< the release's own first, then in the order of the calls
  std::vector<Call> calls;        ///< in the order of the calls of each caller
};

PackageGraph package_graph(const release::ReleaseId& id, int revision, const release::PackageInfo& package);

/// As graph_of_release.
Result<PackageGraph> package_graph_of_release(const Environment& environment, const release::ReleaseId& id,
                                              const Context& context);

}  // namespace mist::action
