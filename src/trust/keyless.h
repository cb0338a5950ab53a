#pragma once
// Signatures without a key of one's own (Sigstore's "keyless"): who made them, by the certificate, the entry
// of the transparency log and the timestamps that they bring along. Nothing is asked and no clock is read:
// certificates live for minutes, so the time that counts is the one that the log or an authority signed.
// Pure; any thread.

#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "crypto/signing_certificate.h"
#include "oci/signature.h"
#include "trust/trust_root.h"

namespace mist::trust {

/// Whom a certificate was issued to.
struct Identity {
  std::string issuer;   ///< where they logged in: "https://token.actions.githubusercontent.com"
  std::string subject;  ///< an e-mail address, or the URI of a workflow
  /// "ISSUER SUBJECT": neither has a space.
  std::string str() const { return fmt::format("{} {}", issuer, subject); }
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct KeylessProof {
  Identity identity;
  crypto::KeyKind kind;
  WallTime at;  ///< when the log, or else a timestamp authority, saw the signature
};

/// Of a claim with `keyless`. That it is about the package in question is not checked here. Errors: Invalid,
/// saying which part doesn't hold.
Result<KeylessProof> verify_keyless(const oci::SignatureClaim& claim, const TrustRoot& root);

/// Whom a certificate was issued to, before anything is signed with it. `between`: those that it
/// came with; they count for authorities of which the trust root has nothing but the root. Errors: as above,
/// of the certificate.
Result<Identity> verify_certificate(const crypto::SigningCertificate& certificate,
                                    std::span<const std::string> between, const TrustRoot& root, WallTime at);

}  // namespace mist::trust
