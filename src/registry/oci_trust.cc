#include "registry/oci_trust.h"

#include "base/text.h"
#include "registry/oci_signatures.h"

namespace mist::registry {

Result<const trust::Policy*> OciTrust::policy() {
  const std::lock_guard lock(mutex_);
  if (!policy_) {
    MIST_TRY(policy_, trust::Policy::load(files_, policy_file_));
  }
  return &*policy_;
}

Result<Verdict> OciTrust::look(const oci::Repository& repository, const crypto::Digest& manifest,
                               OciSource& client, const trust::Rule* rule, const Context& context) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  const trust::Subject subject{repository.identity(), manifest};
  Verdict verdict{
      .rule = rule != nullptr ? *rule : policy->rule_for(subject.package), .proofs = {}, .remembered = {}};
  MIST_TRY(verdict.remembered, memory_.keys_of(subject.package));
  MIST_TRY(const std::vector<oci::SignatureClaim> claims,
           read_signatures(client, repository, manifest, context));
  verdict.proofs = trust::examine(claims, subject, verdict.rule);
  return verdict;
}

Status OciTrust::judge(const oci::Repository& repository, const crypto::Digest& manifest,
                       const Verdict& verdict) {
  const trust::Subject subject{repository.identity(), manifest};
  if (verdict.rule.mode == trust::Mode::Ignore) return {};
  if (verdict.rule.mode == trust::Mode::Require)
    return trust::judge_required(verdict.rule, subject, verdict.proofs, clock_.now());
  MIST_TRY(const std::set<std::string> keys,
           trust::judge_remembered(verdict.remembered, subject, verdict.proofs));
  if (keys != verdict.remembered) return memory_.remember(subject.package, keys);
  return {};
}

Status OciTrust::accept(const oci::Repository& repository, const crypto::Digest& manifest,
                        const Verdict& verdict) {
  const trust::Subject subject{repository.identity(), manifest};
  MIST_TRY_VOID(memory_.remember(subject.package, trust::keys_in(verdict.proofs)));
  return memory_.record(subject, verdict.proofs);
}

Result<std::optional<Verdict>> OciTrust::recorded(const oci::Repository& repository,
                                                  const crypto::Digest& manifest) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  const trust::Subject subject{repository.identity(), manifest};
  MIST_TRY(std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  if (!known) return std::optional<Verdict>();
  Verdict verdict{.rule = policy->rule_for(subject.package), .proofs = *std::move(known), .remembered = {}};
  MIST_TRY(verdict.remembered, memory_.keys_of(subject.package));
  trust::name_keys(verdict.proofs, verdict.rule.keys);
  return std::optional(std::move(verdict));
}

Result<trust::Rule> OciTrust::rule_for(const std::string& package) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  return policy->rule_for(package);
}

Result<bool> OciTrust::suffices(const trust::Subject& subject, const trust::Rule& rule) {
  MIST_TRY(const std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  return known && rule.mode == trust::Mode::Require &&
         trust::judge_required(rule, subject, *known, clock_.now()).ok();
}

Status OciTrust::judge_and_record(const trust::Subject& subject, const trust::Rule& rule,
                                  const std::vector<trust::Proof>& proofs) {
  MIST_TRY_VOID(trust::judge_required(rule, subject, proofs, clock_.now()));
  return memory_.record(subject, proofs);
}

Status OciTrust::check(const oci::Repository& repository, const crypto::Digest& manifest,
                       const FindClient& client, const Context& context) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  const trust::Subject subject{repository.identity(), manifest};
  const trust::Rule& rule = policy->rule_for(subject.package);
  if (rule.mode == trust::Mode::Ignore) return {};
  MIST_TRY(const std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  // These very bytes were used before, and nobody asked for more since.
  if (known && rule.mode == trust::Mode::Remember) return {};
  // What doesn't suffice may have been signed since.
  MIST_TRY(const bool is_known, suffices(subject, rule));
  if (is_known) return {};
  MIST_TRY(OciSource* const open, client());
  Result<Verdict> verdict = look(repository, manifest, *open, nullptr, context);
  if (!verdict) {
    MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(subject.package));
    const bool nothing_to_hold = rule.mode == trust::Mode::Remember && remembered.empty();
    if (verdict.error().kind != ErrorKind::Retryable || !nothing_to_hold) return std::move(verdict).error();
    // It can't be told whether it is signed, and nobody relies on that yet.
    events_.warn(fmt::format("whether {} is signed could not be asked: {}", subject.package,
                             escape_controls(verdict.error().message)));
    return {};
  }
  Status judged = judge(repository, manifest, *verdict);
  if (judged) return memory_.record(subject, verdict->proofs);
  OciSource* const registry = open->behind(repository);
  if (registry == nullptr) return judged;
  return check_at_registry(repository, manifest, *registry, judged.error(), context);
}

// It may have been signed since it was mirrored. `refused`: what a mirror's signatures gave.
Status OciTrust::check_at_registry(const oci::Repository& repository, const crypto::Digest& manifest,
                                   OciSource& registry, Error refused, const Context& context) {
  const Result<Verdict> verdict = look(repository, manifest, registry, nullptr, context);
  if (!verdict) {
    MIST_TRY_VOID(context.check());
    refused.because +=
        fmt::format("{}a mirror says so, and {} can't be asked: {}", refused.because.empty() ? "" : "; ",
                    repository.host, escape_controls(verdict.error().message));
    return refused;
  }
  MIST_TRY_VOID(judge(repository, manifest, *verdict));
  return memory_.record({repository.identity(), manifest}, verdict->proofs);
}

}  // namespace mist::registry
