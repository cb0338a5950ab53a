#include "registry/oci_trust.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/local_fault.h"
#include "base/text.h"
#include "oci/layout.h"
#include "oci/manifest.h"
#include "oci/tags.h"
#include "registry/chart_trust.h"
#include "registry/oci_signatures.h"

namespace mist::registry {
namespace {

// Of a package that is held to signatures.
Error needed_signatures(const std::string& package, Error failure) {
  if (failure.hint.empty())
    failure.hint =
        "try again later, or ask whoever runs the registry; trust.yaml says where signatures count";
  return std::move(failure).with_frame(
      fmt::format("while reading the signatures of {}, without which it isn't used", package));
}

// The time that a registry may take to tell signatures, if nobody relies on its answer yet.
constexpr auto kRegistryPatience = std::chrono::seconds(15);

// It can't be asked now, or not by this user; it didn't say anything that is wrong.
bool cannot_be_asked(const Error& failure) {
  return failure.kind == ErrorKind::Retryable || failure.kind == ErrorKind::Timeout ||
         failure.kind == ErrorKind::Forbidden || failure.kind == ErrorKind::NotFound;
}

}  // namespace

std::string package_of(const RegistryRef& reference) {
  return fmt::format("{}/{}", reference.registry, reference.path);
}

Status check_signed_version(const oci::Reference& tagged, const RawManifest& raw, TagChosen chosen) {
  if (chosen == TagChosen::ByName && !oci::is_fixed_version(tagged.tag)) return {};
  MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, tagged.str()));
  const oci::Annotations& annotations =
      std::visit([](const auto& each) -> const oci::Annotations& { return each.annotations; }, document);
  const auto version = annotations.find(std::string(oci::kVersionAnnotation));
  if (version == annotations.end()) return {};
  if (!oci::is_fixed_version(oci::tag_of_version(version->second)) ||
      oci::fits_version(tagged.tag, version->second))
    return {};
  return error(ErrorKind::Forbidden, "{} says that it is version {}", tagged.str(),
               escape_controls(version->second))
      .with_because("a signature doesn't name the tag, so an old version could be passed off as a new one")
      .with_hint(fmt::format("ask whoever publishes it; if it is what you want, name its manifest: {}@{}",
                             tagged.repository.str(), raw.digest.str()));
}

namespace {

// Nobody signed wrongly where the keyring can't be read.
Status check_keyring(const trust::Keyring& keyring, const trust::CheckedProvenance& checked) {
  if (!checked.is_of_keyring) return {};
  return error(ErrorKind::Invalid, "the keyring {} can't be used", escape_controls(keyring.file))
      .with_because(checked.fault)
      .with_hint("`gpg --export KEY` writes one, and `gpg --export --armor KEY`")
      .with_detail(LocalFault{});
}

}  // namespace

Status check_keyrings(const trust::Policy& policy, const trust::CheckProvenance& check, WallTime now,
                      const Context& context) {
  for (const trust::Rule& rule : policy.rules()) {
    if (rule.keyring == nullptr) continue;
    MIST_TRY(const trust::CheckedProvenance checked, check(rule.keyring->bytes, {}, now, context));
    Status usable = check_keyring(*rule.keyring, checked);
    if (usable) continue;
    usable.error().because += fmt::format("; the rule is {} ({})", rule.match, rule.place);
    return usable;
  }
  return {};
}

Result<trust::Policy> load_trust_policy(const FileSystem& files, const config::Paths& paths) {
  return trust::Policy::load(files, paths.trust_policy(),
                             paths.named_trust_policy ? trust::Presence::Required : trust::Presence::Optional,
                             [&](const Path& file) {
                               return config::check_trusted_file(paths, file)
                                   .in("while looking whether only you can change what is trusted");
                             });
}

