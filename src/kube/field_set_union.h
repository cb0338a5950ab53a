#pragma once
// Sets of fields as metadata.managedFields has them (fieldsV1), joined. Pure; any thread.

#include "encoding/value.h"

namespace mist::kube {

/// `to` owns what either owns. Both are whole sets, of the whole object; null: the empty set.
void add_field_set(encoding::Value& to, const encoding::Value& more);

}  // namespace mist::kube
