#pragma once
// `mistctl mirror`: packages with everything that they depend on, copied to where they can be read without
// the registries that they come from (registry/oci_place.h). Found first, as a whole; then copied, artifact
// by artifact, so that a run that was stopped is finished by the next one, which sends only what is missing.
// One thread.

#include <string>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "registry/oci_copy.h"
#include "registry/oci_place.h"
#include "registry/registry.h"
#include "render/packages.h"

namespace mist::action {

/// `registries` and `packages` read from registries themselves, not from mirrors of them.
struct MirrorDependencies {
  FileSystem& files;
  EventSink& events;
  registry::Registries& registries;
  render::Packages& packages;
};

/// Something that a package needs, and that no copy can hold.
struct NotMirrored {
  std::string name;  ///< as the package names it
  std::string asked_by;
  std::string because;
};

struct MirrorSources {
  std::vector<oci::Reference> artifacts;  ///< each with its digest; sorted, each once
  std::vector<NotMirrored> left_out;
};

/// Resolves `references` and everything they depend on. They name packages and other artifacts of OCI
/// registries, also by range, or sources on this machine (a package's directory or module, a chart's
/// directory), of which only the dependencies count. Errors: Invalid (a package that is in no OCI registry),
/// of Packages and OciClient.
Result<MirrorSources> find_mirror_sources(const MirrorDependencies& dependencies,
                                          const std::vector<std::string>& references, const Context& context);

struct MirrorReport {
  std::vector<registry::CopyReport> artifacts;  ///< in the order of MirrorSources
  /// The entries of spec.mirrors with which the configuration reads from there.
  std::vector<config::Mirror> mirrors;
};

/// Errors: Conflict (a version is there with other content, and `overwrite` doesn't allow that), of both
/// ends.
Result<MirrorReport> mirror_artifacts(const MirrorDependencies& dependencies,
                                      const std::vector<oci::Reference>& artifacts,
                                      const registry::OciPlace& to, const registry::CopyOptions& options,
                                      const Context& context);

}  // namespace mist::action
