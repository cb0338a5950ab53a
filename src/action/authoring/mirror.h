#pragma once
// `mistctl mirror`: packages with everything that they depend on, copied to where they can be read without
// the registries that they come from (registry/oci_place.h). Found first, as a whole; then copied, artifact
// by artifact, so that a run that was stopped is finished by the next one, which sends only what is missing.
// One thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "registry/oci_copy.h"
#include "registry/oci_place.h"
#include "registry/registry.h"
#include "registry/subchart_source.h"
#include "render/packages.h"

namespace mist::action {

/// `registries`, `packages` and `charts` read from registries themselves, not from mirrors of them.
struct MirrorDependencies {
  FileSystem& files;
  EventSink& events;
  registry::Registries& registries;
  render::Packages& packages;
  /// Of charts that a chart's directory depends on.
  registry::SubchartSource::Dependencies charts;
};

/// Something that is copied.
struct MirrorArtifact {
  oci::Reference reference;  ///< with its digest; of a copy the name that it has in mirrors
  /// Of what is in no OCI registry; null: it is copied from one. Several tags share it.
  std::shared_ptr<const oci::Artifact> copy = {};
  std::string original = {};  ///< of a copy: what it is of, as AddressName has it
};

/// Something that a package needs, and that no copy can hold.
struct NotMirrored {
  std::string name;  ///< as the package names it
  std::string asked_by;
  std::string because;
};

struct MirrorSources {
  std::vector<MirrorArtifact> artifacts;  ///< sorted by reference, each once
  std::vector<NotMirrored> left_out;
  /// Registries without an index ("oci://registry.example/team": the beginning of their repositories; else
  /// their address), and why there is none: mistctl search finds nothing of them in the mirror.
  std::map<std::string, std::string> without_index;
};

/// Resolves `references` and everything they depend on. They name packages in OCI registries, in git, in
/// catalogs and in chart repositories, other artifacts of OCI registries, also by range, or sources on this
/// machine (a package's directory or module, a chart's directory), of which only the dependencies count. The
/// index of each registry that a package comes from is among them: of the configured one; of OCI registries
/// that aren't configured, beside the package. Errors: Invalid (a package that others can't name: of a
/// directory, of a git repository on this machine), of Packages and OciClient.
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
                                      const std::vector<MirrorArtifact>& artifacts,
                                      const registry::OciPlace& to, const registry::CopyOptions& options,
                                      const Context& context);

}  // namespace mist::action
