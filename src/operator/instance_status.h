#pragma once
// Writes the status of instances, also where a CRD has changed since and the status that is there doesn't
// have the types of its schema any more: the server can't apply anything to such an object, neither a new
// status nor the removal of a finalizer, so that nobody could change it or delete it. Blocking; any thread.

#include <string>

#include "kube/client.h"
#include "operator/words.h"

namespace mist::operator_ {

/// Applies `status`; where what is there is unreadable (kube::is_live_unreadable()), a merge patch removes
/// that before, so that for a moment there is none. `identity`: apiVersion, kind, name and uid. Returns the
/// answer. Errors: of the requests.
Result<Value> put_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                         const Value& status, const Context& context);

}  // namespace mist::operator_
