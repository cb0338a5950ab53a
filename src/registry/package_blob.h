#pragma once
// A package as the one piece of bytes that a catalog keeps and kpm fetches: a module as it is, a tree as its
// canonical text. The SHA-256 of it is digest_of. Pure; any thread.

#include <string>

#include "base/result.h"
#include "registry/package_files.h"

namespace mist::registry {

/// The module that is the package of a directory which has a file of that name.
inline constexpr std::string_view kModuleFile = "package.wasm";

/// Errors: of reading a module that isn't in memory.
Result<std::string> blob_of(const PackageContent& content);
/// Invalid: they are neither, or larger than a package.
Result<PackageContent> content_of_blob(std::string bytes);

}  // namespace mist::registry
