#pragma once
// WebAssembly text to binary, so that tests can hold their guests as text. Not for product code.

#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::wasm {

/// Invalid, with the place in the text, if it is no WAT.
Result<std::string> wat_to_wasm(std::string_view wat);

}  // namespace mist::wasm
