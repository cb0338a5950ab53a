#include "oci/document.h"

#include <algorithm>
#include <array>

#include "oci/attestation.h"

namespace mist::oci {
namespace {

constexpr std::array<std::string_view, 6> kSbomTypes{
    kCycloneDxType, "application/vnd.cyclonedx+xml", "application/spdx+json", "text/spdx+json",
    "text/spdx",    "application/vnd.syft+json",
};
constexpr std::array<std::string_view, 3> kStatementTypes{kStatementType, kEnvelopeType, kBundleType};

struct KnownPredicate {
  std::string_view begin;
  DocumentKind kind;
};
constexpr std::array kPredicates{
    KnownPredicate{"https://slsa.dev/provenance/", DocumentKind::Provenance},
    KnownPredicate{"https://cyclonedx.org/bom", DocumentKind::Sbom},
    KnownPredicate{"https://spdx.dev/Document", DocumentKind::Sbom},
};

}  // namespace

std::string_view to_string(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::Sbom:
      return "sbom";
    case DocumentKind::Provenance:
      return "provenance";
    case DocumentKind::Attestation:
      return "attestation";
  }
  return "";
}

bool is_statement(std::string_view type) {
  return std::ranges::find(kStatementTypes, type) != kStatementTypes.end();
}

std::optional<DocumentKind> document_kind(std::string_view type, std::string_view predicate) {
  if (std::ranges::find(kSbomTypes, type) != kSbomTypes.end()) return DocumentKind::Sbom;
  if (!is_statement(type) || predicate == kSignPredicate) return std::nullopt;
  const auto known = std::ranges::find_if(
      kPredicates, [&](const KnownPredicate& each) { return predicate.starts_with(each.begin); });
  return known == kPredicates.end() ? DocumentKind::Attestation : known->kind;
}

Artifact document_artifact(const Descriptor& subject, std::string_view type, std::string document,
                           Annotations annotations) {
  // OCI image specification, "Guidance for an Empty Descriptor".
  constexpr std::string_view kEmptyConfig = "{}";
  Blob config{descriptor_of(kEmptyConfigType, kEmptyConfig), std::string(kEmptyConfig)};
  Blob layer{descriptor_of(type, document), std::move(document)};
  const Manifest manifest{.artifact_type = std::string(type),
                          .config = config.descriptor,
                          .layers = {layer.descriptor},
                          .subject = subject,
                          .annotations = std::move(annotations)};
  std::string text = manifest.to_json();
  const crypto::Digest digest = crypto::sha256(text);
  return Artifact{{std::move(config), std::move(layer)}, std::move(text), digest};
}

}  // namespace mist::oci
