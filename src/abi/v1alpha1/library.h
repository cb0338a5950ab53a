#pragma once
// Package ABI v1alpha1, the original: a library of four functions that pass documents by address in the
// guest's memory. Existing *.mist-pack.wasm speak it.

#include "abi/abi.h"

namespace mist::abi::v1alpha1 {

/// True if the module exports all four functions, whatever their types are, or __mistletoe_info and, under
/// names that its document may give (`spec.functions`), functions of the types of the other three, but no
/// entry of a later ABI.
bool recognises(const wasm::Module& module);
/// The names of those functions that a module lacks which exports only some of them; empty if it has none or
/// all.
std::string missing_functions(const wasm::Module& module);
/// Invalid if one of them has another type.
Result<std::unique_ptr<Guest>> open(wasm::Module module);

}  // namespace mist::abi::v1alpha1