Result<const trust::Policy*> OciTrust::policy() {
  const std::lock_guard lock(mutex_);
  if (!policy_) {
    Result<trust::Policy> loaded = load_trust_policy(files_, paths_);
    if (!loaded) return std::move(loaded).error().with_detail(LocalFault{});
    policy_ = *std::move(loaded);
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
  // A rule that names nothing but a keyring needs no others.
  const bool only_keyring =
      verdict.rule.keyring != nullptr && verdict.rule.keys.empty() && verdict.rule.identities.empty();
  if (!only_keyring) {
    MIST_TRY(const std::vector<oci::SignatureClaim> claims,
             read_signatures(client, repository, manifest, context));
    verdict.proofs = trust::examine(claims, subject, verdict.rule);
  }
  std::shared_ptr<const trust::Keyring> keyring = verdict.rule.keyring;
  if (keyring == nullptr && trust::remembers(verdict.rule.mode)) {
    MIST_TRY(keyring, known_keyring(subject.package));
  }
  if (keyring != nullptr)
    MIST_TRY_VOID(add_provenance(repository, manifest, client, *keyring, verdict, context));
  return verdict;
}

// A manifest can't get another provenance file, so what was kept of it is all there is.
Status OciTrust::add_provenance(const oci::Repository& repository, const crypto::Digest& manifest,
                                OciSource& client, const trust::Keyring& keyring, Verdict& verdict,
                                const Context& context) {
  const trust::Subject subject{repository.identity(), manifest};
  MIST_TRY(std::optional<trust::KeptProvenance> kept, memory_.provenance_of(subject));
  if (!kept) {
    MIST_TRY(std::optional<OciChart> chart, read_oci_chart(client, repository, manifest, context));
    if (!chart) {
      verdict.missing = "provenance file: this is no chart";
      return {};
    }
    if (!chart->provenance.text || !chart->archive) {
      verdict.missing = chart->provenance.place;
      return {};
    }
    kept = trust::KeptProvenance{*std::move(chart->provenance.text), *std::move(chart->archive)};
    MIST_TRY_VOID(memory_.keep_provenance(subject, *kept));
  }
  MIST_TRY(trust::Proof proof, prove(kept->text, kept->archive, keyring, context));
  // Nothing else in it says where it belongs, so another chart of the same publisher could be put there.
  if (proof.objection.empty() && kept->archive.name != repository.name())
    proof.objection = fmt::format("it was made for the chart {}, and the repository is that of {}",
                                  escape_controls(kept->archive.name), repository.name());
  verdict.proofs.push_back(std::move(proof));
  return {};
}

Status OciTrust::check_chart_tag(const oci::Reference& exact) {
  const std::string package = exact.repository.identity();
  MIST_TRY(const trust::Rule rule, rule_for(package));
  if (rule.keyring == nullptr) {
    if (!trust::remembers(rule.mode)) return {};
    MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
    const bool is_known_by_it = std::ranges::any_of(
        remembered, [](const std::string& key) { return key.starts_with(trust::kOpenPgpPrefix); });
    if (!is_known_by_it) return {};
  }
  return check_proved_tag(exact);
}

Status OciTrust::check_proved_tag(const oci::Reference& exact) const {
  if (exact.tag.empty() || !exact.digest) return {};
  MIST_TRY(const std::optional<trust::KeptProvenance> kept,
           memory_.provenance_of({exact.repository.identity(), *exact.digest}));
  if (!kept || oci::fits_version(exact.tag, kept->archive.version)) return {};
  return error(ErrorKind::Forbidden, "{}:{} is the chart {} {}", exact.repository.str(), exact.tag,
               escape_controls(kept->archive.name), escape_controls(kept->archive.version))
      .with_because(
          "its provenance file is signed for that version, so somebody else gave it the tag of another one")
      .with_hint(fmt::format("ask whoever publishes it; if it is what you want, name its manifest: {}@{}",
                             exact.repository.str(), exact.digest->str()));
}

Result<trust::Proof> OciTrust::prove(const std::string& provenance, const trust::ChartArchive& archive,
                                     const trust::Keyring& keyring, const Context& context) {
  if (!check_provenance_) return error(ErrorKind::NotFound, "Helm's provenance files can't be read here");
  MIST_TRY(const trust::CheckedProvenance checked,
           check_provenance_(keyring.bytes, provenance, clock_.now(), context));
  MIST_TRY_VOID(check_keyring(keyring, checked));
  trust::Proof proof = trust::prove_provenance(checked, archive, keyring);
  // Later versions are held against it, if that is what the user wants (learn).
  if (proof.objection.empty() && checked.signer && !checked.signer->certificate.empty())
    MIST_TRY_VOID(memory_.keep_certificate(proof.keys.front(), checked.signer->certificate));
  return proof;
}

Result<std::shared_ptr<const trust::Keyring>> OciTrust::known_keyring(const std::string& package) const {
  std::shared_ptr<const trust::Keyring> none;
  MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
  std::vector<std::string> keys;
  for (const std::string& each : remembered)
    if (each.starts_with(trust::kOpenPgpPrefix)) keys.push_back(each);
  if (keys.empty()) return none;
  MIST_TRY(std::string bytes, memory_.certificates_of(remembered));
  const crypto::Digest digest = crypto::sha256(bytes);
  return std::make_shared<const trust::Keyring>(trust::Keyring{.file = "of what was verified before",
                                                               .bytes = std::move(bytes),
                                                               .digest = digest,
                                                               .fingerprints = std::move(keys)});
}

// The signers that are remembered after this version, by those that are now; nothing: they stay the same.
Result<std::optional<std::set<std::string>>> OciTrust::signers_after(
    const trust::Subject& subject, const std::string& package,
    const std::vector<trust::Proof>& proofs) const {
  MIST_TRY(const std::set<std::string> before, memory_.keys_of(package));
  MIST_TRY(const trust::Candidates candidates, memory_.candidates_of(package));
  MIST_TRY(std::set<std::string> after, trust::judge_remembered(before, subject, proofs, candidates));
  return after == before ? std::nullopt : std::optional(std::move(after));
}

// `written`: of a package that was judged. The next use asks again for signers that can't be remembered.
Status OciTrust::unless_read_only(const std::string& package, Status written) {
  if (written || written.error().detail<trust::ReadOnlyMemory>() == nullptr) return written;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(warned_of_memory_, true)) return {};
  }
  events_.warn(fmt::format("by whom {} is signed, or that it isn't, can't be remembered: {}; {}", package,
                           escape_controls(written.error().message), written.error().hint));
  return {};
}

