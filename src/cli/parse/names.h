#pragma once
// Names that completion offers and only the outside world knows.

#include <string>
#include <vector>

#include "cli/parse/complete.h"
#include "cli/world.h"

namespace mist::cli {

/// Registries, namespaces, …; what can't be found out within two seconds is left out, for completion has no
/// place for errors. Blocking, one thread.
std::vector<KnownName> names_of(const NameQuery& query, World& world);

}  // namespace mist::cli
