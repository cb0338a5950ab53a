#pragma once
// A chart repository of Helm's as a registry: its index.yaml, kept here with what the server tells changes by
// (ETag, Last-Modified), and its archives. Any thread.

#include <memory>
#include <string>

#include "base/event.h"
#include "base/fs.h"
#include "registry/oci_session.h"
#include "registry/registry_view.h"
#include "registry/repository_health.h"

namespace mist::registry {

/// `directory` is where the index is kept. `files`, `events`, `web` and `health` outlive the view. Errors:
/// Invalid (there is no transport; Helm has settings for the repository that nobody here reads).
Result<std::unique_ptr<RegistryView>> open_helm_view(std::string name, const std::string& url, Path directory,
                                                     FileSystem& files, EventSink& events,
                                                     const OciAccess& web, RepositoryHealth& health);

/// The URL that `registry add --helm` takes: https, or http to this machine, without credentials, which
/// Helm's repositories.yaml keeps. Without slashes at its end. Errors: Invalid.
Result<std::string> parse_helm_url(std::string_view text);

}  // namespace mist::registry
