#pragma once
// The picture of a version's state that authors put into their READMEs. Pure; any thread.

#include <string>

#include "catalog/model.h"

namespace mist::catalog {

/// SVG; `state` of no version: "unknown".
std::string badge(const std::string& label, std::optional<VersionState> state);

}  // namespace mist::catalog
