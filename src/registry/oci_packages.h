#pragma once
// Packages in OCI registries, on top of OciClient: which manifest a reference means, and what its content is.
// Nothing is kept here; pins and cache are those of Registries. Any thread.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "oci/layout.h"
#include "oci/reference.h"
#include "registry/oci_client.h"
#include "registry/package_files.h"
#include "registry/published_tag.h"

namespace mist::registry {

/// The reference with a tag in place of its range: the newest whole version in it. Others stay as they are.
/// Errors: NotFound (no version in the range; names what there is), of OciClient::tags.
Result<oci::Reference> with_tag(OciSource& client, const oci::Reference& reference, const Context& context);

/// `failure`: that no version is what was asked for. With the whole versions among the tags, and with those
/// like "1.4" that were left out.
Error naming_tags(Error failure, const oci::Repository& repository, std::span<const std::string> tags);

/// The content of the package whose manifest was read. Its layer alone is fetched: one request, two of an
/// index. Errors: Invalid (no package, damaged, beyond a bound), of OciClient.
Result<PackageContent> read_oci_package(OciSource& client, const oci::Reference& reference,
                                        const RawManifest& raw, const Context& context);

/// The manifest of the package that `raw` is, or that an index has for everybody. `name`: for messages.
/// Errors: Invalid, of OciSource.
Result<oci::Manifest> package_manifest(OciSource& client, const oci::Repository& repository,
                                       const RawManifest& raw, const std::string& name,
                                       const Context& context);

/// How a package is pushed. A module is a Wasm artifact, a packed chart or a chart's directory a Helm chart,
/// everything else a tree. `about`: what isn't said is taken from a chart. `provenance`: of a packed chart,
/// as oci::chart_artifact has it. Errors: Invalid (a chart that can't be read).
Result<oci::Artifact> artifact_of(const PackageContent& content, const oci::About& about,
                                  const std::string& provenance = {});

/// The outcome of a push.
struct PushReport {
  oci::Reference pushed;    ///< with its tag and the digest of its manifest
  bool was_there = false;   ///< exactly so, before: nothing was sent
  std::uint64_t bytes = 0;  ///< of its blobs and manifest
  TagAfter after = {};      ///< how its tag looked in the end
};

/// Sends the blobs of an artifact, several at once. Errors: of OciTarget.
Status push_blobs(OciTarget& target, const oci::Repository& repository, const oci::Artifact& artifact,
                  const Context& context);

/// `destination` has a tag. A version that was published doesn't change, unless `overwrite`, also by somebody
/// else meanwhile (published_tag.h). Errors: Conflict (other bytes are published as that version), of
/// OciClient.
Result<PushReport> push_artifact(OciClient& client, const oci::Reference& destination,
                                 const oci::Artifact& artifact, Overwrite overwrite, const Context& context);

}  // namespace mist::registry
