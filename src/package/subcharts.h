#pragma once
// Charts that a chart depends on and surely lacks, seen from its files without running anything. Only the
// engine sees the name of a packed chart in charts/, so one that could be the wanted one counts as it. Pure;
// any thread.

#include <string>
#include <vector>

#include "base/error.h"
#include "package/engine.h"

namespace mist::package {

/// Their names, in the order of Chart.yaml. A Chart.yaml that can't be read has none.
std::vector<std::string> missing_subcharts(const Files& files);

/// The error for them. `reference` is what the package is called: a path on this machine can be repaired.
Error lacks_subcharts(const std::string& reference, const std::vector<std::string>& names);

}  // namespace mist::package
