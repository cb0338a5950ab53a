#pragma once
// X.509 certificates (RFC 5280) of an authority of our own: for a server whose only clients are told which
// authority to trust, as an API server is of its webhooks. Keys are P-256, signatures ECDSA with SHA-256. Any
// thread.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"

namespace mist::crypto {

struct CertifiedKey {
  std::string certificate_pem;
  SecretString key_pem;  ///< PKCS #8, not encrypted
};

struct CertificateTerm {
  WallTime not_before{};
  WallTime not_after{};
};

/// An authority that signs itself; it may sign certificates of servers, and no further authorities. `name`:
/// the common name. `random` gives its key and serial number.
CertifiedKey make_authority(const std::string& name, const CertificateTerm& term, Random& random);

/// A server's certificate with a new key, signed by `authority`. `names`: DNS names and IP addresses that it
/// is valid for; at least one. Errors: Invalid: `authority` has no such certificate or key, or one of `names`
/// is neither.
Result<CertifiedKey> issue_for_server(const CertifiedKey& authority, const std::vector<std::string>& names,
                                      const CertificateTerm& term, Random& random);

/// Whether a server's certificate can be for it: a DNS name or an IP address.
bool is_server_name(const std::string& name);

/// Whether `pair` holds a certificate and its key.
bool is_pair(const CertifiedKey& pair);

/// Whether the first certificate in the PEM text `certificate` is signed by the first in `authority`, and is
/// valid for all of `names`; its dates aren't looked at.
bool is_issued_for(const std::string& certificate, const std::string& authority,
                   const std::vector<std::string>& names);

}  // namespace mist::crypto
