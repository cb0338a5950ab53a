#pragma once
// How a package lies in a manifest, both ways. The table in layout.cc lists every pair of media types that is
// read; what is written is its first row of each kind. Pure; any thread.
//
//   module  CNCF Wasm artifact (https://tag-runtime.cncf.io/wgs/wasm/deliverables/wasm-oci-artifact/)
//   chart   Helm's layout (https://helm.sh/docs/topics/registries/): the packed chart; its config is
//           Chart.yaml as JSON
//   tree    a directory of files as tar+gzip, ours and Flux's

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"
#include "oci/manifest.h"

namespace mist::oci {

enum class ContentKind : std::uint8_t { Module, Chart, Tree };

struct Content {
  ContentKind kind = ContentKind::Module;
  Descriptor layer;
};

/// The layer that is the package. `name`: of the artifact, for messages. Errors: Invalid, saying what the
/// artifact is instead: a container image, another artifact, one with several such layers.
Result<Content> content_of(const Manifest& manifest, std::string_view name);

/// The media type of Helm's provenance file, a layer beside a chart's.
inline constexpr std::string_view kChartProvenanceType = "application/vnd.cncf.helm.chart.provenance.v1.prov";
/// That layer; nothing: there is none. Errors: Invalid (there are several).
Result<std::optional<Descriptor>> provenance_layer(const Manifest& manifest, std::string_view name);

/// The only manifest of an index that says it holds a package. Errors: Invalid, with what is there.
Result<Descriptor> package_in(const Index& index, std::string_view name);

struct Blob {
  Descriptor descriptor;
  std::string bytes;
};

/// An artifact to be pushed: the blobs first.
struct Artifact {
  std::vector<Blob> blobs;  ///< config first
  std::string manifest;     ///< JSON of kManifestType
  crypto::Digest digest;    ///< of it
};

/// The texts about it that people see; empty: not given. Annotations are public, so credentials in URLs are
/// left out of them.
struct About {
  std::string title, version, description;
};

/// The same bytes give the same artifact: nothing in it is a time.
Artifact module_artifact(std::string module, const About& about);
/// `digest`: of the module, known already.
Artifact module_artifact(std::string module, const crypto::Digest& digest, const About& about);
/// `archive`: the packed chart; `chart`: its Chart.yaml; `provenance`: the text of its provenance file;
/// empty: none.
Artifact chart_artifact(std::string archive, const encoding::Value& chart, const About& about,
                        std::string provenance = {});
/// `archive`: tar+gzip of the files.
Artifact tree_artifact(std::string archive, const About& about);

/// Rendered objects as Flux's source-controller reads them (`flux push artifact`): tar+gzip of YAML files.
/// Credentials in URLs are left out of the annotations.
Artifact rendered_artifact(std::string archive, Annotations annotations);

/// Annotations of manifests (OCI image specification, "Pre-Defined Annotation Keys").
inline constexpr std::string_view kCreatedAnnotation = "org.opencontainers.image.created";
inline constexpr std::string_view kRevisionAnnotation = "org.opencontainers.image.revision";
inline constexpr std::string_view kSourceAnnotation = "org.opencontainers.image.source";
inline constexpr std::string_view kTitleAnnotation = "org.opencontainers.image.title";
inline constexpr std::string_view kVersionAnnotation = "org.opencontainers.image.version";

}  // namespace mist::oci
