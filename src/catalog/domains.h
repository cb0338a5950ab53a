#pragma once
// Domains of the DNS that accounts have proved to be theirs, by a TXT record that only its owner can make.
// Packages of the account show them. They are looked at again each day, for domains change hands: one whose
// record isn't there several days in a row lapses, and its account sees that and why. Any thread.

#include <atomic>
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
  /// Of requests: each waits for name servers, and the threads that answer requests are few.
  static constexpr int kProofsAtOnce = 1;
  static constexpr Duration kBetweenChecks = std::chrono::days(1);
  /// While no name server answers, a domain stays for so long; then it lapses.
  static constexpr Duration kPatience = std::chrono::days(7);
  explicit DomainActions(Dependencies dependencies);

  /// Before each proof: 0, or the seconds until it may be tried.
  int wait_for(const Actor& actor) { return proofs_.wait_for(actor.account.name); }
  /// Invalid: it is no domain. NotFound: the record isn't there, or another. Retryable: no name server
  /// answers, or another domain is looked up just now. Conflict: the account has very many.
  /// Returns its name as it is kept. A domain that was proved before is looked at again.
  Result<std::string> prove(const Actor& actor, const std::string& domain);
  /// NotFound.
  Status remove(const Actor& actor, const std::string& domain);
  static constexpr int kChecksAtOnce = 100;
  /// Looks at some whose time has come, and lets those lapse whose record is gone. The next call continues
  /// after them, for name servers that don't answer leave theirs due. One thread.
  Status check_again();

 private:
  Status check(const std::string& domain, const std::string& account);
  Status check_again(const OwnDomain& due);

  Dependencies dependencies_;
  RateLimit proofs_;
  std::atomic<int> free_{kProofsAtOnce};
  OwnDomain last_checked_;  // of the round that isn't over
};

}  // namespace mist::catalog
