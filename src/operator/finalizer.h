#pragma once
// Takes the operator's finalizer from what it held: instances and blueprints. Blocking; any thread.

#include <string_view>

#include "kube/client.h"
#include "operator/words.h"

namespace mist::operator_ {

/// Gives up all that the operator applied to the object: its finalizer, and `annotation`. Where another field
/// manager has these too, as one does that restored the object from a backup, that leaves them there, and a
/// patch removes them. So it does where the server can apply nothing (kube::is_live_unreadable()).
/// `identity`: its apiVersion, kind, name and uid. Returns the answer, which doesn't have the finalizer.
/// Errors: of the requests; Conflict: another object has the name, or somebody puts the finalizer back each
/// time.
Result<Value> remove_finalizer(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                               std::string_view annotation, const Context& context);

}  // namespace mist::operator_
