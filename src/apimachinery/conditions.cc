#include "apimachinery/conditions.h"

#include <algorithm>

namespace mist::apimachinery {

using encoding::Value;

namespace {

template <typename Is>
const Value* first_condition(const Value& object, Is is) {
  const Value* const conditions = object.at_path({"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  const auto found = std::ranges::find_if(conditions->as_array(), is);
  return found == conditions->as_array().end() ? nullptr : &*found;
}

}  // namespace

const Value* condition_of(const Value& object, std::string_view type) {
  return first_condition(object, [&](const Value& each) { return each.string_at("type") == type; });
}

const Value* true_condition(const Value& object, std::string_view type) {
  return first_condition(object, [&](const Value& each) {
    return each.string_at("type") == type && each.string_at("status") == "True";
  });
}

}  // namespace mist::apimachinery
