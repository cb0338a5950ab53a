#pragma once
// What is in an OCI registry, put elsewhere: under another tag, in another repository, in another registry.
// Bytes are taken as they are, so digests stay, and with them whatever was signed. Any thread.

#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "oci/reference.h"
#include "registry/oci_client.h"
#include "registry/oci_packages.h"

namespace mist::registry {

/// What is copied of one artifact at most.
inline constexpr std::uint64_t kMaxCopiedBlob = std::uint64_t{256} << 20;
inline constexpr std::size_t kMaxCopiedManifests = 1000;

struct CopyReport {
  oci::Reference from;        ///< with the digest that was copied
  oci::Reference to;          ///< with its tag, if it has one, and that digest
  bool was_there = false;     ///< exactly so, before: nothing was sent
  std::size_t manifests = 0;  ///< those that were sent; more than one: it is an index
  std::size_t blobs = 0;      ///< that passed through here
  std::size_t mounted = 0;    ///< that the registry took from another repository of its own
  std::uint64_t bytes = 0;    ///< of the blobs that passed through here
};

/// Copies the manifest or index that `from` names, with everything that it lists: children before parents, so
/// that nothing is ever there that lacks a part. `from`: with a tag or a digest, no range (with_tag). `to`:
/// without a tag it gets that of `from`; of a digest alone none, it can be reached by its digest. A version
/// that was published doesn't change, unless `overwrite`. Errors: Conflict, Invalid (more than a bound), of
/// OciClient.
Result<CopyReport> copy_artifact(OciClient& client, const oci::Reference& from, const oci::Reference& to,
                                 Overwrite overwrite, const Context& context);

/// What the manifest says it is, else what it was sent as.
Result<std::string> media_type_of(const RawManifest& raw, std::string_view name);

}  // namespace mist::registry
