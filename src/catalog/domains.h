#pragma once
// Domains of the DNS that accounts have proved to be theirs, by a TXT record that only its owner can make.
// Packages of the account show them. They are looked at again each day, for domains change hands: one whose
// record isn't there several days in a row lapses, and its account sees that and why. Any thread.

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "catalog/account_store.h"
#include "catalog/author_actions.h"
#include "catalog/rate_limit.h"
#include "http/txt_records.h"

namespace mist::catalog {

/// The record that proves that `domain` is the account's.
struct DomainProof {
  std::string name;  ///< "_mistletoe-catalog.example.com"
  std::string text;  ///< "https://catalog.example.com account=ann"
};
DomainProof domain_proof(const std::string& domain, const std::string& account, const std::string& url);

class DomainActions {
 public:
  struct Dependencies {
    AccountStore& accounts;
    const Clock& clock;
    http::TxtResolver resolve;
    std::string url;  ///< of the catalog
  };
  static constexpr int kMostDomains = 20;  ///< of an account
  static constexpr Duration kBetweenChecks = std::chrono::days(1);
  /// While no name server answers, a domain stays for so long; then it lapses.
  static constexpr Duration kPatience = std::chrono::days(7);
  explicit DomainActions(Dependencies dependencies);

  /// Before each claim: 0, or the seconds until it may be made.
  int wait_for(const Actor& actor) { return proofs_.wait_for(actor.account.name); }
  /// Asks for a proof; look_at_claims() looks, as name servers may take long. Invalid: it is no domain.
  /// Conflict: the account has very many. Returns its name as it is kept. A domain that was proved before
  /// stays so, whatever is found now.
  Result<std::string> claim(const Actor& actor, const std::string& domain);
  /// Takes back the claim of the domain; without one, removes the domain. Names are as for claim(). NotFound:
  /// the account has neither.
  Status remove(const Actor& actor, const std::string& domain);
  static constexpr int kClaimsAtOnce = 200;
  /// Looks up the open claims, one of each account after the other, so that nobody's many hold up another's.
  /// Proved ones become domains; the others say why not. True: there were some. One thread.
  Result<bool> look_at_claims();
  /// Waits until somebody claims a domain, `longest` has passed, or `stop` is requested. Another instance's
  /// claims, or those of a process that was killed, are found after `longest`.
  void wait_for_claims(Duration longest, const std::stop_token& stop);
  static constexpr int kChecksAtOnce = 100;
  /// Looks at some whose time has come, and lets those lapse whose record is gone. The next call continues
  /// after them, for name servers that don't answer leave theirs due. True: there may be more. One thread.
  Result<bool> check_again();

 private:
  Status check(const std::string& domain, const std::string& account);
  Status check_again(const OwnDomain& due);
  Status look_at(const DomainClaim& claim);

  Dependencies dependencies_;
  RateLimit proofs_;
  std::mutex mutex_;  // guards is_claimed_
  std::condition_variable_any claimed_;
  bool is_claimed_ = false;
  OwnDomain last_checked_;  // of the round that isn't over
};

}  // namespace mist::catalog
