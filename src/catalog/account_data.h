#pragma once
// Everything that a catalog keeps of an account, for its owner. Any thread.

#include <string>

#include "base/result.h"
#include "catalog/account_store.h"
#include "catalog/feedback_store.h"
#include "catalog/passkey_store.h"
#include "catalog/store.h"
#include "encoding/value.h"

namespace mist::catalog {

struct AccountStores {
  Store& store;
  AccountStore& accounts;
  FeedbackStore& feedback;
  PasskeyStore* passkeys = nullptr;  ///< null: accounts have none
};
/// Without anything that lets somebody in: no hashes, digests or secrets. NotFound.
Result<encoding::Value> account_data(const AccountStores& stores, const std::string& name);

}  // namespace mist::catalog
