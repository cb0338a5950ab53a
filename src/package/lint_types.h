#pragma once
// Rules on the types of what a package renders: kinds that a Kubernetes doesn't have, fields that they don't
// have, or lack. Pure; any thread.

#include <vector>

#include "apimachinery/kube_types.h"
#include "package/lint.h"

namespace mist::package {

/// Refusals and warnings of a Kubernetes of `types`, in the order of the objects. Kinds of other groups are
/// noted, unless a CRD among the objects defines them.
std::vector<Finding> lint_types(const Rendered& rendered, const apimachinery::KubeTypes& types);

}  // namespace mist::package
