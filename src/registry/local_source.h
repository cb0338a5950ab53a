#pragma once
// Packages that are files on this machine: `./module.wasm`, a directory, a plain `.yaml`, `.yml` or `.json`
// file. Any thread.

#include "base/fs.h"
#include "base/result.h"
#include "registry/package_files.h"
#include "wasm/module_files.h"

namespace mist::registry {

/// A `.wasm` file is a module; a YAML or JSON file or a packed chart (.tgz) is a tree of that one file; a
/// directory is the tree of its files (but a Kustomize directory: kustomization.h). Errors: NotFound,
/// Forbidden, Invalid (another kind of file, links that leave the directory, beyond a bound, nothing in it).
Result<PackageContent> read_local(const FileSystem& files, const wasm::ModuleFiles& modules,
                                  const Path& path);

/// Every regular file below `directory`, except those of version control (is_bookkeeping). Links are followed
/// while they stay inside. Errors as read_local.
Result<PackageTree> read_directory_tree(const FileSystem& files, const Path& directory);

/// Of this process; the root, if it is gone.
Path working_directory();

/// The real place of `path`. Errors: NotFound, Invalid when that is outside of `root`.
Result<Path> real_path_inside(const Path& root, const Path& path);

/// One file below `root`. Errors: Invalid when its real place is outside of `root`, or it is not a regular
/// file.
Result<std::string> read_inside(const FileSystem& files, const Path& root, const Path& path,
                                std::uint64_t limit);

}  // namespace mist::registry
