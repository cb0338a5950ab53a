#include "action/authoring/index_artifact.h"

#include <algorithm>

#include "base/text.h"
#include "encoding/gzip.h"

namespace mist::action {
namespace {

constexpr std::string_view kConfigType = "application/vnd.mistletoe.index.config.v1+json";
constexpr std::string_view kLayerType = "application/vnd.mistletoe.index.v1.jsonl+gzip";
constexpr std::string_view kShardAnnotation = "dev.mistletoe.index.shard";
constexpr std::uint64_t kMostPacked = search::kMostIndexBytes / 4;

// "00" to "15".
std::string shard_name(std::size_t shard) { return fmt::format("{:02}", shard); }

oci::Artifact index_artifact_of(std::size_t packages, const std::vector<std::string>& packed) {
  oci::Artifact artifact{{}, {}, crypto::sha256("")};
  artifact.blobs.push_back({oci::descriptor_of(kConfigType, "{}"), "{}"});
  std::vector<oci::Descriptor> layers;
  for (std::size_t shard = 0; shard < packed.size(); ++shard) {
    oci::Blob blob{oci::descriptor_of(kLayerType, packed[shard]), packed[shard]};
    blob.descriptor.annotations.emplace(kShardAnnotation, shard_name(shard));
    layers.push_back(blob.descriptor);
    artifact.blobs.push_back(std::move(blob));
  }
  oci::Annotations annotations;
  annotations.emplace(oci::kTitleAnnotation, fmt::format("index of {}", plural(packages, "package")));
  const oci::Manifest manifest{.artifact_type = {},
                               .config = artifact.blobs.front().descriptor,
                               .layers = std::move(layers),
                               .annotations = std::move(annotations)};
  artifact.manifest = manifest.to_json();
  artifact.digest = crypto::sha256(artifact.manifest);
  return artifact;
}

Result<std::vector<std::string>> packed_shards(const std::vector<search::Entry>& entries) {
  std::vector<std::vector<search::Entry>> shards(kIndexShards);
  for (const search::Entry& entry : entries)
    shards[search::shard_of(entry.path, kIndexShards)].push_back(entry);
  std::vector<std::string> packed;
  std::uint64_t size = 0;
  for (std::vector<search::Entry>& shard : shards) {
    const std::string text = search::to_index(std::move(shard));
    size += text.size();
    MIST_TRY(std::string bytes, encoding::gzip(text));
    if (bytes.size() > kMostPacked)
      return error(ErrorKind::Invalid, "a part of the index has {} bytes, packed; {} are allowed",
                   bytes.size(), kMostPacked);
    packed.push_back(std::move(bytes));
  }
  MIST_TRY_VOID(search::check_size(entries.size(), size));
  return packed;
}

Result<oci::Manifest> index_manifest(const registry::RawManifest& raw, const std::string& name) {
  MIST_TRY(oci::Document document, oci::parse_document(raw.bytes, raw.content_type, name));
  auto* const manifest = std::get_if<oci::Manifest>(&document);
  if (manifest == nullptr || manifest->config.media_type != kConfigType)
    return error(ErrorKind::Invalid, "{} is not an index of packages", name)
        .with_because(manifest == nullptr
                          ? "it is an index of manifests"
                          : fmt::format("its config is {}", escape_controls(manifest->config.media_type)))
        .with_hint("mistctl registry index makes one");
  return std::move(*manifest);
}

}  // namespace

Result<oci::Reference> index_reference(const std::string& url) {
  MIST_TRY(oci::Repository repository, registry::repository_below(url, search::kIndexRepository));
  return oci::Reference{
      .repository = std::move(repository), .tag = std::string(search::kIndexTag), .range = {}, .digest = {}};
}

Result<registry::PushReport> push_index(registry::OciClient& client, const std::string& url,
                                        const std::vector<search::Entry>& entries, const Context& context) {
  MIST_TRY(const oci::Reference reference, index_reference(url));
  MIST_TRY(const std::vector<std::string> packed, packed_shards(entries));
  return registry::push_artifact(client, reference, index_artifact_of(entries.size(), packed),
                                 registry::Overwrite::Yes, context)
      .in(fmt::format("while pushing the index of {}", url));
}

namespace {

Result<std::size_t> shard_in(const oci::Descriptor& layer, const std::string& name) {
  const auto annotation = layer.annotations.find(std::string(kShardAnnotation));
  const std::string_view text =
      annotation == layer.annotations.end() ? std::string_view() : annotation->second;
  for (std::size_t shard = 0; shard < kIndexShards; ++shard)
    if (text == shard_name(shard)) return shard;
  return error(ErrorKind::Invalid, "{} has a shard that is none: '{}'", name,
               escape_controls(text.substr(0, 100)))
      .with_because(fmt::format("its layers say in {} which shard they are, from {} to {}", kShardAnnotation,
                                shard_name(0), shard_name(kIndexShards - 1)))
      .with_hint("mistctl registry index makes one");
}

// In another shard a package could stand twice.
void leave_out_others(std::size_t shard, search::Index& index) {
  index.left_out += std::erase_if(index.entries, [&](const search::Entry& entry) {
    const bool is_there = search::shard_of(entry.path, kIndexShards) == shard;
    return !is_there || !std::ranges::all_of(split(entry.path, '/'), oci::is_path_segment);
  });
}

// The shards that `raw` names and `known` lacks.
Result<FetchedIndex> read_shards(registry::OciSource& client, const oci::Reference& reference,
                                 const registry::RawManifest& raw, const search::Source& known,
                                 const Context& context) {
  const std::string name = reference.str();
  MIST_TRY(const oci::Manifest manifest, index_manifest(raw, name));
  FetchedIndex fetched;
  fetched.state = raw.digest.str();
  std::uint64_t room = search::kMostIndexBytes;
  for (const oci::Descriptor& layer : manifest.layers) {
    if (layer.media_type != kLayerType) continue;
    MIST_TRY(const std::size_t number, shard_in(layer, name));
    const std::string shard = shard_name(number);
    if (!fetched.all.emplace(shard, layer.digest.str()).second)
      return error(ErrorKind::Invalid, "{} names the shard {} twice", name, shard);
    const auto here = known.shards.find(shard);
    if (here != known.shards.end() && here->second == layer.digest.str()) continue;
    MIST_TRY(const std::string bytes, client.blob(reference.repository, layer, kMostPacked, context));
    MIST_TRY(
        const std::string text,
        encoding::gunzip(bytes, static_cast<std::size_t>(room)).in(fmt::format("while unpacking {}", name)));
    room -= text.size();
    MIST_TRY(search::Index index, search::parse_index(text, name));
    leave_out_others(number, index);
    fetched.left_out += index.left_out;
    fetched.shards.push_back({shard, layer.digest.str(), std::move(index.entries)});
  }
  return fetched;
}

}  // namespace

Result<FetchedIndex> fetch_index(registry::OciSource& client, const std::string& url,
                                 const search::Source& known, const Context& context) {
  MIST_TRY(const oci::Reference reference, index_reference(url));
  const std::string name = reference.str();
  FetchedIndex fetched;
  if (!known.state.empty()) {
    MIST_TRY(const std::optional<crypto::Digest> now,
             client.read_digest(reference.repository, reference.tag, context));
    if (now && now->str() == known.state) {
      fetched.state = known.state;
      fetched.changed = false;
      return fetched;
    }
  }
  MIST_TRY(const std::optional<registry::RawManifest> raw,
           client.find_manifest(reference.repository, reference.tag, context));
  // Whether the registry itself has one isn't known.
  if (!raw && client.reads_mirrors_only(reference.repository))
    return error(ErrorKind::NotFound, "the mirrors of {} have no index of its packages", url)
        .with_hint("mistctl mirror copies the index along, if the registry has one: run it again there");
  if (!raw)
    return error(ErrorKind::NotFound, "{} has no index of its packages", url)
        .with_hint(fmt::format("whoever publishes there makes one: mistctl registry index {}", url));
  return registry::naming_mirror(read_shards(client, reference, *raw, known, context), *raw, name);
}

}  // namespace mist::action
