#pragma once
// Where artifacts are: in an OCI registry (oci_client.h), in an image layout on disk (oci_layout_store.h), or
// in mirrors before a registry (oci_mirrors.h). Code that only reads takes an OciSource, code that writes an
// OciTarget. Any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/file_parts.h"
#include "base/result.h"
#include "oci/layout.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "registry/blob_bytes.h"

namespace mist::registry {

/// A manifest or index as it came: its digest is that of these bytes.
struct RawManifest {
  std::string bytes;
  std::string content_type;
  crypto::Digest digest;
  /// "oci-layout:/media/mirror, a mirror of registry.example"; empty: it is of the registry that was asked
  std::string mirror = {};
};

/// The detail of an error that names the mirror of what it is about.
struct NamesMirror {};

/// The detail of an error: the configuration allows only mirrors, and they don't have it.
struct NotInMirrors {};

/// An error about a manifest, or about what it leads to, with the mirror that gave it out. `name`: what was
/// to be read, as references name it.
template <typename T>
Result<T> naming_mirror(Result<T> read, const RawManifest& raw, std::string_view name) {
  if (read || raw.mirror.empty() || read.error().template detail<NamesMirror>() != nullptr) return read;
  return std::move(read)
      .error()
      .with_frame(fmt::format("while reading {} from {}", name, raw.mirror))
      .with_detail(NamesMirror{});
}

/// Of a manifest that was asked for by its digest. `name`: as naming_mirror(). Errors: Conflict (it is
/// another one).
inline Status check_manifest_digest(const RawManifest& raw, const crypto::Digest& wanted,
                                    std::string_view name) {
  if (raw.digest == wanted) return {};
  return error(ErrorKind::Conflict, "{} is not what its digest says", name)
      .with_because(fmt::format("{} was wanted, {} came", wanted.str(), raw.digest.str()));
}

class OciSource {
 public:
  virtual ~OciSource() = default;

  /// `tag`: also a digest's text; then other bytes are a Conflict. NotFound, naming tags that there are.
  virtual Result<RawManifest> manifest(const oci::Repository& repository, const std::string& tag,
                                       const Context& context) = 0;
  /// The same, and nothing where there is no such tag.
  virtual Result<std::optional<RawManifest>> find_manifest(const oci::Repository& repository,
                                                           const std::string& tag,
                                                           const Context& context) = 0;
  /// The digest that the tag points to; nothing if there is no such tag.
  virtual Result<std::optional<crypto::Digest>> read_digest(const oci::Repository& repository,
                                                            const std::string& tag, const Context& context) {
    MIST_TRY(const std::optional<RawManifest> raw, find_manifest(repository, tag, context));
    return raw ? std::optional(raw->digest) : std::nullopt;
  }
  /// The manifests that claim to refer to that one. Anybody who may push may list anything there. At most
  /// oci::kMaxDescriptors; more are Invalid. `artifact_type`: a source may leave out others; empty: all.
  virtual Result<std::vector<oci::Descriptor>> referrers(const oci::Repository& repository,
                                                         const crypto::Digest& manifest,
                                                         std::string_view artifact_type,
                                                         const Context& context) = 0;
  /// At most `limit` bytes. Conflict when they aren't what the descriptor says; NotFound.
  virtual Result<std::string> blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                   std::uint64_t limit, const Context& context) = 0;
  /// As blob(), piece by piece, on the calling thread. Only its end says that the bytes are the right ones:
  /// what `sink` got before an error is worth nothing. Errors also: those of `sink`.
  virtual Status stream_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                             std::uint64_t limit, const ByteSink& sink, const Context& context) {
    MIST_TRY(const std::string bytes, blob(repository, descriptor, limit, context));
    return sink(bytes);
  }
  /// Where the blob is a part of a file of this machine, which nobody held against its digest; nothing: it
  /// comes from elsewhere, or isn't there.
  virtual std::optional<FilePart> file_of(const oci::Descriptor& /*descriptor*/) { return std::nullopt; }
  /// All of them, in the source's order. NotFound.
  virtual Result<std::vector<std::string>> tags(const oci::Repository& repository,
                                                const Context& context) = 0;

  /// The registry itself, where this reads of mirrors that may lack what was attached to a manifest since it
  /// was copied; null: this is the registry, or nothing else may be asked.
  virtual OciSource* behind(const oci::Repository& /*repository*/) { return nullptr; }
  /// Whether nothing but mirrors may be asked.
  virtual bool reads_mirrors_only(const oci::Repository& /*repository*/) { return false; }

  using EnoughTags = std::function<bool(const std::vector<std::string>&)>;
  /// The tags of the first place that has enough of them, of the last one if none has; a source that is one
  /// place gives its own.
  virtual Result<std::vector<std::string>> enough_tags(const oci::Repository& repository,
                                                       const EnoughTags& /*is_enough*/,
                                                       const Context& context) {
    return tags(repository, context);
  }
};

/// How a blob got to where it is wanted.
enum class Moved : std::uint8_t { WasThere, Mounted, Sent };

class OciTarget : public OciSource {
 public:
  /// Whether a manifest that is there has all of its parts there, as registries take care of. False: files
  /// may have been lost or damaged since, so each part is looked at.
  virtual bool is_complete() const { return true; }
  /// As read_digest(), before the tag is written. `tag`: also a digest's text.
  virtual Result<std::optional<crypto::Digest>> find_digest(const oci::Repository& repository,
                                                            const std::string& tag,
                                                            const Context& context) = 0;
  virtual Result<bool> has_blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                const Context& context) = 0;
  /// Sends nothing but a question when the blob is there already and is worth one.
  virtual Status push_blob(const oci::Repository& repository, const oci::Blob& blob,
                           const Context& context) = 0;
  /// Its blobs must be there. `tag`: also a digest's text. True: the target lists it among the referrers of
  /// its subject by itself; false: the client has to, under the tag that stands for them (distribution
  /// specification, "Pushing Manifests with Subject").
  virtual Result<bool> put_manifest(const oci::Repository& repository, const std::string& tag,
                                    const std::string& manifest, std::string_view media_type,
                                    const Context& context) = 0;
  /// A blob of `from` in `source` into `to`; at most `limit` bytes pass through here.
  virtual Result<Moved> take_blob(OciSource& source, const oci::Repository& from, const oci::Repository& to,
                                  const oci::Descriptor& descriptor, std::uint64_t limit,
                                  const Context& context) {
    MIST_TRY(const bool there, has_blob(to, descriptor, context));
    if (there) return Moved::WasThere;
    MIST_TRY(std::string bytes, source.blob(from, descriptor, limit, context));
    MIST_TRY_VOID(push_blob(to, {descriptor, std::move(bytes)}, context));
    return Moved::Sent;
  }
};

}  // namespace mist::registry
