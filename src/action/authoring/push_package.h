#pragma once
// A package of this machine into an OCI registry, and one from there onto this machine. One thread.

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

struct SavedPackage {
  Path path;
  std::vector<std::string> left_out;  ///< files that configure programs around it (is_hidden_path)
};

/// Writes what was fetched: a module or a packed chart as one file, anything else as a directory, which must
/// not exist or be empty. An empty `target` is NAME-VERSION.wasm, NAME-VERSION.tgz or NAME-VERSION in the
/// working directory. Whole or not at all. Errors: Conflict (a directory with something in it), those of
/// write_tree.
Result<SavedPackage> save_package(FileSystem& files, const registry::Fetched& package,
                                  const oci::Reference& reference, Path target);

}  // namespace mist::action
