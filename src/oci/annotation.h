#pragma once
// Pure; any thread.

#include <string>
#include <string_view>

#include "oci/manifest.h"

namespace mist::oci {

/// In the signed statement of a signature: the repository that it was made for, "host/path". Of mistctl's
/// bundles alone: cosign's don't say it.
inline constexpr std::string_view kRepositoryAnnotation = "dev.mistletoe/repository";

/// The annotation of that name; empty: there is none. It is borrowed.
inline std::string_view annotation(const Annotations& annotations, std::string_view key) {
  const auto found = annotations.find(std::string(key));
  return found == annotations.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace mist::oci
