#pragma once
// Changes that administrators make to accounts, each written to the audit log. The caller has checked that
// the actor is an administrator. Any thread. Errors: NotFound, Conflict, and those of the stores.

#include <string>

#include "catalog/account_store.h"
#include "catalog/author_actions.h"
#include "catalog/model.h"

namespace mist::catalog {

class AdminActions {
 public:
  explicit AdminActions(AccountStore& accounts) : accounts_(accounts) {}

  /// Ends the account's sessions. Conflict: it is the actor's own, so that the last administrator doesn't
  /// lock themselves out.
  Status set_role(const Actor& actor, const std::string& name, Role role);
  /// Disabling ends its sessions and tokens at once. Conflict as set_role.
  Status set_disabled(const Actor& actor, const std::string& name, bool disabled);

 private:
  AccountStore& accounts_;
};

}  // namespace mist::catalog
