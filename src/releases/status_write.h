#pragma once
// Writes the status of a Release, also where the cluster's CRD is of an older operator: nothing updates the
// CRD with the operator, and the server refuses a whole status for one field that it doesn't know. Then
// nobody would learn what became of the Release, and the count of failures would be lost with the operator.
// Blocking; any thread.

#include "kube/client.h"
#include "releases/status.h"

namespace mist::releases {

struct StatusWritten {
  Value object;               ///< the answer
  bool is_crd_older = false;  ///< fields of later ones were left out
};

/// Applies `status`; without the fields of later CRDs where the server doesn't know some field. `identity`:
/// apiVersion, kind, name and uid. Errors: of the requests.
Result<StatusWritten> write_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                                   const Value& status, const Context& context);

}  // namespace mist::releases
