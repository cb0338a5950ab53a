#pragma once
// The package ABI "v1 component": a component that exports the world of schemas/wit/package.wit. Its input
// and result are the documents of "v1 command"; `err` of `generate` is the reason of a failure.

#include "abi/abi.h"
#include "wasm/component.h"

namespace mist::abi::v1 {

/// Invalid if it doesn't export what a package must.
Result<std::unique_ptr<Guest>> open_component(wasm::Component component);

}  // namespace mist::abi::v1