Status OciTrust::record(const trust::Subject& subject, const std::vector<trust::Proof>& proofs) {
  return unless_read_only(subject.package, memory_.record(subject, proofs));
}

// Two processes may use a package for the first time at once, each a version of another signer. Only one of
// them is first, so the other one is judged again once it is its turn to write.
Status OciTrust::keep_signers(const trust::Subject& subject, const std::string& package,
                              const std::vector<trust::Proof>& proofs) {
  MIST_TRY(const auto changes, signers_after(subject, package, proofs));
  return changes ? unless_read_only(package, write_signers(subject, package, proofs)) : Status();
}

Status OciTrust::write_signers(const trust::Subject& subject, const std::string& package,
                               const std::vector<trust::Proof>& proofs) {
  MIST_TRY([[maybe_unused]] const FileLock lock, memory_.lock(package));
  MIST_TRY(const auto keys, signers_after(subject, package, proofs));
  if (!keys) return {};
  MIST_TRY(const trust::LearnedBy how, memory_.learned_by(package));
  MIST_TRY(trust::Candidates candidates, memory_.candidates_of(package));
  std::ranges::move(trust::candidates_in(proofs), std::back_inserter(candidates));
  return memory_.remember(package, *keys, how, candidates);
}

Status OciTrust::judge_known(const trust::Subject& subject, const std::string& package,
                             const std::vector<trust::Proof>& proofs) {
  MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
  if (remembered.empty()) return {};
  MIST_TRY_VOID(keep_signers(subject, package, proofs));
  return record(subject, proofs);
}

