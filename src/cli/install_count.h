#pragma once
// Catalogs are told of installations, for users who chose that. One thread.

#include <string>

#include "cli/machine.h"

namespace mist::cli {

/// After `version` of a package of the catalog at that URL was installed. Nothing happens without
/// spec.countInstalls, and what goes wrong is for -v alone: the package is installed all the same.
void count_install(Machine& machine, const std::string& catalog, const std::string& package,
                   const std::string& version);
/// The same of a package by the reference that the user gave; nothing happens where that is of no catalog.
void count_install_of(Machine& machine, const std::string& reference, const std::string& version);

}  // namespace mist::cli
