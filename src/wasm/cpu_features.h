#pragma once
// What the processor can do, as far as compiled code may depend on it. Pure; any thread.

#include <string>

namespace mist::wasm {

/// A text that differs between processors for which compiled code may differ.
std::string cpu_features();

}  // namespace mist::wasm
