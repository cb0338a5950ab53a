#pragma once
// A package of this machine into an OCI registry, and one from there onto this machine. One thread.

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "oci/reference.h"
#include "package/renderer.h"
#include "registry/oci_packages.h"
#include "registry/registry.h"

namespace mist::action {

/// The package for a renderer, named as at its destination.
package::Source pushed_source(const registry::Fetched& package, const oci::Reference& destination);

/// A package as it will be pushed.
struct PreparedPush {
  oci::Reference destination;  ///< with its tag, and the digest that it will have
  oci::Artifact artifact;
};

/// `package` as registry::Registries gave it. A destination without a tag gets the package's version.
/// `provenance`: the text of a packed chart's provenance file; empty: none. That it is a package is checked;
/// nothing is sent. Errors: Invalid (no package, no version to be had, or one that is no tag, a chart whose
/// version isn't the tag).
Result<PreparedPush> prepare_push(package::Renderer& renderer, const registry::Fetched& package,
                                  const oci::Reference& destination, const std::string& provenance,
                                  const Context& context);

/// Where a package goes on this machine.
struct SaveOptions {
  Path target = {};                            ///< file or directory; empty: the usual name in `directory`
  Path directory = {};                         ///< must exist; empty: the working directory
  bool untar = false;                          ///< a packed chart becomes the directory NAME with its files
  std::optional<std::string> provenance = {};  ///< text of the file beside a packed chart's archive
};

struct SavedPackage {
  Path path;
  Path provenance = {};               ///< empty: none was given
  std::vector<std::string> left_out;  ///< files that configure programs around it (is_hidden_path)
};

/// Writes what was fetched: a module or a packed chart as one file, anything else as a directory, which must
/// not exist or be empty. The usual name is NAME-VERSION.wasm, NAME-VERSION.tgz or NAME-VERSION. Each is
/// written whole or not at all. Errors: Conflict (a directory with something in it), NotFound (no
/// `directory`), Invalid (`untar` or `provenance` without a packed chart), those of write_tree.
Result<SavedPackage> save_package(FileSystem& files, const registry::Fetched& package, SaveOptions options);

}  // namespace mist::action
