#pragma once
// Rendered objects as an artifact in an OCI registry, for those who apply it without Mistletoe: Flux's
// source-controller, or anything else that can unpack tar+gzip. The same objects, source and clock give the
// same digest. Nothing here asks a cluster. One thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "action/query/diff.h"
#include "oci/layout.h"
#include "registry/oci_packages.h"
#include "render/rendered_release.h"

namespace mist::action {

/// How to treat secrets that the package drew. A drawn field is secret unless it is an annotation of another
/// object than a Secret, and a hexadecimal digest in which no part of one stands: there packages put
/// checksums.
enum class DrawnSecrets : std::uint8_t {
  Refuse,    ///< none may be there
  Include,   ///< they are published, readable for everybody who may pull
  External,  ///< Secrets that have one are left out: they come to the cluster another way
};

struct PublishOptions {
  DrawnSecrets secrets = DrawnSecrets::Refuse;
  bool skip_crds = false;   ///< leaves out what a chart has in crds/
  std::string source = {};  ///< of the annotation; empty: the package's reference, unless it is a local path
  std::string revision = {};  ///< of the annotation; empty: version and digest of the package
  registry::Overwrite overwrite = registry::Overwrite::No;
};

/// Objects as they are published.
struct Publication {
  std::vector<release::RenderedObject> objects;
  std::vector<apimachinery::ObjectKey> left_out = {};  ///< DrawnSecrets::External
  std::string created = {};                            ///< RFC 3339: the clock of the render
  std::string source = {};    ///< without credentials, as it is public; empty: not said
  std::string revision = {};  ///< likewise
  release::PackageInfo package = {};
};

/// `rendered`: a render without a cluster, with its fixed inputs. Its objects are those of applied_objects().
/// `events` hears of credentials in the options' annotations, which are left out.
/// Conflict: a secret was drawn, and `options` doesn't let it be published; names the fields and the flag.
/// Invalid: no objects, or two with one identity. Also errors of rendering once more.
Result<Publication> prepare_publication(render::RenderedRelease rendered, const PublishOptions& options,
                                        EventSink& events, const Context& context);

/// A file for each object: NAMESPACE/KIND-NAME.yaml, or KIND-NAME.yaml. A `tag` that is a whole version is
/// the version that the artifact states, as a signature under it would not count otherwise; else the
/// package's is.
Result<oci::Artifact> artifact_of(const Publication& publication, std::string_view tag = {});

/// Pushes it, unless the same is there already: an artifact that differs only in when it was created is the
/// same. A destination without a tag gets the package's version. Errors: Invalid (no whole version to be
/// had), of registry::push_artifact.
Result<registry::PushReport> publish(registry::OciClient& client, const Publication& publication,
                                     oci::Reference destination, const PublishOptions& options,
                                     const Context& context);

/// The differences between a render and the published artifact.
struct PublishedDiff {
  release::ReleaseId id;
  oci::Reference published;  ///< with its digest
  std::vector<RecordedDiff> objects = {};
  std::size_t unchanged = 0;

  bool changes() const { return !objects.empty(); }
};

/// Compares what `published` names, also an artifact of `flux push artifact`, with what would be published
/// now. Secrets that were left out there are not looked at. Errors: NotFound, Invalid (no YAML that can be
/// read), those of prepare_publication.
Result<PublishedDiff> diff_published(registry::OciClient& client, const release::ReleaseId& id,
                                     const oci::Reference& published, render::RenderedRelease rendered,
                                     const PublishOptions& publishing, const DiffOptions& options,
                                     EventSink& events, const Context& context);

}  // namespace mist::action
