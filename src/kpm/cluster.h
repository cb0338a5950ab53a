#pragma once
// Which packages the releases of a cluster were made from. Reads only; blocking; any thread.

#include <string>
#include <vector>

#include "base/context.h"
#include "kpm/dependencies.h"
#include "release/store.h"

namespace mist::kpm {

/// Of all namespaces, or where those can't be listed, of `ns`. One request for each release beside the list.
/// Errors: of the cluster. A release whose record can't be read counts as not there.
Result<std::vector<Installed>> installed_packages(release::Store& store, const std::string& ns,
                                                  const Context& context);

}  // namespace mist::kpm
