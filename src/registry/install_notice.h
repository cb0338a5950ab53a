#pragma once
// Tells a catalog that a package of it was installed, for users who chose that (spec.countInstalls). The
// request has the package and its version in its path, and nothing else: no name, no number of this machine.
// Any thread, many processes.

#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/fs.h"
#include "base/result.h"
#include "http/transport.h"

namespace mist::registry {

struct CatalogVersion {
  std::string catalog;  ///< its URL, as parse_catalog_url gives it
  std::string package, version;
};

/// At most once a day (UTC) for each package of each catalog, whatever comes of it: that is remembered in
/// `directory` first. Waits some seconds at most. Errors: of the file system and the transport; Retryable,
/// Invalid: the catalog took no notice of it.
Status notify_of_install(const CatalogVersion& installed, const Path& directory, FileSystem& files,
                         const Clock& clock, http::Transport& transport, const Context& context);

}  // namespace mist::registry
