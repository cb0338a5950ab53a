#pragma once
// Whether we may do something, as the server's authorization says (SelfSubjectAccessReview). An answer 403
// alone doesn't tell: admission refuses with it too. Blocking; any thread.

#include <string_view>

#include "kube/client.h"

namespace mist::kube {

/// One request. `verb`: "patch", "create", …
Result<bool> may(Client& client, std::string_view verb, const ObjectRef& ref, const Context& context);

}  // namespace mist::kube
