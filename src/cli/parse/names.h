#pragma once
// Names that completion offers and only the outside world knows.

#include <string>
#include <vector>

#include "cli/machine.h"
#include "cli/parse/complete.h"

namespace mist::cli {

/// Registries, namespaces, …; what can't be found out within two seconds is left out, for completion has no
/// place for errors. Blocking, one thread.
std::vector<KnownName> names_of(const NameQuery& query, Machine& machine);

}  // namespace mist::cli
