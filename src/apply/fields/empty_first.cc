#include "apply/fields/empty_first.h"

#include <algorithm>

#include "apimachinery/managed_fields.h"
#include "apply/fields/field_transfer.h"
#include "kube/lost_version.h"

namespace mist::apply {
namespace {

// Fields that we wrote otherwise than by applying.
bool is_patched_by_us(const Value& entry) {
  return entry.string_at("manager") == kube::kFieldManager && entry.string_at("operation") == "Update" &&
         entry.string_at("subresource").empty();
}

bool has_patched_fields(const Value& object) {
  return std::ranges::any_of(apimachinery::managed_fields(object), is_patched_by_us);
}

// A default inside of an emptied map would be ours for ever, and in conflict with what we apply later.
Result<Value> give_up_patched_fields(kube::Client& client, const kube::ObjectRef& ref, Value there,
                                     const Context& context) {
  constexpr int kTries = 5;
  for (int i = 0;; ++i) {
    Value::Array others = apimachinery::managed_fields(there);
    std::erase_if(others, is_patched_by_us);
    Value patch = Value::object();
    pin(patch, there);
    patch["metadata"].set("managedFields", Value(std::move(others)));
    auto patched = client.merge_patch(ref, patch, context);
    if (patched.ok() || patched.error().kind != ErrorKind::Conflict || i == kTries) return patched;
    MIST_TRY(there, client.get(ref, context));
  }
}

}  // namespace

std::vector<FieldDifference> emptied_among(const std::vector<FieldDifference>& differences) {
  std::vector<FieldDifference> emptied;
  std::ranges::copy_if(differences, std::back_inserter(emptied), &FieldDifference::empties);
  return emptied;
}

Value emptying_patch(const Value& live, const std::vector<FieldDifference>& emptied) {
  Value patch = merge_patch_between(live, with_differences(live, emptied));
  patch["metadata"].set("uid", live.string_at({"metadata", "uid"}));
  return patch;
}

Result<Value> empty_fields(kube::Client& client, const kube::ObjectRef& ref, const Value& live,
                           const std::vector<FieldDifference>& emptied, const Context& context) {
  Value patch = emptying_patch(live, emptied);
  patch.set("metadata", Value::object());
  pin(patch, live);
  const Value owners = kube::with_present_owners(client, ref.resource, live, context);
  if (apimachinery::managed_fields(owners) != apimachinery::managed_fields(live))
    patch["metadata"].set("managedFields", Value(apimachinery::managed_fields(owners)));
  MIST_TRY(Value there, client.merge_patch(ref, patch, context));
  if (has_patched_fields(live) || !has_patched_fields(there)) return there;
  return give_up_patched_fields(client, ref, std::move(there), context);
}

}  // namespace mist::apply
