#pragma once
// Features of the processor that compiled code may depend on. Pure; any thread.

#include <string>

namespace mist::wasm {

/// A text that differs between processors for which compiled code may differ.
std::string cpu_features();

}  // namespace mist::wasm
