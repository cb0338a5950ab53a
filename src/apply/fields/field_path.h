#pragma once
// How the way to a field is written for people. Pure; any thread.

#include <string>
#include <vector>

#include "apply/fields/difference.h"

namespace mist::apply {

/// ".spec.replicas", ".spec.containers[name=web].image", ".metadata.labels["a.b/c"]".
std::string path_text(const std::vector<PathStep>& steps);

}  // namespace mist::apply
