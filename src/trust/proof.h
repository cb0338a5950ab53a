#pragma once
// From what signatures claim to what they prove, and whether that is enough. Pure; any thread.
//
// A signature of cosign's does not come with the key that made it. With a policy the key is known; without
// one, it is told from the key beside the signature (mistctl writes it there) or, of ECDSA on P-256, from the
// signature itself, which leaves two keys to choose from (crypto::possible_p256_keys), or one where a bundle
// names its fingerprint. A second version that the same key signed leaves one.
//
// A keyless signature is of an identity instead (keyless.h), which counts and is remembered as keys are.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "oci/signature.h"
#include "trust/keyless.h"
#include "trust/policy.h"

namespace mist::trust {

/// The result of checking one signature.
struct Proof {
  oci::SignatureForm form = oci::SignatureForm::Cosign;
  /// Fingerprints ("sha256:…", "openpgp:…"); several: one of them made it; none: no proof.
  std::vector<std::string> keys;
  std::string algorithm;  ///< "ECDSA P-256"; empty: unknown
  std::string name;       ///< of the key in the policy; empty: the policy doesn't have it
  std::optional<WallTime> signed_at;
  std::string objection;  ///< why it proves nothing; empty: it does
  /// The repository ("oci://…") that it was made for, where that is another one which the rule allowed.
  std::string made_for = {};
  std::optional<Identity> identity = {};  ///< instead of `keys`, of a keyless signature
  std::string root = {};                  ///< the digest of the trust root, or the keyring, that proved it
  std::string user = {};                  ///< of an OpenPGP key: to whom it says that it belongs
  friend bool operator==(const Proof&, const Proof&) = default;
};

/// The package and manifest in question.
struct Subject {
  std::string package;  ///< oci::Repository::identity; of another registry "REGISTRY/PATH:VERSION"
  crypto::Digest manifest;
};

/// Checks each of `claims`: with the keys of the rule, then with those that signatures bring along.
std::vector<Proof> examine(std::span<const oci::SignatureClaim> claims, const Subject& subject,
                           const Rule& rule);

/// Gives proofs that were recorded the names that `keys` have now.
void name_keys(std::span<Proof> proofs, std::span<const TrustedKey> keys);

/// The fingerprints, and Identity::str, of all that prove something.
std::set<std::string> keys_in(std::span<const Proof> proofs);

/// Those of `remembered` (signers_named) that signed it.
std::set<std::string> still_signing(const std::set<std::string>& remembered, std::span<const Proof> proofs);

/// Signers that are remembered (signers_named), as people read them: "key sha256:…", "SUBJECT (ISSUER)".
std::string keys_text(const std::set<std::string>& signers);

/// Those of `proofs` that count for one of the keys, identities or the keyring of a rule, whatever their age.
/// A valid signature of anybody else is not among them.
std::vector<Proof> proofs_of_named(const Rule& rule, std::span<const Proof> proofs);

/// The signers of `proofs` as they are remembered: as keys_in, but an identity that a pattern of the rule
/// names is remembered as that pattern, which the next version fits too.
std::set<std::string> signers_named(const Rule& rule, std::span<const Proof> proofs);

/// "key sha256:…", "key sha256:… or sha256:…", "release (sha256:…)", "SUBJECT (ISSUER)"; of several with "
/// and " between them.
std::string signers_text(std::span<const Proof> proofs);

/// Under a rule that requires keys, identities or a keyring. `missing`: where a signature was looked for, and
/// isn't; empty: nowhere that is worth telling. Errors: Forbidden, with what is wrong with each signature.
Status judge_required(const Rule& rule, const Subject& subject, std::span<const Proof> proofs, WallTime now,
                      std::string_view missing = {});

/// Sets of keys of which one made a signature that doesn't say which.
using Candidates = std::vector<std::set<std::string>>;
Candidates candidates_in(std::span<const Proof> proofs);

/// The keys and identities (or patterns of them) by which the package is known after this version: all that
/// are `remembered`, if one of them signed it, but for those of `candidates` that it shows to be the wrong
/// ones. No `remembered`: those that signed it. Errors: Conflict, naming both.
Result<std::set<std::string>> judge_remembered(const std::set<std::string>& remembered,
                                               const Subject& subject, std::span<const Proof> proofs,
                                               const Candidates& candidates = {});

}  // namespace mist::trust
