#pragma once
// Copies artifacts from one place to another: to another tag, repository, registry or layout. Bytes are taken
// as they are, so digests stay, and signatures stay valid. Signatures, SBOMs and the like come along:
// manifests that refer to another by their `subject`, and those that cosign keeps under tags that name the
// manifest's digest. Any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "oci/reference.h"
#include "registry/blob_transfers.h"
#include "registry/oci_packages.h"
#include "registry/oci_store.h"

namespace mist::registry {

/// The most that is copied of one artifact.
inline constexpr std::uint64_t kMaxCopiedBlob = kBlobBytesAtOnce;
inline constexpr std::size_t kMaxCopiedManifests = 1000;

/// Whether what refers to an artifact is copied with it.
enum class Referrers : bool { No, Yes };

struct CopyOptions {
  Overwrite overwrite = Overwrite::No;
  Referrers referrers = Referrers::Yes;
  bool dry_run = false;  ///< reads and asks as usual, and sends nothing
};

struct CopyReport {
  oci::Reference from;        ///< with the digest that was copied
  oci::Reference to;          ///< with its tag, if it has one, and that digest
  bool was_there = false;     ///< exactly so, before; referrers may have been sent all the same
  std::size_t manifests = 0;  ///< those that were sent, but for referrers; more than one: it is an index
  std::size_t referrers = 0;  ///< manifests of signatures, SBOMs and the like that were sent
  std::size_t blobs = 0;      ///< that passed through here
  std::size_t mounted = 0;    ///< that the registry took from another repository of its own
  std::uint64_t bytes = 0;    ///< of the blobs that passed through here
  TagAfter after = {};        ///< how its tag looked in the end
};

/// Copies the manifest or index that `from` names, with everything that it lists: children before parents, so
/// that nothing is ever there that lacks a part, and referrers before the tag, so that nobody who sees it
/// finds it unsigned. The blobs of a manifest go several at once. `from`: with a tag or a digest, no range
/// (with_tag). `to`: without a tag it gets that of `from`; of a digest alone none, it can be reached by its
/// digest. A version that was published doesn't change, unless `overwrite`, also by somebody else meanwhile
/// (published_tag.h); signatures that are there stay beside those that are copied. Errors: Conflict, Invalid
/// (more than a bound), of both ends.
Result<CopyReport> copy_artifact(OciSource& source, OciTarget& target, const oci::Reference& from,
                                 const oci::Reference& to, const CopyOptions& options,
                                 const Context& context);

/// The media type that the manifest names, else the one that it was sent as.
Result<std::string> media_type_of(const RawManifest& raw, std::string_view name);

}  // namespace mist::registry
