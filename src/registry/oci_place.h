#pragma once
// A place for copies of artifacts, as `mistctl mirror --to` and spec.mirrors of the configuration name it.
// Plain values; any thread.
//
//   oci://HOST[/PATH]    repositories of a registry that begin so
//   oci-layout:DIR       an OCI image layout
//   oci-archive:FILE     a tar of one, as skopeo and podman call it

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"
#include "oci/reference.h"

namespace mist::registry {

struct OciPlace {
  enum class Kind : std::uint8_t { Registry, Directory, Archive };

  Kind kind = Kind::Registry;
  std::string prefix = {};  ///< of a registry: "oci://mirror.example/copies", without a slash at its end
  Path path = {};           ///< of the others

  /// Errors: Invalid, saying how places are written; also for a registry with a version or a digest.
  static Result<OciPlace> parse(std::string_view text);
  std::string str() const;
};

/// Whether it is written as a layout on disk: "oci-layout:…", "oci-archive:…".
bool names_layout(std::string_view text);

/// Where a registry keeps a repository's copy: "oci://mirror.example/copies/registry.example/team/shop". The
/// host stays in it, so that two registries never meet in one repository; of a host with a port
/// "registry.example_5000". Errors: Invalid (the path becomes too long).
Result<oci::Repository> mirror_repository(const std::string& prefix, const oci::Repository& repository);
/// The part of it that stands for the host.
std::string mirror_host_segment(std::string_view host);

}  // namespace mist::registry
