#pragma once
// Makes the index of a registry (search/entry.h): of each package its newest version, its metadata, and the
// kinds of objects that it makes with its default values. The entry of an earlier index for the same bytes is
// reused. One thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "package/renderer.h"
#include "registry/registry.h"
#include "render/packages.h"
#include "search/entry.h"

namespace mist::action {

struct IndexDependencies {
  FileSystem& files;
  EventSink& events;
  render::Packages& packages;
  package::Renderer& renderer;
};

struct BuiltIndex {
  std::vector<search::Entry> entries;
  std::size_t read = 0;               ///< packages that were read; the others are as in the earlier index
  std::size_t without_kinds = 0;      ///< packages that don't render with their default values
  std::vector<std::string> left_out;  ///< "web: it is a container image"
};

/// Of a directory in one of a registry's layouts, such as a working copy. `before`: an earlier index. Errors:
/// of DirectoryRegistry, of search::check_size, Cancelled; what is wrong with this machine
/// (package::InstallationFault, LocalFault, Internal) or with the way to a package (Retryable, Forbidden,
/// Timeout); PinMismatch. Where one of the last two is so of what the package itself names, its
/// remote bases and dependencies, its entry is the earlier one, or it is left out.
Result<BuiltIndex> index_directory(const IndexDependencies& dependencies, const Path& directory,
                                   const std::vector<search::Entry>& before, const Context& context);

/// Of the repositories below `url`; `names`: those, or all that the registry lists. Each package is read by
/// the digest that its tag has in the registry itself, so `dependencies.packages` must not read from mirrors,
/// which may lack it. Errors: Invalid (the registry lists none), of OciClient; otherwise as above.
Result<BuiltIndex> index_oci(const IndexDependencies& dependencies, registry::OciClient& client,
                             const std::string& url, std::vector<std::string> names,
                             const std::vector<search::Entry>& before, const Context& context);

}  // namespace mist::action
