#pragma once
// Which packages the releases of a cluster were made from. Reads only; blocking; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "kpm/dependencies.h"
#include "release/store.h"

namespace mist::kpm {

/// A release of which it isn't known what package it was made from: its record is damaged, or may not be
/// read.
struct Unreadable {
  release::ReleaseId release;
  std::string reference;  ///< of its package, as its list entry has it; may be empty
  Error why;
};
/// Whether it may be of that package, by its own name and the reference. Somebody else's release that is
/// damaged must not concern everybody in the cluster.
bool may_be_of(const Unreadable& unreadable, std::string_view package);

struct InstalledPackages {
  std::vector<Installed> packages;
  std::vector<Unreadable> unreadable = {};
};

/// Of all namespaces, or where those can't be listed, of `ns`. Two requests for each release beside the list.
/// Errors: of the cluster; Retryable, Timeout and the like also of a single release.
Result<InstalledPackages> installed_packages(release::Store& store, const std::string& ns,
                                             const Context& context);

}  // namespace mist::kpm
