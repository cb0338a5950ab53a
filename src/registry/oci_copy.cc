#include "registry/oci_copy.h"

#include <set>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::registry {
namespace {

constexpr int kMaxDepth = 4;  // of indexes in indexes

class Copier {
 public:
  Copier(OciClient& client, const oci::Repository& from, const oci::Repository& to, CopyReport& report,
         const Context& context)
      : client_(client), from_(from), to_(to), report_(report), context_(context) {}

  // `tag`: also a digest's text.
  Status copy(const RawManifest& raw, const std::string& tag, int depth) {
    const std::string name = fmt::format("{}@{}", from_.str(), raw.digest.str());
    MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, name));
    if (const auto* index = std::get_if<oci::Index>(&document)) {
      if (depth == kMaxDepth) return error(ErrorKind::Invalid, "{} is an index of too many indexes", name);
      for (const oci::Descriptor& each : index->manifests) MIST_TRY_VOID(child(each, depth));
    } else {
      const auto& manifest = std::get<oci::Manifest>(document);
      MIST_TRY_VOID(blob(manifest.config));
      for (const oci::Descriptor& layer : manifest.layers) MIST_TRY_VOID(blob(layer));
    }
    MIST_TRY(const std::string media_type, media_type_of(raw, name));
    MIST_TRY_VOID(client_.push_manifest(to_, tag, raw.bytes, context_, media_type));
    ++report_.manifests;
    return {};
  }

 private:
  Status child(const oci::Descriptor& descriptor, int depth) {
    const std::string digest = descriptor.digest.str();
    if (!done_.insert(digest).second) return {};
    if (done_.size() > kMaxCopiedManifests)
      return error(ErrorKind::Invalid, "{} lists more than {} manifests", from_.str(), kMaxCopiedManifests);
    MIST_TRY(const RawManifest raw, client_.manifest(from_, digest, context_));
    return copy(raw, digest, depth + 1);
  }

  Status blob(const oci::Descriptor& descriptor) {
    if (!done_.insert(descriptor.digest.str()).second) return {};
    MIST_TRY(const OciClient::Moved moved,
             client_.copy_blob(from_, to_, descriptor, kMaxCopiedBlob, context_));
    report_.mounted += moved == OciClient::Moved::Mounted;
    if (moved != OciClient::Moved::Sent) return {};
    ++report_.blobs;
    report_.bytes += descriptor.size;
    return {};
  }

  OciClient& client_;
  const oci::Repository& from_;
  const oci::Repository& to_;
  CopyReport& report_;
  const Context& context_;
  std::set<std::string> done_;  // digests of blobs and manifests
};

}  // namespace

Result<std::string> media_type_of(const RawManifest& raw, std::string_view name) {
  MIST_TRY(const encoding::Value document,
           encoding::parse_json(raw.bytes).in(fmt::format("while reading {}", name)));
  if (const std::string_view declared = document.string_at("mediaType"); !declared.empty())
    return std::string(declared);
  return std::string(trim(std::string_view(raw.content_type).substr(0, raw.content_type.find(';'))));
}

Result<CopyReport> copy_artifact(OciClient& client, const oci::Reference& from, const oci::Reference& to,
                                 Overwrite overwrite, const Context& context) {
  MIST_TRY(const RawManifest raw,
           client.manifest(from.repository, from.digest ? from.digest->str() : from.tag, context));
  CopyReport report{.from = from, .to = to};
  report.from.digest = report.to.digest = raw.digest;
  if (report.to.tag.empty()) report.to.tag = from.tag;
  const std::string tag = report.to.tag.empty() ? raw.digest.str() : report.to.tag;
  MIST_TRY(report.was_there, is_published(client, to.repository, tag, raw.digest, overwrite, context));
  if (report.was_there) return report;
  Copier copier(client, from.repository, to.repository, report, context);
  MIST_TRY_VOID(
      copier.copy(raw, tag, 0).in(fmt::format("while copying {} to {}", report.from.str(), report.to.str())));
  return report;
}

}  // namespace mist::registry
