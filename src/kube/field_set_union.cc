#include "kube/field_set_union.h"

namespace mist::kube {
namespace {

using encoding::Value;

// Both are fieldsV1 of one place. A leaf owns the place; beside children that is spelled as the member ".".
void add_fields(Value& to, const Value& more) {
  if (!to.is_object()) to = Value::object();
  const bool to_leaf = to.empty(), more_leaf = more.empty();
  if (more_leaf) {
    if (!to_leaf) to.set(".", Value::object());
    return;
  }
  for (const Value::Member& member : more.as_object()) {
    if (Value* known = to.find(member.key))
      add_fields(*known, member.value);
    else
      to.set(member.key, member.value);
  }
  if (to_leaf) to.set(".", Value::object());
}

}  // namespace

void add_field_set(Value& to, const Value& more) {
  if (!more.is_object() || more.empty()) return;
  if (!to.is_object() || to.empty())
    to = more;
  else
    add_fields(to, more);
}

}  // namespace mist::kube
