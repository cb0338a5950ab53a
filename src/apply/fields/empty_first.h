#pragma once
// Emptying lists and maps of custom resources. Server-side apply takes their items away one by one, and with
// the last one the field itself: the server then fills in its default, or refuses the object because a map
// is null. So a patch empties them first, and the apply finds them as wanted. In the built-in kinds an empty
// list is the same as none.

#include <vector>

#include "apply/fields/difference.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// Those that only a patch can make so. Pure.
std::vector<FieldDifference> emptied_among(const std::vector<FieldDifference>& differences);

/// The merge patch that carries them out on exactly this object, whatever its version. Pure.
Value emptying_patch(const Value& live, const std::vector<FieldDifference>& emptied);

/// Carries them out on `live` as it was read, and returns the object afterwards. Nobody owns what is empty,
/// and nothing that the server fills in on the way becomes ours. Blocking. Errors: Conflict, if the object
/// was written meanwhile; those of the requests.
Result<Value> empty_fields(kube::Client& client, const kube::ObjectRef& ref, const Value& live,
                           const std::vector<FieldDifference>& emptied, const Context& context);

}  // namespace mist::apply
