#pragma once
// The requests of keyless signing: a certificate of Fulcio, a timestamp (RFC 3161), an entry in a
// transparency log (Rekor 1 and 2). signer.h verifies the answers. Any thread that the transport
// allows.

#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "crypto/signing.h"
#include "encoding/value.h"
#include "http/transport.h"
#include "sigstore/answers.h"
#include "sigstore/identity_token.h"
#include "sigstore/signing_config.h"

namespace mist::sigstore {

/// A statement with its signature.
struct SignedStatement {
  std::string statement;
  std::string signature;    ///< of oci::statement_message
  std::string certificate;  ///< DER
};

class SigningServices {
 public:
  /// `transport` outlives this; it repeats what may be repeated (http::RetryingTransport).
  explicit SigningServices(http::Transport& transport) : transport_(transport) {}

  // Errors of all: Forbidden (refused), Invalid (an answer that can't be understood, or a bad request),
  // Retryable (network, 429, 5xx), Timeout, Cancelled.

  Result<IssuedChain> certificate(const Service& authority, const IdentityToken& token,
                                  const crypto::PrivateKey& key, const Context& context) const;
  /// The response, DER.
  Result<std::string> timestamp(const Service& authority, std::string_view message,
                                const Context& context) const;
  /// The entry as bundles have it.
  Result<encoding::Value> log(const Service& log, const SignedStatement& is, const Context& context) const;

 private:
  Result<encoding::Value> log_1(const Service& log, const SignedStatement& is, const Context& context) const;
  Result<encoding::Value> log_2(const Service& log, const SignedStatement& is, const Context& context) const;

  http::Transport& transport_;
};

}  // namespace mist::sigstore
