#pragma once
// The images that nodes pull for objects: what has to be in a registry that they reach, besides the packages.
// Pure; any thread.

#include <string>
#include <vector>

#include "encoding/value.h"

namespace mist::package {

/// As they are written; sorted, each once. Those of containers of all three kinds and of image volumes, in
/// every object that has them at any depth: workloads, and custom resources with Pod templates.
std::vector<std::string> images_of(const std::vector<encoding::Value>& objects);

}  // namespace mist::package
