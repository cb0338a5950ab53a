#pragma once
// A catalog (mistletoe-catalog, docs/catalog.md) as a registry: its index, kept here with the ETag that its
// server gave it, and its packages, which are fetched by their digest. Any thread.

#include <memory>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/fs.h"
#include "registry/oci_session.h"
#include "registry/registry_view.h"

namespace mist::registry {

/// `directory` is where the index is kept. `files` and `events` outlive the view. Errors: Invalid (there is
/// no transport, or the URL is none that `parse_catalog_url` takes).
Result<std::unique_ptr<RegistryView>> open_catalog_view(std::string name, const std::string& url,
                                                        Path directory, FileSystem& files, EventSink& events,
                                                        const OciAccess& web);

/// The URL that `registry add --catalog` takes: https, or http to this machine, without credentials and
/// query. Without slashes at its end. Errors: Invalid.
Result<std::string> parse_catalog_url(std::string_view text);

}  // namespace mist::registry
