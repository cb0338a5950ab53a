#pragma once
// Values of the user that a package will never look at, as far as that is sure: most are misspelled. Pure;
// any thread.
//
// Of a chart its engine says which they are (engines/helm/unknown.go). Of another package that declares its
// inputs: what its schema neither names nor makes room for (additionalProperties, patternProperties, a branch
// or a reference), and no default has; of a directory also only what none of its files names.

#include <string>
#include <vector>

#include "package/rendered.h"
#include "package/source.h"

namespace mist::package {

/// A sentence for each, with the nearest key or another place of the same name; at most 20.
std::vector<std::string> unknown_values(const Rendered& rendered, const Source& source,
                                        const Value& user_values);

}  // namespace mist::package
