#pragma once
// Documents about an artifact that hang on it: SBOMs, provenance and other attestations, in manifests that
// refer to it (OCI image specification 1.1, `subject`) or under cosign's tags. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oci/layout.h"
#include "oci/manifest.h"

namespace mist::oci {

inline constexpr std::string_view kCycloneDxType = "application/vnd.cyclonedx+json";
inline constexpr std::string_view kEnvelopeType = "application/vnd.dsse.envelope.v1+json";
inline constexpr std::string_view kEmptyConfigType = "application/vnd.oci.empty.v1+json";
/// The predicate of provenance (https://slsa.dev/spec/v1.0/provenance).
inline constexpr std::string_view kSlsaPredicate = "https://slsa.dev/provenance/v1";

/// The most bytes of one that is read.
inline constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{32} << 20;

/// Attestation: an in-toto statement that is neither of the others, such as the result of a scan.
enum class DocumentKind : std::uint8_t { Sbom, Provenance, Attestation };
std::string_view to_string(DocumentKind kind);  ///< "sbom", "provenance", "attestation"

/// By its media type (of an artifact or a layer) and, of a statement, its predicate; an empty predicate is
/// not known yet. Nothing: it is something else, such as a signature.
std::optional<DocumentKind> document_kind(std::string_view type, std::string_view predicate);
/// Whether documents of that media type are, or hold, an in-toto statement.
bool is_statement(std::string_view type);

/// A document in a manifest that refers to `subject`. `type`: of both.
Artifact document_artifact(const Descriptor& subject, std::string_view type, std::string document,
                           Annotations annotations);

}  // namespace mist::oci
