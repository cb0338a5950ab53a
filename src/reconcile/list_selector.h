#pragma once
// Which objects a list node selects: from what its function gives to the label selector of a LIST. Pure; any
// thread.

#include <string>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::reconcile {

/// `made`: `labels`, a record of texts, and `selector`, a metav1.LabelSelector (`matchLabels`,
/// `matchExpressions`); all that they ask for together. Gives "a=b,c in (x,y),d notin (z),e,!f", equalities
/// first; empty: all objects. Errors: Invalid; one that means something else than its function says would
/// select other objects.
Result<std::string> list_selector(const encoding::Value& made);

}  // namespace mist::reconcile
