#include "catalog/domains.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "catalog/audit_words.h"

namespace mist::catalog {
namespace {

// Of an account: ten at once, then one in a minute. Each may keep the one that looks busy for some seconds.
constexpr double kProofsRate = 1.0 / 60;
constexpr double kProofsBurst = 10;

// The record's name must still be one.
constexpr std::size_t kLongestDomain = 230;

bool is_domain(const std::string& text) {
  if (text.size() > kLongestDomain || !is_dns1123_subdomain(text)) return false;
  const auto dot = text.rfind('.');
  // An IPv4 address isn't one.
  return dot != text.npos &&
         std::ranges::any_of(text.substr(dot + 1), [](char c) { return c >= 'a' && c <= 'z'; });
}

// As it is kept.
std::string domain_name(std::string_view text) {
  std::string name = lower_case(trim(text));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

}  // namespace

DomainProof domain_proof(const std::string& domain, const std::string& account, const std::string& url) {
  // The account is named, so nobody can use the record of another; a name is never given to a second account.
  return {.name = "_mistletoe-catalog." + domain, .text = fmt::format("{} account={}", url, account)};
}

DomainActions::DomainActions(Dependencies dependencies)
    : dependencies_(std::move(dependencies)), proofs_(dependencies_.clock, kProofsRate, kProofsBurst) {}

Result<std::string> DomainActions::claim(const Actor& actor, const std::string& domain) {
  std::string name = domain_name(domain);
  if (!is_domain(name))
    return error(ErrorKind::Invalid, "{} is no domain", escape_controls(domain.substr(0, 300)));
  MIST_TRY(const std::vector<OwnDomain> known, dependencies_.accounts.domains(actor.account.name));
  MIST_TRY(const std::vector<DomainClaim> claims, dependencies_.accounts.domain_claims(actor.account.name));
  std::set<std::string> all;
  for (const OwnDomain& each : known) all.insert(each.domain);
  for (const DomainClaim& each : claims) all.insert(each.domain);
  if (!all.contains(name) && all.size() >= kMostDomains)
    return error(ErrorKind::Conflict, "{} has {} domains", actor.account.name, all.size())
        .with_hint("remove one first");
  MIST_TRY_VOID(dependencies_.accounts.claim_domain(actor.account.name, name, actor.peer));
  {
    const std::lock_guard lock(mutex_);
    is_claimed_ = true;
  }
  claimed_.notify_all();
  return name;
}

Status DomainActions::remove(const Actor& actor, const std::string& domain) {
  const std::string name = domain_name(domain);
  Status claim = dependencies_.accounts.take_back_claim(actor.account.name, name);
  if (claim.ok() || claim.error().kind != ErrorKind::NotFound) return claim;
  return dependencies_.accounts.remove_domain(actor.account.name, name,
                                              entry_of(actor, kAuditRemoveDomain, name));
}

void DomainActions::wait_for_claims(Duration longest, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  claimed_.wait_for(lock, stop, longest, [this] { return is_claimed_; });
  is_claimed_ = false;
}

Result<bool> DomainActions::look_at_claims() {
  MIST_TRY(const std::vector<DomainClaim> open, dependencies_.accounts.open_domain_claims(kClaimsAtOnce));
  std::set<std::string> accounts;
  for (const DomainClaim& each : open) {
    if (!accounts.insert(each.account).second) continue;
    Status looked = look_at(each);
    // NotFound: its owner took it back meanwhile, or another instance has looked.
    if (!looked.ok() && looked.error().kind != ErrorKind::NotFound) return std::move(looked).error();
  }
  return !open.empty();
}

Status DomainActions::look_at(const DomainClaim& claim) {
  const Status checked = check(claim.domain, claim.account);
  if (!checked.ok())
    return dependencies_.accounts.refuse_domain(
        claim, fmt::format("{}; {}", checked.error().message, checked.error().hint));
  MIST_TRY(const std::vector<OwnDomain> known, dependencies_.accounts.domains(claim.account));
  const auto before = std::ranges::find(known, claim.domain, &OwnDomain::domain);
  const bool is_new = before == known.end() || before->has_lapsed();
  const Actor actor{.account = {.name = claim.account}, .peer = claim.peer};
  return dependencies_.accounts.grant_domain(
      claim, is_new ? Audit(entry_of(actor, kAuditProveDomain, claim.domain)) : Audit());
}

Status DomainActions::check(const std::string& domain, const std::string& account) {
  const DomainProof proof = domain_proof(domain, account, dependencies_.url);
  if (!dependencies_.resolve) return error(ErrorKind::Retryable, "domains can't be looked up here");
  const auto texts = dependencies_.resolve(proof.name);
  if (!texts.ok() && texts.error().kind != ErrorKind::NotFound)
    return error(ErrorKind::Retryable, "no name server answers for {}", proof.name)
        .with_hint("try again in a minute");
  // Other texts there are nobody's business.
  if (!texts.ok() || std::ranges::find(*texts, proof.text) == texts->end())
    return error(ErrorKind::NotFound, "{} has no TXT record \"{}\"", proof.name, proof.text)
        .with_hint("new records may take some minutes to be seen");
  return {};
}

Result<bool> DomainActions::check_again() {
  const WallTime before =
      dependencies_.clock.now() - std::chrono::duration_cast<WallTime::duration>(kBetweenChecks);
  MIST_TRY(const std::vector<OwnDomain> due,
           dependencies_.accounts.due_domains(before, last_checked_, kChecksAtOnce));
  const bool is_round_over = std::ssize(due) < kChecksAtOnce;
  last_checked_ = is_round_over ? OwnDomain() : due.back();
  for (const OwnDomain& each : due) {
    Status checked = check_again(each);
    // NotFound: its owner removed it or proved it again, or another instance has looked.
    if (!checked.ok() && checked.error().kind != ErrorKind::NotFound) return std::move(checked).error();
  }
  return !is_round_over;
}

Status DomainActions::check_again(const OwnDomain& due) {
  const Status checked = check(due.domain, due.account);
  if (checked.ok()) return dependencies_.accounts.note_domain(due.account, due.domain);
  const bool is_missing = checked.error().kind == ErrorKind::NotFound;
  const bool is_late = dependencies_.clock.now() - due.checked > kPatience;
  // Nobody answered: the next round looks again.
  if (!is_missing && !is_late) return {};
  const int failures = is_missing ? due.failures + 1 : OwnDomain::kMostFailures;
  Audit audit;
  if (failures >= OwnDomain::kMostFailures)
    audit = entry_of({.account = {.name = due.account}}, kAuditLapseDomain, due.domain);
  return dependencies_.accounts.note_missing_domain(due, failures, audit);
}

}  // namespace mist::catalog