Result<bool> OciTrust::was_examined(const trust::Subject& subject) const {
  MIST_TRY(const std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  return known.has_value();
}

Status OciTrust::judge_here(const trust::Subject& subject, const std::string& package,
                            const std::vector<trust::Proof>& proofs) {
  MIST_TRY(const trust::Rule rule, rule_for(package));
  if (!trust::remembers(rule.mode)) return {};
  MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
  MIST_TRY(const bool is_known, was_examined(subject));
  if (remembered.empty() || is_known) return {};
  const auto judged = trust::judge_remembered(remembered, subject, proofs);
  return judged ? Status() : Status(judged.error());
}

Status OciTrust::learn_chart(const trust::Subject& subject, const std::string& package,
                             const std::vector<trust::Proof>& proofs) {
  MIST_TRY(const trust::Rule rule, rule_for(package));
  if (!trust::remembers(rule.mode)) return {};
  return remember_unknown(subject, package, {trust::keys_in(proofs), proofs});
}

Status OciTrust::remember_signers(const trust::Subject& subject, const std::string& package,
                                  const std::vector<trust::Proof>& proofs) {
  MIST_TRY([[maybe_unused]] const FileLock lock, memory_.lock(package));
  return remember(subject, package, {trust::keys_in(proofs), proofs});
}

// Succeeds if the manifest may be used.
Result<Examined> OciTrust::examine_verdict(const trust::Subject& subject, const Verdict& verdict) const {
  Examined found{.proofs = verdict.proofs};
  if (verdict.rule.mode == trust::Mode::Require)
    MIST_TRY_VOID(
        trust::judge_required(verdict.rule, subject, verdict.proofs, clock_.now(), verdict.missing));
  found.by_memory = verdict.rule.mode == trust::Mode::Remember ||
                    (verdict.rule.mode == trust::Mode::Known && !verdict.remembered.empty());
  if (found.by_memory) MIST_TRY_VOID(trust::judge_remembered(verdict.remembered, subject, verdict.proofs));
  if (verdict.rule.mode == trust::Mode::Remember) MIST_TRY_VOID(hold_to_record(subject, verdict.proofs));
  return found;
}

bool OciTrust::holds_to_record(const trust::Subject& subject, const trust::Rule& rule,
                               const std::vector<trust::Proof>& proofs) const {
  return rule.mode != trust::Mode::Remember || hold_to_record(subject, proofs).ok();
}

Status OciTrust::hold_to_record(const trust::Subject& subject,
                                const std::vector<trust::Proof>& proofs) const {
  const auto recorded = recorded_.find(subject.package);
  if (recorded == recorded_.end() || !trust::still_signing(recorded->second, proofs).empty()) return {};
  MIST_TRY(const trust::LearnedBy how, memory_.learned_by(subject.package));
  if (how == trust::LearnedBy::Verifying) return {};
  const std::string signers = trust::signers_text(proofs);
  return error(ErrorKind::Conflict, "{}@{} is {}, and what the release runs of it is signed by {}",
               subject.package, subject.manifest.str(),
               signers.empty() ? "not signed" : "signed by " + signers, trust::keys_text(recorded->second))
      .with_because("the record of the release says so")
      .with_hint(std::string(kHowToChangeSigners));
}

Result<std::optional<UsedSigners>> OciTrust::signers_of(const trust::Subject& subject) {
  MIST_TRY(const trust::Rule rule, rule_for(subject.package));
  if (rule.mode != trust::Mode::Remember) return std::optional<UsedSigners>();
  MIST_TRY(std::set<std::string> signers, memory_.keys_of(subject.package));
  MIST_TRY(const std::optional<std::vector<trust::Proof>> proofs, memory_.proofs_of(subject));
  if (proofs) signers = trust::still_signing(signers, *proofs);
  std::erase_if(signers, [](const std::string& each) { return each.starts_with(trust::kOpenPgpPrefix); });
  MIST_TRY(const trust::LearnedBy how, memory_.learned_by(subject.package));
  return std::optional(UsedSigners{std::move(signers), how == trust::LearnedBy::Verifying});
}

Status OciTrust::judge(const oci::Repository& repository, const crypto::Digest& manifest,
                       const Verdict& verdict) {
  const trust::Subject subject{repository.identity(), manifest};
  MIST_TRY(const Examined found, examine_verdict(subject, verdict));
  const bool narrows = found.by_memory && !verdict.remembered.empty();
  return narrows ? keep_signers(subject, subject.package, verdict.proofs) : Status();
}

// Against the signers that are remembered now: another process may have learned some meanwhile.
Status OciTrust::keep(const oci::Repository& repository, const crypto::Digest& manifest,
                      const Examined& found) {
  if (!found.proofs) return {};
  const trust::Subject subject{repository.identity(), manifest};
  if (found.by_memory) MIST_TRY_VOID(keep_signers(subject, subject.package, *found.proofs));
  return record(subject, *found.proofs);
}

// The signers that may be remembered, and their proofs. Anybody who may write to the registry can add a valid
// signature of their own, so beside a signer that the user vouched for nobody else counts.
Result<OciTrust::Memorable> OciTrust::memorable(const std::string& package, const Verdict& verdict) {
  MIST_TRY(const trust::Rule rule, rule_for(package));
  const bool names_signers = verdict.rule.mode == trust::Mode::Require;
  Memorable what{
      .signers = {},
      .proofs = names_signers ? trust::proofs_of_named(verdict.rule, verdict.proofs) : verdict.proofs};
  // An identity that only a flag's trust root proved could not be told again by any other verb.
  if (rule.root == nullptr)
    std::erase_if(what.proofs, [](const trust::Proof& proof) { return proof.identity.has_value(); });
  what.signers =
      names_signers ? trust::signers_named(verdict.rule, what.proofs) : trust::keys_in(what.proofs);
  return what;
}

Status OciTrust::remember(const trust::Subject& subject, const std::string& package,
                          const Memorable& what) const {
  MIST_TRY_VOID(memory_.remember(package, what.signers, trust::LearnedBy::Verifying,
                                 trust::candidates_in(what.proofs)));
  return memory_.record(subject, what.proofs);
}

// Unless somebody is remembered by now.
Status OciTrust::remember_unknown(const trust::Subject& subject, const std::string& package,
                                  const Memorable& what) {
  const auto written = [&]() -> Status {
    MIST_TRY([[maybe_unused]] const FileLock lock, memory_.lock(package));
    MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
    return remembered.empty() ? remember(subject, package, what) : Status();
  };
  return unless_read_only(package, written());
}

Status OciTrust::learn(const oci::Repository& repository, const crypto::Digest& manifest,
                       const Verdict& verdict) {
  const std::string package = repository.identity();
  MIST_TRY(const trust::Rule rule, rule_for(package));
  MIST_TRY(const Memorable what, memorable(package, verdict));
  if (!trust::remembers(rule.mode) || !verdict.remembered.empty() || what.signers.empty()) return {};
  return remember_unknown({package, manifest}, package, what);
}

Status OciTrust::accept(const oci::Repository& repository, const crypto::Digest& manifest,
                        const Verdict& verdict) {
  const std::string package = repository.identity();
  MIST_TRY(const Memorable what, memorable(package, verdict));
  // Nothing would mean that the package is unsigned.
  if (verdict.rule.mode == trust::Mode::Require && what.signers.empty())
    return error(ErrorKind::Invalid, "no signer of {} that was named can be remembered", package)
        .with_because("an identity is remembered under the trust root of the trust policy, which has none")
        .with_hint("write spec.trustRoot in trust.yaml (docs/trust.md)");
  MIST_TRY([[maybe_unused]] const FileLock lock, memory_.lock(package));
  return remember({package, manifest}, package, what);
}

Result<std::optional<Verdict>> OciTrust::recorded(const oci::Repository& repository,
                                                  const crypto::Digest& manifest) {
  return recorded({repository.identity(), manifest}, repository.identity());
}

Result<std::optional<Verdict>> OciTrust::recorded(const trust::Subject& subject, const std::string& package) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  MIST_TRY(std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  if (!known) return std::optional<Verdict>();
  Verdict verdict{.rule = policy->rule_for(package), .proofs = *std::move(known), .remembered = {}};
  MIST_TRY(verdict.remembered, memory_.keys_of(package));
  trust::name_keys(verdict.proofs, verdict.rule.keys);
  return std::optional(std::move(verdict));
}

Result<trust::Rule> OciTrust::rule_for(const std::string& package) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  return policy->rule_for(package);
}

