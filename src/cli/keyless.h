#pragma once
// Keyless signing for commands: the flags, and what they, the environment and trust.yaml together say. One
// thread.

#include <memory>
#include <optional>
#include <string>

#include "cli/machine.h"
#include "cli/parse/command.h"
#include "cli/parse/invocation.h"
#include "http/transport.h"
#include "registry/statement_signer.h"
#include "sigstore/signer.h"

namespace mist::cli {

inline constexpr Flag kKeylessFlagList[] = {
    {.name = "keyless",
     .help = "Sign with an identity in place of a key: a certificate for it is requested, and the signature "
             "is written "
             "into a transparency log"},
    {.name = "identity-token",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "The identity: a token of an OpenID Connect issuer; - is standard input. Without it "
             "SIGSTORE_ID_TOKEN, GitHub Actions and cosign's file are tried, and on a terminal you log in",
     .completion = Completion::File},
    {.name = "signing-config",
     .type = FlagType::Text,
     .value = "FILE",
     .help =
         "Sigstore's signing_config.json: which services sign. Without it that of the trust policy counts",
     .completion = Completion::File},
    {.name = "trust-root",
     .type = FlagType::Text,
     .value = "FILE",
     .help = "Sigstore's trusted_root.json, which the signature must fit. Without it that of the trust "
             "policy counts",
     .completion = Completion::File},
    {.name = "token-audience",
     .type = FlagType::Text,
     .value = "TEXT",
     .help = "The audience that the certificate authority accepts",
     .fallback = sigstore::kAudience,
     .rare = true},
};
inline constexpr FlagGroup kKeylessFlags{"Keyless signing", kKeylessFlagList};

/// "SUBJECT (ISSUER)", for people.
std::string identity_text(const trust::Identity& identity);

/// The trust root in `file`. Errors: of the file, Invalid.
Result<std::shared_ptr<const trust::TrustRoot>> read_trust_root(Machine& machine, const std::string& file);

/// All that signing with an identity needs, read and checked before anything else is done.
struct KeylessPlan {
  sigstore::ChosenServices services;
  std::shared_ptr<const trust::TrustRoot> root;
  sigstore::IdentityToken token;
};
/// Nothing: the flags don't ask for it. Errors: Usage (a file is missing), NotFound (no token), Forbidden (a
/// token that can't be accepted), Invalid.
Result<std::optional<KeylessPlan>> keyless_plan(const Invocation& invocation, Machine& machine);

/// An identity that signs. It has a certificate already.
class KeylessSigning {
 public:
  /// Gets the certificate. Null: there is no plan. Errors: of sigstore::KeylessSigner.
  static Result<std::unique_ptr<KeylessSigning>> open(const std::optional<KeylessPlan>& plan,
                                                      Machine& machine);

  /// Lives as long as this.
  registry::StatementSigner signer() const;
  const trust::Identity& identity() const { return signer_.identity(); }

 private:
  KeylessSigning(std::unique_ptr<http::Transport> transport, sigstore::KeylessSigner signer)
      : transport_(std::move(transport)), signer_(std::move(signer)) {}

  std::unique_ptr<http::Transport> transport_;
  sigstore::KeylessSigner signer_;
};

}  // namespace mist::cli
