#pragma once
// Custom resources that a release brings together with their definitions: the server can't check them before
// the definition is there, so they are checked here against its openAPIV3Schema, as the server will. Rules in
// CEL (x-kubernetes-validations) are left to the server. Pure; any thread.

#include <vector>

#include "apply/desired.h"

namespace mist::apply {

/// Invalid, with file, line and path of each value that its schema doesn't allow (up to a bound): wrong
/// types, missing and unknown fields, values out of bounds, versions that the definition doesn't have.
/// Objects whose kind is defined elsewhere are not looked at.
Status check_custom_resources(const std::vector<DesiredObject>& desired);

}  // namespace mist::apply
