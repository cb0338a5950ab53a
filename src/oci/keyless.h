#pragma once
// The parts of a keyless signature that stand in place of a key: a certificate, and entries of a transparency
// log (Rekor), as cosign annotates its layers and as Sigstore's bundles have it. All of it is a claim; trust/
// verifies it. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoding/value.h"
#include "oci/manifest.h"

namespace mist::oci {

/// The way from a log's entry to the root of its Merkle tree (RFC 6962, section 2.1.1).
struct InclusionProof {
  std::int64_t index = 0;
  std::int64_t tree_size = 0;
  std::vector<std::string> hashes;
  std::string root;
  std::string checkpoint;  ///< a signed note (https://c2sp.org/signed-note) about the tree
};

struct LogEntry {
  std::string body;  ///< its JSON
  std::int64_t integrated_time = 0;
  std::int64_t index = 0;
  std::string log_id;   ///< SHA-256 of the log's key
  std::string promise;  ///< the log's signature ("signed entry timestamp"); empty: none
  std::optional<InclusionProof> inclusion;
};

struct KeylessClaim {
  std::string certificate;         ///< DER
  std::vector<std::string> chain;  ///< those that it was issued with
  std::vector<LogEntry> entries;
  std::vector<std::string> timestamps;  ///< responses of authorities (RFC 3161) about the signature
  std::string damage;                   ///< why nothing of this can be believed; empty: it can be read
};

/// Bounds of what a signature may bring along.
inline constexpr std::size_t kMaxLogEntries = 10;
inline constexpr std::size_t kMaxInclusionHashes = 64;

/// Of a layer's annotations; nothing: no certificate is there.
std::optional<KeylessClaim> keyless_in(const Annotations& annotations);
/// Of a bundle's `verificationMaterial`; nothing: no certificate is there.
std::optional<KeylessClaim> keyless_in(const encoding::Value& material);

}  // namespace mist::oci
