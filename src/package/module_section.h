#pragma once
// A package's metadata, lock and files in its module: the custom sections "mistletoe.package",
// "mistletoe.lock" and, of a module that names its engine, "mistletoe.files". Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "package/engine.h"
#include "package/metadata.h"
#include "wasm/module_bytes.h"

namespace mist::package {

/// Where the engine of a built package is.
enum class BuiltEngine : std::uint8_t { Contained, Named };

/// `module` with the section appended, or replaced where it has one; everything else stays byte for byte.
/// Invalid: it is no WebAssembly core module, or `metadata` (YAML or JSON) is no MistPackage document.
Result<std::string> with_metadata(std::string_view module, std::string_view metadata,
                                  std::string_view metadata_file);

/// The metadata that a module has in its section; runs nothing. Nullopt: it has none. Invalid: it is no
/// module or component, or what it has is no MistPackage document. `name` is what the module is called in
/// messages.
Result<std::optional<Metadata>> metadata_of_module(const wasm::ModuleBytes& module, const std::string& name);

/// `module` with `lock`, the text of a mistletoe.lock, as its section "mistletoe.lock". Invalid: it is no
/// WebAssembly core module.
Result<std::string> with_lock(std::string_view module, std::string_view lock, std::string_view name);

/// A module that contains nothing but these files, as a tar+gzip in its section "mistletoe.files". The same
/// files give the same bytes.
Result<std::string> module_of_files(const Files& files);

/// Those files. Invalid: it has none, or they can't be unpacked within a package's bounds. `name` is what the
/// module is called in messages.
Result<Files> files_of_module(std::string_view module, const std::string& name);

}  // namespace mist::package
