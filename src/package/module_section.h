#pragma once
// Writing a package's metadata into its module: the custom section "mistletoe.package". Pure; any thread.

#include <string>
#include <string_view>

#include "base/result.h"

namespace mist::package {

/// `module` with the section appended, or replaced where it has one; everything else stays byte for byte.
/// Invalid: it is no WebAssembly core module, or `metadata` (YAML or JSON) is no MistPackage document.
Result<std::string> with_metadata(std::string_view module, std::string_view metadata,
                                  std::string_view metadata_file);

}  // namespace mist::package
