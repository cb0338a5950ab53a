#pragma once
// Writing a package's metadata and lock into its module: the custom sections "mistletoe.package" and
// "mistletoe.lock". Pure; any thread.

#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::package {

/// `module` with the section appended, or replaced where it has one; everything else stays byte for byte.
/// Invalid: it is no WebAssembly core module, or `metadata` (YAML or JSON) is no MistPackage document.
Result<std::string> with_metadata(std::string_view module, std::string_view metadata,
                                  std::string_view metadata_file);

/// `module` with `lock`, the text of a mistletoe.lock, as its section "mistletoe.lock". Invalid: it is no
/// WebAssembly core module.
Result<std::string> with_lock(std::string_view module, std::string_view lock, std::string_view name);

}  // namespace mist::package
