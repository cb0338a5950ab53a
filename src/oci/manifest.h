#pragma once
// Manifests and indexes (OCI image specification 1.1, and Docker's of the same shape): strictly parsed,
// because a document that two readers understand differently is an attack (CVE-2021-41190). Plain values; any
// thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "crypto/digest.h"

namespace mist::oci {

inline constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kIndexType = "application/vnd.oci.image.index.v1+json";

/// Bounds of what a registry may send. Manifests: as the distribution specification has them.
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{4} << 20;
inline constexpr std::size_t kMaxDescriptors = 1000;

using Annotations = std::map<std::string, std::string>;

struct Descriptor {
  std::string media_type;
  crypto::Digest digest;
  std::uint64_t size = 0;
  std::string artifact_type = {};
  Annotations annotations = {};
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// Of these bytes.
Descriptor descriptor_of(std::string_view media_type, std::string_view bytes);

struct Manifest {
  std::string artifact_type;
  Descriptor config;
  std::vector<Descriptor> layers;
  std::optional<Descriptor> subject = {};
  Annotations annotations = {};

  /// One line; the same bytes for the same manifest.
  std::string to_json() const;
};

struct Index {
  std::vector<Descriptor> manifests;
  Annotations annotations = {};

  /// One line; the same bytes for the same index.
  std::string to_json() const;
};

using Document = std::variant<Manifest, Index>;

/// The value of a client's Accept header: all types that parse_document reads.
std::string accepted_types();

/// `content_type`: of the answer; it decides only where the document doesn't say its type itself. `name`:
/// what the document is called in messages. Errors: Invalid, with the member that is wrong.
Result<Document> parse_document(std::string_view text, std::string_view content_type, std::string_view name);

/// The index.json of an image layout, which lists more than a registry's index may. `name`: as above. Errors:
/// Invalid.
inline constexpr std::uint64_t kMaxLayoutIndexBytes = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxLayoutEntries = 200'000;
Result<Index> parse_layout_index(std::string_view text, std::string_view name);

/// How a list of referrers describes a manifest (distribution specification, "Listing Referrers"). `bytes`:
/// of it.
Descriptor referrer_descriptor(const Manifest& manifest, std::string_view media_type, std::string_view bytes);

}  // namespace mist::oci
