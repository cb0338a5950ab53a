#pragma once
// Everything that a catalog keeps of an account, for its owner. Any thread.

#include <string>

#include "base/result.h"
#include "catalog/account_store.h"
#include "catalog/feedback_store.h"
#include "catalog/store.h"
#include "encoding/value.h"

namespace mist::catalog {

/// Without anything that lets somebody in: no hashes, digests or secrets. NotFound.
Result<encoding::Value> account_data(Store& store, AccountStore& accounts, FeedbackStore& feedback,
                                     const std::string& name);

}  // namespace mist::catalog
