#include "action/query/secret_data.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "apply/fields/field_owners.h"
#include "apply/fields/field_transfer.h"
#include "encoding/member_finder.h"
#include "render/hidden_values.h"

namespace mist::action {
namespace {

using apimachinery::GroupKind;
using encoding::Value;
using render::HiddenValues;

constexpr std::array<std::string_view, 2> kDataMembers{"data", "stringData"};

void put(Value& value, std::string_view text) {
  const encoding::Position position = value.position();
  value = Value(text);
  value.set_position(position);
}

// Of one state, so that equal values stay equal and changed ones differ, whatever they are.
void mask_part(Value* part, const Value& other, std::string_view changed) {
  if (part == nullptr || part->is_null()) return;
  if (!part->is_object())
    return put(*part, other.is_null() || other == *part ? HiddenValues::kMask : changed);
  const encoding::MemberFinder others(&other);
  for (Value::Member& member : part->as_object()) {
    const Value* same = others.find(member.key);
    put(member.value, same == nullptr || *same == member.value ? HiddenValues::kMask : changed);
  }
}

void mask_last_applied(Value& object) {
  Value* metadata = object.find("metadata");
  Value* annotations = metadata == nullptr ? nullptr : metadata->find("annotations");
  Value* text = annotations == nullptr ? nullptr : annotations->find(apply::kLastAppliedAnnotation);
  if (text != nullptr) put(*text, HiddenValues::kMask);
}

}  // namespace

bool holds_secret_data(const GroupKind& kind, std::string_view path) {
  if (kind != apimachinery::kSecret) return false;
  static const std::string last_applied =
      fmt::format(".metadata.annotations[\"{}\"]", apply::kLastAppliedAnnotation);
  return apply::paths_touch(path, last_applied) ||
         std::ranges::any_of(kDataMembers, [&](std::string_view member) {
           return apply::paths_touch(path, fmt::format(".{}", member));
         });
}

void mask_secret_data(const GroupKind& kind, Value& object) {
  Value nothing;
  mask_secret_data(kind, nothing, object);
}

void mask_secret_data(const GroupKind& kind, Value& before, Value& after) {
  if (kind != apimachinery::kSecret) return;
  for (const std::string_view member : kDataMembers) {
    Value* const old_part = before.find(member);
    Value* const new_part = after.find(member);
    const Value old = old_part == nullptr ? Value() : *old_part;
    mask_part(old_part, new_part == nullptr ? Value() : *new_part, HiddenValues::kMaskBefore);
    mask_part(new_part, old, HiddenValues::kMaskAfter);
  }
  mask_last_applied(before);
  mask_last_applied(after);
}

}  // namespace mist::action
