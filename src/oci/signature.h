#pragma once
// Signatures of artifacts as data, in the two forms that cosign writes: simple signing in a manifest of its
// own under the tag sha256-HEX.sig (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md),
// and Sigstore bundles (version 0.3) with a DSSE envelope. All that is read here is a claim: nothing is
// verified. Pure; any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "oci/keyless.h"
#include "oci/layout.h"
#include "oci/manifest.h"
#include "oci/reference.h"

namespace mist::oci {

inline constexpr std::string_view kSimpleSigningType = "application/vnd.dev.cosign.simplesigning.v1+json";
inline constexpr std::string_view kBundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Bounds of what somebody may hang on an artifact.
inline constexpr std::size_t kMaxSignatures = 100;
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kMaxBundleBytes = std::uint64_t{1} << 20;

/// Minisign: of a file in a registry that is no OCI registry (trust/minisign.h). Helm: of a chart's archive
/// (trust/provenance.h).
enum class SignatureForm : std::uint8_t { Cosign, Bundle, Minisign, Helm };
std::string_view to_string(SignatureForm form);  ///< "cosign", "bundle", "minisign", "helm"

/// A signature's claims about itself.
struct SignatureClaim {
  SignatureForm form = SignatureForm::Cosign;
  std::string message;                     ///< the bytes that were signed
  std::string signature;                   ///< decoded
  std::string payload;                     ///< in `message`, of a DSSE envelope; else empty
  std::optional<crypto::Digest> digest;    ///< of the manifest that it is for
  std::string repository;                  ///< that it was made for, "host/path"; empty: it doesn't say
  std::string key_pem;                     ///< beside the signature; empty: none
  std::optional<crypto::Digest> key_hint;  ///< the fingerprint of the key that made it
  std::optional<KeylessClaim> keyless;     ///< made with a certificate, without a key of one's own
  std::optional<WallTime> signed_at;       ///< in the signed bytes
  std::map<std::string, std::string> annotations;  ///< in the signed bytes
  std::string damage;  ///< why nothing of this can be believed; empty: it can be read
};

/// "sha256-HEX.sig".
std::string signature_tag(const crypto::Digest& manifest);
/// "sha256-HEX": the index of referrers in registries that have no API for them.
std::string referrers_tag(const crypto::Digest& manifest);

struct SigningPayload {
  Repository repository;
  crypto::Digest digest;  ///< of the manifest
  std::optional<WallTime> signed_at = {};
  std::map<std::string, std::string> annotations = {};
  /// The bytes to sign.
  std::string to_json() const;
};

/// A layer of a signature manifest, and its payload. A claim that can't be read has `damage`.
SignatureClaim simple_signing_claim(const Descriptor& layer, std::string_view payload);
/// The bundle that a referrer holds.
SignatureClaim bundle_claim(std::string_view bundle);

/// Where cosign keeps what belongs to a manifest under tags of its own: ".sig", ".att", ".sbom".
inline constexpr std::string_view kSignatureSuffix = ".sig";
inline constexpr std::string_view kAttestationSuffix = ".att";
inline constexpr std::string_view kSbomSuffix = ".sbom";
/// "sha256-HEX" and the suffix.
std::string attached_tag(const crypto::Digest& manifest, std::string_view suffix);
/// The manifest that such a tag, or referrers_tag(), is about; nothing for any other tag.
std::optional<crypto::Digest> subject_of_tag(std::string_view tag);

/// The layers of a signature manifest that are signatures.
std::vector<Descriptor> signature_layers(const Manifest& manifest);

/// `there` (or nothing) with one signature more. Its blobs are the new payload and config.
Artifact signature_artifact(const std::optional<Manifest>& there, std::string payload,
                            std::string_view signature, std::string_view key_pem);

/// `there` with the layers of `more` that it lacks, as manifests of signatures and attestations hold them. Of
/// its blobs only the new config; the layers are to be copied. Nothing: it lacks none.
std::optional<Artifact> merged_signatures(const Manifest& there, const Manifest& more);

}  // namespace mist::oci
