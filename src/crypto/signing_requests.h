#pragma once
// Requests of a signer to authorities: a certificate for its key (PKCS #10, RFC 2986), a timestamp of its
// signature (RFC 3161). Pure; any thread.

#include <string>
#include <string_view>

#include "crypto/signing.h"

namespace mist::crypto {

/// A certification request, PEM, which proves that its sender has the key. It names nobody: the authority
/// takes names from elsewhere. `key`: ECDSA on P-256.
std::string certificate_request(const PrivateKey& key);

/// "-----BEGIN CERTIFICATE-----", of a certificate in DER.
std::string certificate_pem(std::string_view der);

/// A request for a timestamp of `message` (its SHA-256) with the authority's certificate in it, DER.
std::string timestamp_request(std::string_view message);

}  // namespace mist::crypto
