#pragma once
// Package ABI v1 for programs: the input document on stdin, the output on stdout, the log on stderr. See
// README.md.

#include "abi/abi.h"

namespace mist::abi::v1 {

/// A WASI preview 1 command: it exports `_start`.
bool recognises_command(const wasm::Module& module);
Result<std::unique_ptr<Guest>> open_command(wasm::Module module);

/// A reactor: it exports `mistletoe_generate`, and `_initialize` if it wants to be initialised first.
bool recognises_reactor(const wasm::Module& module);
Result<std::unique_ptr<Guest>> open_reactor(wasm::Module module);

}  // namespace mist::abi::v1
