#include "trust/proof.h"

#include <algorithm>
#include <map>

#include "base/local_fault.h"
#include "base/text.h"

namespace mist::trust {
namespace {

// Clocks of those who sign may be a little ahead.
constexpr auto kClockSkew = std::chrono::minutes(5);
constexpr std::size_t kMostObjections = 5;

// Empty: the subject's own, or a bundle's, which doesn't say.
std::string other_repository(const oci::SignatureClaim& claim, const Subject& subject) {
  if (claim.repository.empty()) return {};
  std::string made_for = fmt::format("{}{}", oci::kScheme, claim.repository);
  return made_for == subject.package ? std::string() : made_for;
}

// The rule may have changed since the proof was recorded.
bool allows(const Rule& rule, std::string_view made_for) {
  return made_for.empty() || std::ranges::any_of(rule.signed_for, [&](const std::string& pattern) {
           return matches(pattern, made_for);
         });
}

std::string objection_to_repository(std::string_view made_for) {
  return fmt::format("it was made for another repository, {}",
                     escape_controls(made_for.substr(oci::kScheme.size(), 300)));
}

Proof objected(Proof proof, std::string why) {
  proof.objection = std::move(why);
  return proof;
}

Proof proved_by(Proof proof, const crypto::PublicKey& key, std::string name) {
  proof.keys = {key.fingerprint().str()};
  proof.algorithm = crypto::to_string(key.kind());
  proof.name = std::move(name);
  return proof;
}

Proof by_unknown_key(Proof proof, const oci::SignatureClaim& claim) {
  if (!claim.key_pem.empty()) {
    const Result<crypto::PublicKey> key = crypto::PublicKey::parse(claim.key_pem);
    if (!key) return objected(std::move(proof), "the key beside it can't be read");
    if (!key->verify(claim.message, claim.signature))
      return objected(std::move(proof), "it is not valid for the key beside it");
    return proved_by(std::move(proof), *key, {});
  }
  for (const crypto::PublicKey& key : crypto::possible_p256_keys(claim.message, claim.signature)) {
    if (claim.key_hint && *claim.key_hint != key.fingerprint()) continue;
    proof.keys.push_back(key.fingerprint().str());
    proof.algorithm = crypto::to_string(key.kind());
  }
  if (proof.keys.empty()) return objected(std::move(proof), "it is of no key that is known here");
  return proof;
}

// The time that the log signed stands for the one that the signature states.
Proof by_identity(Proof proof, const oci::SignatureClaim& claim, const Rule& rule) {
  if (rule.root == nullptr)
    return objected(std::move(proof),
                    "it was made with a certificate, and the trust policy has no spec.trustRoot for those");
  Result<KeylessProof> keyless = verify_keyless(claim, *rule.root);
  if (!keyless) return objected(std::move(proof), keyless.error().to_line());
  proof.identity = std::move(keyless->identity);
  proof.root = rule.root->digest.str();
  proof.algorithm = crypto::to_string(keyless->kind);
  proof.signed_at = keyless->at;
  return proof;
}

Proof examined(const oci::SignatureClaim& claim, const Subject& subject, const Rule& rule) {
  Proof proof{.form = claim.form,
              .keys = {},
              .algorithm = {},
              .name = {},
              .signed_at = claim.signed_at,
              .objection = {}};
  if (!claim.damage.empty()) return objected(std::move(proof), claim.damage);
  if (claim.digest != subject.manifest)
    return objected(std::move(proof), fmt::format("it is for another manifest, {}", claim.digest->str()));
  proof.made_for = other_repository(claim, subject);
  if (!allows(rule, proof.made_for)) {
    std::string why = objection_to_repository(proof.made_for);
    return objected(std::move(proof), std::move(why));
  }
  for (const TrustedKey& each : rule.keys)
    if (each.key.verify(claim.message, claim.signature))
      return proved_by(std::move(proof), each.key, each.name);
  if (claim.keyless) return by_identity(std::move(proof), claim, rule);
  return by_unknown_key(std::move(proof), claim);
}

std::string signer_text(const Proof& proof) {
  if (proof.identity) return TrustedIdentity{proof.identity->issuer, proof.identity->subject}.text();
  const std::string keys = join(proof.keys, " or ");
  const std::string& name = proof.name.empty() ? proof.user : proof.name;
  return name.empty() ? fmt::format("key {}", keys) : fmt::format("{} (key {})", name, keys);
}

// A remembered pattern of identities: "match ISSUER SUBJECT". An identity has one space,
// and its own '*' are no wildcards.
constexpr std::string_view kPatternPrefix = "match ";

bool has_wildcard(const TrustedIdentity& identity) {
  return identity.issuer.find('*') != std::string::npos || identity.subject.find('*') != std::string::npos;
}

// Nothing: a key is remembered.
std::optional<TrustedIdentity> remembered_identity(std::string_view text) {
  if (text.starts_with(kPatternPrefix)) text.remove_prefix(kPatternPrefix.size());
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return TrustedIdentity{std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

bool fits_pattern(const TrustedIdentity& pattern, const Proof& proof) {
  return proof.identity && matches(pattern.issuer, proof.identity->issuer) &&
         matches(pattern.subject, proof.identity->subject);
}

// Of a workflow that signed what was used before, at another tag: all its tags. A workflow's identity holds
// the tag, so each version is signed by another one.
std::optional<TrustedIdentity> workflow_at_any_tag(const std::set<std::string>& remembered,
                                                   std::span<const Proof> proofs) {
  static constexpr std::string_view kTags = "@refs/tags/";
  const auto without_tag = [](std::string_view subject) {
    const std::size_t at = subject.find(kTags);
    return at == std::string_view::npos ? std::string_view() : subject.substr(0, at + kTags.size());
  };
  for (const std::string& each : remembered) {
    const std::optional<TrustedIdentity> before = remembered_identity(each);
    if (!before || has_wildcard(*before) || without_tag(before->subject).empty()) continue;
    const std::string workflow(without_tag(before->subject));
    for (const Proof& proof : proofs)
      if (proof.objection.empty() && proof.identity && proof.identity->issuer == before->issuer &&
          without_tag(proof.identity->subject) == workflow)
        return TrustedIdentity{
            before->issuer,  // a single '*' ends at the '/' of shop/v1.4.0
            fmt::format("{}{}", workflow, matches(workflow + "*", proof.identity->subject) ? "*" : "**")};
  }
  return std::nullopt;
}

std::string keyring_text(const Keyring& keyring) { return fmt::format("the keyring {}", keyring.file); }

bool names(const Keyring& keyring, const Proof& proof) {
  return keyring.fingerprints.empty() || std::ranges::any_of(proof.keys, [&](const std::string& key) {
           return std::ranges::find(keyring.fingerprints, key) != keyring.fingerprints.end();
         });
}

// The name of the rule's key, the text of its first identity, or its keyring, that a proof fits; empty: it
// fits none.
std::string counted_as(const Rule& rule, const Proof& proof) {
  if (proof.form == oci::SignatureForm::Helm)
    return rule.keyring != nullptr && names(*rule.keyring, proof) ? keyring_text(*rule.keyring)
                                                                  : std::string();
  for (const TrustedKey& each : rule.keys)
    if (proof.keys.size() == 1 && proof.keys.front() == each.key.fingerprint().str()) return each.name;
  for (const TrustedIdentity& each : rule.identities)
    if (fits_pattern(each, proof)) return each.text();
  return {};
}

// Of a trust root or keyring that is no longer this one, because an authority or a key may have been taken
// out of it.
bool is_outdated(const Rule& rule, const Proof& proof) {
  if (proof.form == oci::SignatureForm::Helm)
    return rule.keyring == nullptr || proof.root != rule.keyring->digest.str();
  return proof.identity && (rule.root == nullptr || proof.root != rule.root->digest.str());
}

// Why a signature by a key of the rule doesn't count; empty: it does.
std::string age_objection(const Rule& rule, const Proof& proof, WallTime now) {
  if (!rule.minimum_age && !rule.maximum_age) return {};
  if (!proof.signed_at) return "it doesn't say when it was made";
  if (rule.minimum_age && !proof.identity)
    return "its signer says when it was made, which doesn't prove that it is old enough";
  const auto age = now - *proof.signed_at;
  if (age < -kClockSkew)
    return fmt::format("it says that it was made at {}, later than now", format_time(*proof.signed_at));
  if (rule.minimum_age && age < *rule.minimum_age)
    return fmt::format("it was made {} ago, and must be {} old", format_age(age),
                       format_age(*rule.minimum_age));
  if (rule.maximum_age && age > *rule.maximum_age)
    return fmt::format("it was made {} ago, and may be {} old", format_age(age),
                       format_age(*rule.maximum_age));
  return {};
}

// One of `candidates` made a signature; those of them that also made one of this version are the right ones.
void drop_wrong(const std::set<std::string>& candidates, const std::set<std::string>& signers,
                std::set<std::string>& remembered) {
  const auto signed_too = [&](const std::string& each) { return signers.contains(each); };
  if (std::ranges::none_of(candidates, signed_too)) return;
  for (const std::string& each : candidates)
    if (!signed_too(each)) remembered.erase(each);
}

std::string objections_text(std::span<const std::string> objections) {
  if (objections.empty()) return "it has no signature";
  std::string text = join(objections.first(std::min(objections.size(), kMostObjections)), "\n");
  if (objections.size() > kMostObjections)
    text += fmt::format("\n… and {} more", objections.size() - kMostObjections);
  return text;
}

}  // namespace

std::set<std::string> still_signing(const std::set<std::string>& remembered, std::span<const Proof> proofs) {
  const std::set<std::string> now = keys_in(proofs);
  std::set<std::string> same;
  for (const std::string& each : remembered) {
    const std::optional<TrustedIdentity> pattern =
        each.starts_with(kPatternPrefix) ? remembered_identity(each) : std::nullopt;
    const bool signed_it =
        pattern ? std::ranges::any_of(proofs,
                                      [&](const Proof& proof) {
                                        return proof.objection.empty() && fits_pattern(*pattern, proof);
                                      })
                : now.contains(each);
    if (signed_it) same.insert(each);
  }
  return same;
}

std::string keys_text(const std::set<std::string>& signers) {
  std::vector<std::string> keys;
  std::vector<std::string> texts;
  for (const std::string& each : signers) {
    if (const std::optional<TrustedIdentity> identity = remembered_identity(each))
      texts.push_back(identity->text());
    else
      keys.push_back(each);
  }
  if (!keys.empty()) texts.insert(texts.begin(), fmt::format("key {}", join(keys, " or ")));
  return join(texts, " or ");
}

std::vector<Proof> examine(std::span<const oci::SignatureClaim> claims, const Subject& subject,
                           const Rule& rule) {
  std::vector<Proof> proofs;
  for (const oci::SignatureClaim& claim : claims) {
    Proof proof = examined(claim, subject, rule);
    // One that stands there twice is one.
    if (std::ranges::find(proofs, proof) == proofs.end()) proofs.push_back(std::move(proof));
  }
  return proofs;
}

void name_keys(std::span<Proof> proofs, std::span<const TrustedKey> keys) {
  for (Proof& proof : proofs)
    for (const TrustedKey& each : keys)
      if (proof.keys.size() == 1 && proof.keys.front() == each.key.fingerprint().str())
        proof.name = each.name;
}

std::set<std::string> keys_in(std::span<const Proof> proofs) {
  std::set<std::string> keys;
  for (const Proof& proof : proofs)
    if (proof.objection.empty()) {
      keys.insert(proof.keys.begin(), proof.keys.end());
      if (proof.identity) keys.insert(proof.identity->str());
    }
  return keys;
}

std::vector<Proof> proofs_of_named(const Rule& rule, std::span<const Proof> proofs) {
  std::vector<Proof> named;
  for (const Proof& proof : proofs)
    if (proof.objection.empty() && !counted_as(rule, proof).empty() && !is_outdated(rule, proof) &&
        allows(rule, proof.made_for))
      named.push_back(proof);
  return named;
}

std::set<std::string> signers_named(const Rule& rule, std::span<const Proof> proofs) {
  std::set<std::string> signers;
  for (const Proof& proof : proofs) {
    const auto named = std::ranges::find_if(
        rule.identities, [&](const TrustedIdentity& each) { return fits_pattern(each, proof); });
    if (proof.objection.empty() && named != rule.identities.end() && has_wildcard(*named))
      signers.insert(fmt::format("{}{} {}", kPatternPrefix, named->issuer, named->subject));
    else
      signers.merge(keys_in(std::span(&proof, 1)));
  }
  return signers;
}

std::string signers_text(std::span<const Proof> proofs) {
  std::vector<std::string> signers;
  for (const Proof& proof : proofs) {
    if (!proof.objection.empty()) continue;
    std::string text = signer_text(proof);
    if (std::ranges::find(signers, text) == signers.end()) signers.push_back(std::move(text));
  }
  return join(signers, " and ");
}

Status judge_required(const Rule& rule, const Subject& subject, std::span<const Proof> proofs, WallTime now,
                      std::string_view missing) {
  std::set<std::string> counted;
  std::vector<std::string> objections;
  for (const Proof& proof : proofs) {
    if (!proof.objection.empty()) {
      objections.push_back(fmt::format("a signature: {}", proof.objection));
      continue;
    }
    const std::string signer = counted_as(rule, proof);
    if (signer.empty())
      objections.push_back(
          fmt::format("a signature: it is of {}, which the rule doesn't name", signer_text(proof)));
    else if (is_outdated(rule, proof))
      objections.push_back(fmt::format("the signature of {}: it was held against another {}", signer,
                                       proof.form == oci::SignatureForm::Helm ? "keyring" : "trust root"));
    else if (!allows(rule, proof.made_for))
      objections.push_back(
          fmt::format("the signature of {}: {}", signer, objection_to_repository(proof.made_for)));
    else if (std::string why = age_objection(rule, proof, now); !why.empty())
      objections.push_back(fmt::format("the signature of {}: {}", signer, why));
    else
      counted.insert(signer);
  }
  if (counted.size() >= rule.threshold) return {};
  if (!missing.empty()) objections.push_back(fmt::format("there is no {}", missing));
  if (!counted.empty()) {
    const std::vector<std::string> those(counted.begin(), counted.end());
    objections.insert(objections.begin(), fmt::format("it is signed by {} only", join(those, ", ")));
  }
  std::vector<std::string> names;
  for (const TrustedKey& each : rule.keys) names.push_back(each.name);
  for (const TrustedIdentity& each : rule.identities) names.push_back(each.text());
  if (rule.keyring != nullptr) names.push_back(keyring_text(*rule.keyring));
  const std::string wanted =
      names.size() == 1 ? names.front() : fmt::format("{} of {}", rule.threshold, join(names, ", "));
  const std::string name = fmt::format("{}@{}", subject.package, subject.manifest.str());
  if (rule.match.empty())
    return error(ErrorKind::Forbidden, "{} is not signed by {}", name, wanted)
        .with_because(objections_text(objections))
        .with_hint("ask whoever publishes it");
  return error(ErrorKind::Forbidden, "{} is not signed by {}, as the trust policy requires", name, wanted)
      .with_because(
          fmt::format("{}; the rule is {} ({})", objections_text(objections), rule.match, rule.place))
      .with_hint(subject.package.starts_with(oci::kScheme)
                     ? fmt::format("mistctl verify {} shows its signatures; ask whoever publishes it", name)
                     : "ask whoever publishes it for the signature file beside the package");
}

Candidates candidates_in(std::span<const Proof> proofs) {
  std::set<std::string> certain;
  for (const Proof& proof : proofs)
    if (proof.objection.empty() && proof.keys.size() == 1) certain.insert(proof.keys.front());
  Candidates candidates;
  for (const Proof& proof : proofs) {
    if (!proof.objection.empty()) continue;
    std::set<std::string> each(proof.keys.begin(), proof.keys.end());
    std::erase_if(each, [&](const std::string& key) { return certain.contains(key); });
    if (each.size() > 1) candidates.push_back(std::move(each));
  }
  return candidates;
}

namespace {

// For `verify --accept-changed`, which without them would know the package by all that signed it, whoever
// added a signature. A provenance file doesn't hold its key.
std::string new_signer_flags(std::span<const Proof> proofs) {
  std::vector<const Proof*> valid;
  for (const Proof& proof : proofs)
    if (proof.objection.empty()) valid.push_back(&proof);
  if (valid.empty()) return {};
  const auto has_key = [](const Proof* proof) { return !proof->identity; };
  const bool is_helms =
      std::ranges::all_of(valid, [](const Proof* proof) { return proof->form == oci::SignatureForm::Helm; });
  if (std::ranges::any_of(valid, has_key)) return is_helms ? " --keyring FILE" : " --key FILE";
  if (valid.size() > 1) return " --identity IDENTITY --issuer URL";
  return fmt::format(" --identity {} --issuer {}",
                     escape_controls(shell_word(valid.front()->identity->subject)),
                     escape_controls(shell_word(valid.front()->identity->issuer)));
}

}  // namespace

Result<std::set<std::string>> judge_remembered(const std::set<std::string>& remembered,
                                               const Subject& subject, std::span<const Proof> proofs,
                                               const Candidates& candidates) {
  std::set<std::string> now = keys_in(proofs);
  if (remembered.empty()) return now;
  if (!still_signing(remembered, proofs).empty()) {
    std::set<std::string> after = remembered;
    for (const std::set<std::string>& each : candidates) drop_wrong(each, now, after);
    return after;
  }
  const std::string name = fmt::format("{}@{}", subject.package, subject.manifest.str());
  Error failure =
      now.empty()
          ? error(ErrorKind::Conflict, "{} is not signed, and what was used of it before is signed by {}",
                  name, keys_text(remembered))
          : error(ErrorKind::Conflict, "{} is signed by {}, and what was used of it before is signed by {}",
                  name, signers_text(proofs), keys_text(remembered));
  failure.details.set(PinMismatch{});
  std::vector<std::string> objections;
  for (const Proof& proof : proofs)
    if (!proof.objection.empty()) objections.push_back(fmt::format("a signature: {}", proof.objection));
  if (now.empty() || !objections.empty()) failure.because = objections_text(objections);
  if (const auto workflow = workflow_at_any_tag(remembered, proofs)) {
    failure.hint = fmt::format(
        "it is the same workflow at another tag; to trust it at all its tags from now on: mistctl verify {} "
        "--identity {} --issuer {} --accept-changed",
        name, escape_controls(shell_word(workflow->subject)), escape_controls(shell_word(workflow->issuer)));
    return failure;
  }
  const bool is_oci = subject.package.starts_with(oci::kScheme);
  failure.hint = fmt::format(
      "ask whoever publishes it, by another way than the registry; to trust {} from now on: mistctl verify "
      "{}{} --accept-changed",
      now.empty() && is_oci ? "it unsigned" : "the new signer", is_oci ? name : subject.package,
      is_oci ? new_signer_flags(proofs) : " --keyring FILE");
  return failure;
}

}  // namespace mist::trust
