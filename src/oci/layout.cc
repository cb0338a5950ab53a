#include "oci/layout.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/url_credentials.h"
#include "encoding/json.h"

namespace mist::oci {
namespace {

using encoding::Value;

struct Layout {
  ContentKind kind;
  std::string_view config;
  std::string_view layer;
};
// Written is the first row of each kind.
constexpr std::array kLayouts{
    Layout{ContentKind::Module, "application/vnd.wasm.config.v0+json", "application/wasm"},
    Layout{ContentKind::Module, "application/vnd.wasm.config.v1+json",
           "application/vnd.wasm.content.layer.v1+wasm"},
    Layout{ContentKind::Chart, "application/vnd.cncf.helm.config.v1+json",
           "application/vnd.cncf.helm.chart.content.v1.tar+gzip"},
    Layout{ContentKind::Chart, "application/vnd.cncf.helm.config.v1+json",
           "application/tar+gzip"},  // Helm 3.0–3.6
    Layout{ContentKind::Tree, "application/vnd.mistletoe.package.config.v1+json",
           "application/vnd.mistletoe.package.content.v1.tar+gzip"},
    Layout{ContentKind::Tree, "application/vnd.cncf.flux.config.v1+json",
           "application/vnd.cncf.flux.content.v1.tar+gzip"},
};
constexpr const Layout& kRendered = kLayouts.back();

constexpr std::array<std::string_view, 2> kImageConfigs{"application/vnd.oci.image.config.v1+json",
                                                        "application/vnd.docker.container.image.v1+json"};

constexpr std::string_view kWhatItCouldBe =
    "a package is a WebAssembly artifact, a Helm chart, or a directory that mistctl push or flux push made";

const Layout& written(ContentKind kind) { return *std::ranges::find(kLayouts, kind, &Layout::kind); }

bool is_config(std::string_view type) {
  return std::ranges::find(kLayouts, type, &Layout::config) != kLayouts.end();
}

Error no_package(std::string_view name, std::string_view because) {
  return error(ErrorKind::Invalid, "{} is not a package", name)
      .with_because(std::string(because))
      .with_hint(std::string(kWhatItCouldBe));
}

std::string types_of(const std::vector<Descriptor>& descriptors) {
  std::vector<std::string> types;
  for (const Descriptor& each : descriptors) {
    if (types.size() == 5) {
      types.emplace_back("…");
      break;
    }
    types.push_back(escape_controls(each.artifact_type.empty() ? each.media_type : each.artifact_type));
  }
  return types.empty() ? "none" : join(types, ", ");
}

Annotations annotations_of(const About& about) {
  Annotations annotations;
  // A description may have a URL as it was pasted; annotations are public.
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) annotations.emplace(key, without_credentials(value));
  };
  add(kTitleAnnotation, about.title);
  add(kVersionAnnotation, about.version);
  add("org.opencontainers.image.description", about.description);
  return annotations;
}

Blob blob_of(std::string_view media_type, std::string bytes) {
  return {descriptor_of(media_type, bytes), std::move(bytes)};
}

Artifact artifact_of(const Layout& layout, std::string config, Blob content, Annotations annotations,
                     std::string provenance = {}) {
  std::vector<Blob> blobs;
  blobs.push_back(blob_of(layout.config, std::move(config)));
  blobs.push_back(std::move(content));
  if (!provenance.empty()) blobs.push_back(blob_of(kChartProvenanceType, std::move(provenance)));
  Manifest manifest{.artifact_type = {},
                    .config = blobs.front().descriptor,
                    .layers = {},
                    .annotations = std::move(annotations)};
  for (std::size_t i = 1; i < blobs.size(); ++i) manifest.layers.push_back(blobs[i].descriptor);
  std::string text = manifest.to_json();
  const crypto::Digest digest = crypto::sha256(text);
  return Artifact{std::move(blobs), std::move(text), digest};
}

}  // namespace

Result<Content> content_of(const Manifest& manifest, std::string_view name) {
  const std::string& config = manifest.config.media_type;
  if (std::ranges::find(kImageConfigs, config) != kImageConfigs.end())
    return no_package(name, "it is a container image");
  if (!is_config(config)) return no_package(name, fmt::format("its config is {}", escape_controls(config)));
  std::optional<Content> found;
  for (const Descriptor& layer : manifest.layers) {
    const auto layout = std::ranges::find_if(kLayouts, [&](const Layout& each) {
      return each.config == config && each.layer == layer.media_type;
    });
    if (layout == kLayouts.end()) continue;  // such as a chart's provenance
    if (found) return no_package(name, "several of its layers could be the package");
    found = Content{layout->kind, layer};
  }
  if (!found)
    return no_package(name, fmt::format("its config is {}, but its layers are: {}", escape_controls(config),
                                        types_of(manifest.layers)));
  return *std::move(found);
}

Result<std::optional<Descriptor>> provenance_layer(const Manifest& manifest, std::string_view name) {
  std::optional<Descriptor> found;
  for (const Descriptor& layer : manifest.layers) {
    if (layer.media_type != kChartProvenanceType) continue;
    if (found)
      return error(ErrorKind::Invalid, "{} has several provenance files", name)
          .with_hint("a chart has one: push it again with `helm push`");
    found = layer;
  }
  return found;
}

Result<Descriptor> package_in(const Index& index, std::string_view name) {
  std::vector<Descriptor> packages;
  for (const Descriptor& each : index.manifests)
    if (is_config(each.artifact_type)) packages.push_back(each);
  // Those that don't say what they are: the only one may be it.
  if (packages.empty() && index.manifests.size() == 1) packages = index.manifests;
  if (packages.size() == 1) return packages.front();
  return no_package(name, packages.empty()
                              ? fmt::format("it is an index of other things: {}", types_of(index.manifests))
                              : fmt::format("it is an index of {} packages", packages.size()));
}

Artifact module_artifact(std::string module, const About& about) {
  const crypto::Digest digest = crypto::sha256(module);
  return module_artifact(std::move(module), digest, about);
}

Artifact module_artifact(std::string module, const crypto::Digest& digest, const About& about) {
  // The members of oci-wasm's configuration; `created` must be there.
  const Value config = Value::object({{"created", "1970-01-01T00:00:00Z"},
                                      {"author", nullptr},
                                      {"architecture", "wasm"},
                                      {"os", "wasip1"},
                                      {"layerDigests", Value::array({digest.str()})},
                                      {"component", nullptr}});
  const Layout& layout = written(ContentKind::Module);
  Descriptor descriptor{.media_type = std::string(layout.layer), .digest = digest, .size = module.size()};
  return artifact_of(layout, encoding::to_json(config), Blob{std::move(descriptor), std::move(module)},
                     annotations_of(about));
}

Artifact chart_artifact(std::string archive, const Value& chart, const About& about, std::string provenance) {
  const Layout& layout = written(ContentKind::Chart);
  return artifact_of(layout, encoding::to_json(chart), blob_of(layout.layer, std::move(archive)),
                     annotations_of(about), std::move(provenance));
}

Artifact tree_artifact(std::string archive, const About& about) {
  const Layout& layout = written(ContentKind::Tree);
  return artifact_of(layout, "{}", blob_of(layout.layer, std::move(archive)), annotations_of(about));
}

Artifact rendered_artifact(std::string archive, Annotations annotations) {
  for (auto& [key, value] : annotations) value = without_credentials(value);
  return artifact_of(kRendered, "{}", blob_of(kRendered.layer, std::move(archive)), std::move(annotations));
}

}  // namespace mist::oci
