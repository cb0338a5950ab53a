// Who owns which field, as a server, or whoever wrote an object, has it: two sets on two lines, and an object
// that is compared with another.
#include "apimachinery/managed_fields.h"

#include <algorithm>

#include "apply/fields/difference.h"
#include "encoding/json.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

encoding::Value value_of(std::string_view text) {
  auto value = encoding::parse_json(text);
  return value.ok() ? *std::move(value) : encoding::Value();
}

// What a server keeps; anything may be sent.
bool is_set(const encoding::Value& fields) {
  return fields.is_object() &&
         std::ranges::all_of(fields.as_object(), [](const auto& each) { return is_set(each.value); });
}

}  // namespace

void managed_fields(std::string_view bytes) {
  using encoding::Value;
  Input input(bytes);
  const Value one = value_of(input.line()), two = value_of(input.line());
  Value both = one;
  apimachinery::add_field_set(both, two);
  Value again = both;
  apimachinery::add_field_set(again, two);
  if (is_set(one) && is_set(two) && again != both)
    fail("joined again it is another", encoding::to_json(both));
  (void)apimachinery::field_set_without(both, one);

  const Value desired = value_of(input.line());
  Value live = value_of(input.line());
  if (!desired.is_object() || !live.is_object()) return;
  for (const Value& entry : apimachinery::managed_fields(live))
    (void)apimachinery::is_applied_by(entry, "mistctl");
  const auto differences = apply::differences(desired, live, "mistctl");
  (void)apply::with_differences(live, differences);
}

}  // namespace mist::fuzz
