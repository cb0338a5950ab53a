#pragma once
// Certificates that signatures bring along instead of a key, as Sigstore's authority (Fulcio) issues them for
// minutes to whoever logged in somewhere: what they say, whether an authority issued them, and what logs of
// certificates promised for them. Nothing here asks for the time. Pure; any thread.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "crypto/signing.h"

namespace mist::crypto {

struct SigningCertificate {
  std::string der;
  PublicKey key;
  WallTime not_before{};
  WallTime not_after{};
  bool signs_code = false;         ///< the extended key usage allows it; without one it doesn't
  std::vector<std::string> names;  ///< URIs and e-mail addresses of the subject; may hold anything
  /// The service that the subject logged in to, in Fulcio's extension 1.3.6.1.4.1.57264.1.8 or, older, .1;
  /// empty: neither is there. May hold anything.
  std::string issuer;

  /// X.509 in DER. Errors: Invalid.
  static Result<SigningCertificate> parse(std::string_view der);
};

/// The DER in each PEM block CERTIFICATE of `text`, whatever it is; at most 20.
std::vector<std::string> certificate_blocks(std::string_view text);

/// Whether a chain leads at `at` from `leaf` to the last certificate of `authority`, over the others of it
/// and over `between`, all in DER. Gives the public key (SubjectPublicKeyInfo) of the certificate that issued
/// `leaf`. Errors: Invalid, with OpenSSL's reason.
Result<std::string> check_chain(std::string_view leaf, std::span<const std::string> between,
                                std::span<const std::string> authority, WallTime at);

/// A log's promise to publish a certificate, inside of it (RFC 6962, section 3.3).
struct CertificatePromise {
  std::string log_id;     ///< 32 bytes
  std::string message;    ///< the bytes that the log signed
  std::string signature;  ///< of them
  WallTime at{};          ///< when the log saw it, as it signed
};
/// Those in `leaf` (DER), whose issuer has the public key `issuer_key`; at most 20.
std::vector<CertificatePromise> certificate_promises(std::string_view leaf, std::string_view issuer_key);

/// When a timestamp authority (RFC 3161) saw `message`: of the response in `token` (DER), signed by the first
/// certificate of `authority`, whose last one is trusted. If the first one is an authority of certificates,
/// as where the signer is left out, it is signed by one that the token brings along and that a chain over
/// `authority` issued. Errors: Invalid, with OpenSSL's reason.
Result<WallTime> check_timestamp(std::string_view token, std::string_view message,
                                 std::span<const std::string> authority);

/// An authority's words (RFC 3161, PKIStatusInfo) in a response without a timestamp: "status 2: …"; may hold
/// anything. Empty: it has a timestamp, or can't be read.
std::string timestamp_refusal(std::string_view response);

}  // namespace mist::crypto
