#pragma once
// The cluster as the accounts of blueprints see it. A blueprint acts with the rights of the ServiceAccount
// that it names, so that its author gets no more than that account has; one that names none acts as the
// operator. Of each account there is one client, and one of everything that uses it, which its blueprints
// share. One thread at a time.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "kube/client.h"
#include "operator/crds.h"
#include "operator/executor.h"
#include "operator/notices.h"
#include "operator/observer.h"
#include "operator/sources.h"

namespace mist::operator_ {

/// The name of a ServiceAccount in the namespace of the blueprints; empty: the operator itself.
using Account = std::string;

/// As the API server calls it.
inline std::string user_of(const std::string& ns, const Account& account) {
  return fmt::format("system:serviceaccount:{}:{}", ns, account);
}

/// Errors: the operator can't impersonate.
using ClientOf = std::function<Result<std::shared_ptr<kube::Client>>(const Account&)>;

struct Actor {
  Actor(std::shared_ptr<kube::Client> as, const std::string& ns, const WatchedNamespaces& namespaces,
        Clock& clock, EventSink& events, const Observer::Wake& wake, std::mutex& asking, Crds::Role role,
        ConversionWebhook* webhook)
      : held(std::move(as)),
        client(*held),
        notices(client, clock, events),
        observer(client, namespaces, clock, events, wake),
        sources(client, clock, events, wake),
        crds({client, clock, events, role, webhook}, ns, wake),
        executor(client, clock, events, observer, notices, asking) {}

  const std::shared_ptr<kube::Client> held;
  kube::Client& client;
  Notices notices;
  Observer observer;
  Sources sources;
  Crds crds;
  Executor executor;

  void forget(const Item& item) {
    observer.forget(item);
    sources.forget(item);
  }
};

class Actors {
 public:
  /// `ns`: of the blueprints. `asking`: whoever uses this has it. `webhook`: null: there is none. References
  /// outlive this.
  Actors(ClientOf client_of, std::string ns, WatchedNamespaces namespaces, Clock& clock, EventSink& events,
         Observer::Wake wake, std::mutex& asking, Crds::Role role, ConversionWebhook* webhook = nullptr)
      : client_of_(std::move(client_of)),
        ns_(std::move(ns)),
        namespaces_(std::move(namespaces)),
        clock_(clock),
        events_(events),
        wake_(std::move(wake)),
        asking_(asking),
        role_(role),
        webhook_(webhook) {}

  /// References stay good. Errors: of ClientOf.
  Result<Actor*> of(const Account& account) {
    if (const auto known = actors_.find(account); known != actors_.end()) return &known->second;
    MIST_TRY(std::shared_ptr<kube::Client> client, client_of_(account));
    return &actors_
                .try_emplace(account, std::move(client), ns_, namespaces_, clock_, events_, wake_, asking_,
                             role_, webhook_)
                .first->second;
  }

  /// `item` is looked at as this account: as nobody else any more.
  void looks_as(const Item& item, const Account& account) {
    const auto [known, is_new] = accounts_.try_emplace(item, account);
    if (is_new || known->second == account) return;
    Actor& before = actors_.at(known->second);
    if (const auto now = actors_.find(account); now != actors_.end())
      now->second.sources.take_over(item, before.sources);
    before.forget(item);
    known->second = account;
  }

  /// The instance is gone.
  void forget(const Item& item) {
    const auto known = accounts_.find(item);
    if (known == accounts_.end()) return;
    actors_.at(known->second).forget(item);
    accounts_.erase(known);
  }

 private:
  const ClientOf client_of_;
  const std::string ns_;
  const WatchedNamespaces namespaces_;
  Clock& clock_;
  EventSink& events_;
  const Observer::Wake wake_;
  std::mutex& asking_;
  const Crds::Role role_;
  ConversionWebhook* const webhook_;
  std::map<Item, Account> accounts_;
  std::map<Account, Actor> actors_;
};

}  // namespace mist::operator_
