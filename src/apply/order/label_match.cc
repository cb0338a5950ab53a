#include "apply/order/label_match.h"

#include <algorithm>

namespace mist::apply {

using encoding::Value;

namespace {

const Value* label(const Value* labels, std::string_view key) {
  return labels == nullptr ? nullptr : labels->find(key);
}

bool has_all(const Value& map, const Value* labels) {
  if (!map.is_object()) return map.is_null();
  return std::ranges::all_of(map.as_object(), [&](const Value::Member& wanted) {
    const Value* there = label(labels, wanted.key);
    return there != nullptr && *there == wanted.value;
  });
}

bool holds(const Value& expression, const Value* labels) {
  const Value* there = label(labels, expression.string_at("key"));
  const Value* values = expression.find("values");
  const bool among = there != nullptr && values != nullptr && values->is_array() &&
                     std::ranges::find(values->as_array(), *there) != values->as_array().end();
  const std::string_view op = expression.string_at("operator");
  if (op == "In") return among;
  if (op == "NotIn") return !among;
  if (op == "Exists") return there != nullptr;
  return op == "DoesNotExist" && there == nullptr;
}

}  // namespace

bool selects(const Value& selector, const Value* labels) {
  if (const Value* map = selector.find("matchLabels"); map != nullptr && !has_all(*map, labels)) return false;
  const Value* expressions = selector.find("matchExpressions");
  return expressions == nullptr || !expressions->is_array() ||
         std::ranges::all_of(expressions->as_array(),
                             [&](const Value& expression) { return holds(expression, labels); });
}

bool selects_by_map(const Value& map, const Value* labels) {
  return map.is_object() && map.size() > 0 && has_all(map, labels);
}

}  // namespace mist::apply
