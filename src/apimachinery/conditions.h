#pragma once
// status.conditions of an object (metav1.Condition). Pure; any thread.

#include <string_view>

#include "encoding/value.h"

namespace mist::apimachinery {

/// The object's condition of that type, which lives as long as the object; null: it has none.
const encoding::Value* condition_of(const encoding::Value& object, std::string_view type);
/// The same, if its status is "True".
const encoding::Value* true_condition(const encoding::Value& object, std::string_view type);

}  // namespace mist::apimachinery