Result<bool> OciTrust::looks_at(const std::string& package, NewSigners signers) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  const trust::Mode mode = policy->rule_for(package).mode;
  if (!trust::remembers(mode)) return mode != trust::Mode::Ignore;
  if (mode == trust::Mode::Remember && (signers == NewSigners::Remember || recorded_.contains(package)))
    return true;
  MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
  return !remembered.empty();
}

Result<bool> OciTrust::suffices(const trust::Subject& subject, const trust::Rule& rule) {
  MIST_TRY(const std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  return known && rule.mode == trust::Mode::Require &&
         trust::judge_required(rule, subject, *known, clock_.now()).ok();
}

Status OciTrust::judge_and_record(const trust::Subject& subject, const trust::Rule& rule,
                                  const std::vector<trust::Proof>& proofs, std::string_view missing) {
  MIST_TRY_VOID(trust::judge_required(rule, subject, proofs, clock_.now(), missing));
  return record(subject, proofs);
}

Status OciTrust::check(const oci::Repository& repository, const crypto::Digest& manifest,
                       const FindClient& client, NewSigners signers, const Context& context) {
  MIST_TRY(const Examined found, examine(repository, manifest, client, signers, context));
  return keep(repository, manifest, found);
}

Result<Examined> OciTrust::examine(const oci::Repository& repository, const crypto::Digest& manifest,
                                   const FindClient& client, NewSigners signers, const Context& context) {
  MIST_TRY(const trust::Policy* const policy, this->policy());
  const trust::Subject subject{repository.identity(), manifest};
  const trust::Rule& rule = policy->rule_for(subject.package);
  MIST_TRY(const bool counts, looks_at(subject.package, signers));
  if (!counts) return Examined();
  MIST_TRY(const std::optional<std::vector<trust::Proof>> known, memory_.proofs_of(subject));
  // These very bytes were used before, and nobody asked for more since.
  if (known && trust::remembers(rule.mode) && holds_to_record(subject, rule, *known)) return Examined();
  // A manifest whose known signatures don't suffice may have been signed since.
  MIST_TRY(const bool is_known, suffices(subject, rule));
  if (is_known) return Examined();
  MIST_TRY(OciSource* const open, client());
  OciSource* const registry = open->behind(repository);
  MIST_TRY(const bool is_new, is_known_by_none(subject.package, rule));
  if (is_new && registry != nullptr) {
    MIST_TRY(std::optional<Examined> settled, first_use(repository, manifest, *registry, context));
    if (settled) return *std::move(settled);
  } else if (is_new && is_away(repository.host)) {
    Error silent = error(ErrorKind::Retryable, "{} did not answer before", repository.host);
    if (recorded_.contains(subject.package)) return needed_signatures(subject.package, std::move(silent));
    return unknown_signers(repository, silent.message);
  }
  const bool is_provisional = is_new && registry != nullptr;
  Result<Verdict> verdict = is_new ? look_in_time(repository, manifest, *open, context)
                                   : look(repository, manifest, *open, nullptr, context);
  if (!verdict) {
    MIST_TRY_VOID(context.check());
    // Another process may have learned some meanwhile.
    MIST_TRY(const bool is_still_new, is_known_by_none(subject.package, rule));
    const bool is_local = verdict.error().detail<LocalFault>() != nullptr;
    if (is_local) return std::move(verdict).error();
    if (!is_new || !is_still_new || recorded_.contains(subject.package))
      return needed_signatures(subject.package, std::move(verdict).error());
    return unknown_signers(repository, verdict.error().message);
  }
  Result<Examined> found = examine_verdict(subject, *verdict);
  // That a mirror has no signature proves nothing, so the registry is asked again the next time.
  if (found && is_provisional && trust::keys_in(verdict->proofs).empty()) return Examined();
  if (found || registry == nullptr) return found;
  return examine_at_registry(repository, manifest, *registry, std::move(found).error(), context);
}

Result<bool> OciTrust::is_known_by_none(const std::string& package, const trust::Rule& rule) const {
  if (rule.mode != trust::Mode::Remember) return false;
  MIST_TRY(const std::set<std::string> remembered, memory_.keys_of(package));
  return remembered.empty();
}

// Nobody relies on its signatures yet, so a registry that doesn't tell them keeps nobody from using it.
Examined OciTrust::unknown_signers(const oci::Repository& repository, std::string_view why) {
  events_.warn(
      fmt::format("whether {} is signed could not be asked: {}; it is used, and no signer is remembered",
                  repository.str(), escape_controls(why)));
  return {};
}

// A registry that didn't answer isn't waited for again.
Result<Verdict> OciTrust::look_in_time(const oci::Repository& repository, const crypto::Digest& manifest,
                                       OciSource& client, const Context& context) {
  Result<Verdict> verdict =
      look(repository, manifest, client, nullptr, context.with_timeout(kRegistryPatience));
  if (!verdict && verdict.error().kind == ErrorKind::Timeout && context.check().ok())
    note_away(repository.host);
  return verdict;
}

bool OciTrust::is_away(const std::string& host) {
  const std::lock_guard lock(mutex_);
  return away_.contains(host);
}

void OciTrust::note_away(const std::string& host) {
  const std::lock_guard lock(mutex_);
  away_.insert(host);
}

Result<OciTrust::AtRegistry> OciTrust::look_at_registry(const oci::Repository& repository,
                                                        const crypto::Digest& manifest, OciSource& registry,
                                                        const Context& context) {
  MIST_TRY(Verdict verdict, look(repository, manifest, registry, nullptr, context));
  if (!trust::keys_in(verdict.proofs).empty()) return AtRegistry{std::move(verdict)};
  MIST_TRY(const std::optional<crypto::Digest> there,
           registry.read_digest(repository, manifest.str(), context));
  return AtRegistry{std::move(verdict), there.has_value()};
}

// By the registry's own word, since nothing is remembered that a mirror's could be held against. Nothing: it
// can't be asked.
Result<std::optional<Examined>> OciTrust::first_use(const oci::Repository& repository,
                                                    const crypto::Digest& manifest, OciSource& registry,
                                                    const Context& context) {
  if (is_away(repository.host)) return std::optional<Examined>();
  const Result<AtRegistry> found =
      look_at_registry(repository, manifest, registry, context.with_timeout(kRegistryPatience));
  if (!found) {
    MIST_TRY_VOID(context.check());
    if (!cannot_be_asked(found.error())) return found.error();
    // A package that one user may not read says nothing of the registry's other packages.
    if (found.error().kind == ErrorKind::Retryable || found.error().kind == ErrorKind::Timeout)
      note_away(repository.host);
    events_.warn(fmt::format("{} could not be asked for signatures, so those of its mirror count: {}",
                             repository.host, escape_controls(found.error().message)));
    return std::optional<Examined>();
  }
  // A mirror may have changed the manifest, and so lost the signatures of the real one.
  if (!found->has_manifest)
    return error(ErrorKind::Conflict, "{}@{} comes from a mirror, and {} doesn't have it", repository.str(),
                 manifest.str(), repository.host)
        .with_because(
            fmt::format("it may be another package than was published: {} has no signature of it either",
                        repository.host))
        .with_hint(
            "ask whoever runs the mirror; to trust the mirror itself: mistctl registry mirror add REGISTRY "
            "PLACE --mirrors-only");
  MIST_TRY(Examined settled, examine_verdict({repository.identity(), manifest}, found->verdict));
  return std::optional(std::move(settled));
}

// It may have been signed since it was mirrored. `refused`: what a mirror's signatures gave.
Result<Examined> OciTrust::examine_at_registry(const oci::Repository& repository,
                                               const crypto::Digest& manifest, OciSource& registry,
                                               Error refused, const Context& context) {
  const Result<Verdict> verdict = look(repository, manifest, registry, nullptr, context);
  if (!verdict) {
    MIST_TRY_VOID(context.check());
    refused.because +=
        fmt::format("{}a mirror says so, and {} can't be asked: {}", refused.because.empty() ? "" : "; ",
                    repository.host, escape_controls(verdict.error().message));
    return refused;
  }
  return examine_verdict({repository.identity(), manifest}, *verdict);
}

}  // namespace mist::registry
