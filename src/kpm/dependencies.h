#pragma once
// Which dependencies of a Kube aren't there, and in which order they would be installed. Pure but for the
// lookups that the caller gives; any thread.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kpm/k3.h"

namespace mist::kpm {

/// A package that a release of the cluster was made from.
struct Installed {
  std::string package;
  std::string version;  ///< as its package wrote it
};

/// Whether it is within the range. Every version fits `*`, prereleases too.
bool fits(const Dependency& dependency, const encoding::SemVer& version);

/// True if some release of that package fits. A version that is not a SemVer fits only `*`.
bool is_satisfied(const Dependency& dependency, std::span<const Installed> installed);

/// In the order of K3.yaml.
std::vector<Dependency> unsatisfied(const K3& k3, std::span<const Installed> installed);

struct InstallPlan {
  std::vector<std::string> missing;     ///< names of what is to be installed, what others need first
  std::vector<Dependency> unavailable;  ///< no archive has it in that range, or another version is installed
  /// Of those that are unavailable because their Kube can't be read: which it is, and where its fault is.
  std::vector<Error> broken = {};
};

/// The Kube of that name which fits all `needs`. NotFound: none; with the detail BrokenKube, one that may fit
/// can't be read. Conflict: several, of which another need may choose one.
using Find = std::function<Result<K3>(const std::string& name, std::span<const Dependency> needs)>;

/// Plans the installation of all that `root` needs, and of what that needs. A Kube that several need is found
/// again when a later one narrows its range: of each name the last one found counts. Errors: Invalid for a
/// cycle, with its path; those of `find` except NotFound.
Result<InstallPlan> plan_dependencies(const K3& root, std::span<const Installed> installed, const Find& find);

}  // namespace mist::kpm
