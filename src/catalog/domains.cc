#include "catalog/domains.h"

#include <algorithm>

#include "base/text.h"
#include "catalog/audit_words.h"
#include "catalog/place.h"

namespace mist::catalog {
namespace {

// Of an account: ten at once, then one in a minute. Each may keep a thread for some seconds.
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

}  // namespace

DomainProof domain_proof(const std::string& domain, const std::string& account, const std::string& url) {
  // The account is named, so nobody can use the record of another; a name is never given to a second account.
  return {.name = "_mistletoe-catalog." + domain, .text = fmt::format("{} account={}", url, account)};
}

DomainActions::DomainActions(Dependencies dependencies)
    : dependencies_(std::move(dependencies)), proofs_(dependencies_.clock, kProofsRate, kProofsBurst) {}

Result<std::string> DomainActions::prove(const Actor& actor, const std::string& domain) {
  std::string name = lower_case(trim(domain));
  if (name.ends_with('.')) name.pop_back();
  if (!is_domain(name))
    return error(ErrorKind::Invalid, "{} is no domain", escape_controls(domain.substr(0, 300)));
  MIST_TRY(const std::vector<OwnDomain> known, dependencies_.accounts.domains(actor.account.name));
  const auto before = std::ranges::find(known, name, &OwnDomain::domain);
  const bool is_new = before == known.end();
  if (is_new && known.size() >= kMostDomains)
    return error(ErrorKind::Conflict, "{} has {} domains", actor.account.name, known.size());
  {
    const Place place(free_);
    if (!place.taken())
      return error(ErrorKind::Retryable, "another domain is looked up just now")
          .with_hint("try again in a moment");
    MIST_TRY_VOID(check(name, actor.account.name));
  }
  MIST_TRY_VOID(dependencies_.accounts.keep_domain(
      actor.account.name, name,
      is_new || before->has_lapsed() ? Audit(entry_of(actor, kAuditProveDomain, name)) : Audit()));
  return name;
}

Status DomainActions::remove(const Actor& actor, const std::string& domain) {
  return dependencies_.accounts.remove_domain(actor.account.name, domain,
                                              entry_of(actor, kAuditRemoveDomain, domain));
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

Status DomainActions::check_again() {
  const WallTime before =
      dependencies_.clock.now() - std::chrono::duration_cast<WallTime::duration>(kBetweenChecks);
  MIST_TRY(const std::vector<OwnDomain> due,
           dependencies_.accounts.due_domains(before, last_checked_, kChecksAtOnce));
  last_checked_ = std::ssize(due) < kChecksAtOnce ? OwnDomain() : due.back();
  for (const OwnDomain& each : due) {
    Status checked = check_again(each);
    // NotFound: its owner removed it meanwhile.
    if (!checked.ok() && checked.error().kind != ErrorKind::NotFound) return checked;
  }
  return {};
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
  return dependencies_.accounts.note_missing_domain(due.account, due.domain, failures, audit);
}

}  // namespace mist::catalog
