#include "registry/address_copies.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "encoding/gzip.h"
#include "encoding/tar.h"
#include "oci/annotation.h"
#include "oci/tags.h"
#include "registry/oci_packages.h"
#include "trust/provenance.h"

namespace mist::registry {
namespace {

constexpr std::string_view kCopyOfAnnotation = "dev.mistletoe/copy-of";
constexpr std::string_view kKustomizationAnnotation = "dev.mistletoe/kustomization";
constexpr std::string_view kMinisignType = "application/vnd.mistletoe.minisign.v1";
constexpr std::string_view kFileConfig = "application/vnd.mistletoe.file.config.v1+json";
constexpr std::string_view kFileType = "application/vnd.mistletoe.file.content.v1";

// With what is known of the original.
Result<AddressCopy> finished(AddressName name, std::vector<std::string> tags, oci::Artifact artifact,
                             const OriginalFacts& facts) {
  MIST_TRY(oci::Document document, oci::parse_document(artifact.manifest, oci::kManifestType, name.original));
  auto& manifest = std::get<oci::Manifest>(document);
  manifest.annotations.insert_or_assign(std::string(kCopyOfAnnotation), name.original);
  if (!facts.commit.empty())
    manifest.annotations.insert_or_assign(std::string(oci::kRevisionAnnotation), facts.commit);
  if (facts.is_kustomization)
    manifest.annotations.insert_or_assign(std::string(kKustomizationAnnotation), "true");
  if (!facts.signature.empty()) {
    artifact.blobs.push_back({oci::descriptor_of(kMinisignType, facts.signature), facts.signature});
    manifest.layers.push_back(artifact.blobs.back().descriptor);
  }
  artifact.manifest = manifest.to_json();
  artifact.digest = crypto::sha256(artifact.manifest);
  return AddressCopy{std::move(name), std::move(tags), std::move(artifact)};
}

}  // namespace

Result<AddressCopy> copy_of_package(AddressName name, std::vector<std::string> tags,
                                    const PackageContent& content, const OriginalFacts& facts) {
  const oci::About about{.title = name.repository.name(), .version = {}, .description = {}};
  if (const auto* const module = std::get_if<PackageModule>(&content)) {
    MIST_TRY(const auto bytes, module->bytes());
    return finished(std::move(name), std::move(tags),
                    oci::module_artifact(std::string(*bytes), module->digest(), about), facts);
  }
  std::vector<encoding::TarFile> files;
  for (const PackageFile& file : std::get<PackageTree>(content).files)
    files.push_back({file.path, file.bytes});
  MIST_TRY(std::string archive, encoding::gzip(encoding::write_tar(files)));
  return finished(std::move(name), std::move(tags), oci::tree_artifact(std::move(archive), about), facts);
}

Result<AddressCopy> copy_of_chart(AddressName name, const std::string& version, std::string archive,
                                  const OriginalFacts& facts) {
  PackageTree tree;
  tree.files.push_back({name.repository.name() + ".tgz", std::move(archive)});
  MIST_TRY(oci::Artifact artifact, artifact_of(PackageContent(std::move(tree)), {}, facts.provenance));
  return finished(std::move(name), {oci::tag_of_version(version)}, std::move(artifact), facts);
}

Result<AddressCopy> copy_of_file(AddressName name, std::string tag, std::string bytes) {
  oci::Blob config{oci::descriptor_of(kFileConfig, "{}"), "{}"};
  oci::Blob content{oci::descriptor_of(kFileType, bytes), std::move(bytes)};
  const oci::Manifest manifest{
      .artifact_type = {}, .config = config.descriptor, .layers = {content.descriptor}};
  std::string text = manifest.to_json();
  const crypto::Digest digest = crypto::sha256(text);
  oci::Artifact artifact{{std::move(config), std::move(content)}, std::move(text), digest};
  return finished(std::move(name), {std::move(tag)}, std::move(artifact), {});
}

std::string FoundCopy::commit() const {
  return std::string(oci::annotation(manifest.annotations, oci::kRevisionAnnotation));
}

bool FoundCopy::is_kustomization() const {
  return !oci::annotation(manifest.annotations, kKustomizationAnnotation).empty();
}

Result<AddressCopies::Places> AddressCopies::places(const AddressName& name) const {
  MIST_TRY(const MirroredSource* const mirrors, session_.copies());
  return mirrors == nullptr ? Places::Original : mirrors->places_of(name.repository);
}

Result<std::optional<FoundCopy>> AddressCopies::find(const AddressName& name, const std::string& tag,
                                                     const Context& context) const {
  MIST_TRY(MirroredSource* const mirrors, session_.copies());
  if (mirrors == nullptr) return std::optional<FoundCopy>();
  MIST_TRY(std::optional<RawManifest> raw, mirrors->find_manifest(name.repository, tag, context));
  if (!raw) return std::optional<FoundCopy>();
  const std::string shown = fmt::format("{}:{}", name.repository.str(), tag);
  const auto read = [&]() -> Result<oci::Manifest> {
    MIST_TRY(oci::Document document, oci::parse_document(raw->bytes, raw->content_type, shown));
    auto* const manifest = std::get_if<oci::Manifest>(&document);
    const std::string_view original =
        manifest == nullptr ? std::string_view() : oci::annotation(manifest->annotations, kCopyOfAnnotation);
    if (original.empty())
      return error(ErrorKind::Invalid, "{} is not a copy of {}", shown, name.original)
          .with_because(fmt::format("it has no annotation {}", kCopyOfAnnotation))
          .with_hint("mistctl mirror makes copies");
    if (original != name.original)
      return error(ErrorKind::Conflict, "{} is not a copy of {}", shown, name.original)
          .with_because(fmt::format("it is one of {}", escape_controls(original)))
          .with_hint("mirror the two to separate places");
    return std::move(*manifest);
  };
  MIST_TRY(oci::Manifest manifest, naming_mirror(read(), *raw, shown));
  return std::optional(FoundCopy{*std::move(raw), std::move(manifest), shown});
}

Result<std::optional<FoundCopy>> AddressCopies::find_first(const AddressName& name, const std::string& tag,
                                                           std::string_view what,
                                                           const Context& context) const {
  MIST_TRY(const Places where, places(name));
  if (where == Places::Original) return std::optional<FoundCopy>();
  MIST_TRY(std::optional<FoundCopy> found, find(name, tag, context));
  if (!found && where == Places::MirrorsOnly) return not_in_mirrors(what, name);
  return found;
}

Result<std::vector<std::string>> AddressCopies::versions(const AddressName& name,
                                                         const Context& context) const {
  MIST_TRY(MirroredSource* const mirrors, session_.copies());
  if (mirrors == nullptr) return std::vector<std::string>();
  const Result<std::vector<std::string>> tags = mirrors->enough_tags(
      name.repository,
      [](const std::vector<std::string>& some) { return !oci::fixed_versions(some).empty(); }, context);
  if (!tags && tags.error().kind == ErrorKind::NotFound) return std::vector<std::string>();
  if (!tags) return tags.error();
  std::vector<std::string> versions;
  for (const std::string& tag : oci::newest_first(oci::fixed_versions(*tags)))
    versions.push_back(oci::version_of_tag(tag));
  std::ranges::reverse(versions);
  return versions;
}

Result<PackageContent> AddressCopies::package(const AddressName& name, const FoundCopy& copy,
                                              const Context& context) const {
  MIST_TRY(MirroredSource* const mirrors, session_.copies());
  if (mirrors == nullptr) return not_in_mirrors(copy.name, name);
  const oci::Reference reference{
      .repository = name.repository, .tag = {}, .range = {}, .digest = copy.raw.digest};
  return naming_mirror(read_oci_package(*mirrors, reference, copy.raw, context), copy.raw, copy.name);
}

Result<std::string> AddressCopies::bytes(const AddressName& name, const FoundCopy& copy,
                                         const Context& context) const {
  MIST_TRY(std::optional<std::string> file, layer_of_type(name, copy, kFileType, kMaxPackageBytes, context));
  if (file) return *std::move(file);
  const auto chart = [&]() -> Result<std::string> {
    MIST_TRY(const oci::Content content, oci::content_of(copy.manifest, copy.name));
    if (content.kind != oci::ContentKind::Chart)
      return error(ErrorKind::Invalid, "{} is neither a chart nor a file", copy.name)
          .with_hint("mistctl mirror copies it again");
    MIST_TRY(MirroredSource* const mirrors, session_.copies());
    if (mirrors == nullptr) return not_in_mirrors(copy.name, name);
    return mirrors->blob(name.repository, content.layer, kMaxPackageBytes, context);
  };
  return naming_mirror(chart(), copy.raw, copy.name);
}

Result<std::optional<std::string>> AddressCopies::layer_of_type(const AddressName& name,
                                                                const FoundCopy& copy, std::string_view type,
                                                                std::uint64_t limit,
                                                                const Context& context) const {
  const auto layer = std::ranges::find(copy.manifest.layers, type, &oci::Descriptor::media_type);
  MIST_TRY(MirroredSource* const mirrors, session_.copies());
  if (layer == copy.manifest.layers.end() || mirrors == nullptr) return std::optional<std::string>();
  MIST_TRY(std::string bytes,
           naming_mirror(mirrors->blob(name.repository, *layer, limit, context), copy.raw, copy.name));
  return std::optional(std::move(bytes));
}

Result<std::optional<std::string>> AddressCopies::signature(const AddressName& name, const FoundCopy& copy,
                                                            const Context& context) const {
  return layer_of_type(name, copy, kMinisignType, trust::kMaxProvenanceBytes, context);
}

Result<std::optional<std::string>> AddressCopies::provenance(const AddressName& name, const FoundCopy& copy,
                                                             const Context& context) const {
  return layer_of_type(name, copy, oci::kChartProvenanceType, trust::kMaxProvenanceBytes, context);
}

Error not_in_mirrors(std::string_view what, const AddressName& name) {
  return error(ErrorKind::NotFound, "there is no {} in the mirrors of {}", escape_controls(what),
               name.repository.host)
      .with_because(fmt::format("the configuration allows only them, and they have no copy of {}",
                                escape_controls(name.original)))
      .with_hint("mistctl mirror copies it there; without `only: true` the original is asked");
}

Result<std::optional<RawManifest>> CopySource::find_manifest(const oci::Repository& /*repository*/,
                                                             const std::string& tag,
                                                             const Context& /*context*/) {
  // Signatures would be under other tags: a copy has none.
  if (tag != artifact_.digest.str()) return std::optional<RawManifest>();
  return std::optional(RawManifest{.bytes = artifact_.manifest,
                                   .content_type = std::string(oci::kManifestType),
                                   .digest = artifact_.digest});
}

Result<RawManifest> CopySource::manifest(const oci::Repository& repository, const std::string& tag,
                                         const Context& context) {
  MIST_TRY(std::optional<RawManifest> found, find_manifest(repository, tag, context));
  if (found) return *std::move(found);
  return error(ErrorKind::NotFound, "there is no {} of {}", tag, repository.str());
}

Result<std::vector<oci::Descriptor>> CopySource::referrers(const oci::Repository& /*repository*/,
                                                           const crypto::Digest& /*manifest*/,
                                                           std::string_view /*artifact_type*/,
                                                           const Context& /*context*/) {
  return std::vector<oci::Descriptor>();
}

Result<std::string> CopySource::blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                     std::uint64_t /*limit*/, const Context& /*context*/) {
  for (const oci::Blob& each : artifact_.blobs)
    if (each.descriptor.digest == descriptor.digest) return each.bytes;
  return error(ErrorKind::NotFound, "there is no {} of {}", descriptor.digest.str(), repository.str());
}

Result<std::vector<std::string>> CopySource::tags(const oci::Repository& /*repository*/,
                                                  const Context& /*context*/) {
  return std::vector<std::string>();
}

}  // namespace mist::registry
