#pragma once
// metadata.managedFields: whose a field is. An entry has its fields as a set in the form fieldsV1. Pure; any
// thread.

#include <string_view>

#include "encoding/value.h"

namespace mist::apimachinery {

/// The entries of an object; empty if it has none.
const encoding::Value::Array& managed_fields(const encoding::Value& object);

/// Whether an entry is what `manager` applied (server-side apply), and not through a subresource.
bool is_applied_by(const encoding::Value& entry, std::string_view manager);

/// Drops from each entry what doesn't say whose a field is: when and in which version it was written.
void keep_field_owners(encoding::Value& object);

/// `to` owns what either owns. Both are whole sets, of the whole object; null: the empty set.
void add_field_set(encoding::Value& to, const encoding::Value& more);

/// The part of `fields` that `known` doesn't have. Both are sets of one place. A place that has nothing left
/// below it goes too. The work is linear.
encoding::Value field_set_without(const encoding::Value& fields, const encoding::Value& known);

}  // namespace mist::apimachinery
