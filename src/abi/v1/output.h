#pragma once
// The text that a v1 package gave: a result document, or simply Kubernetes YAML. Pure; any thread.

#include <string>

#include "abi/abi.h"

namespace mist::abi::v1 {

/// `name` is what the package is called in messages. Invalid: a result that can't be used, or says Err.
Result<Output> read_output(std::string text, const std::string& name);

}  // namespace mist::abi::v1
