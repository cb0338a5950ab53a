#include "operator/finalizer.h"

#include "apply/fields/field_transfer.h"
#include "kube/api_failure.h"

namespace mist::operator_ {
namespace {

constexpr int kMostRemovals = 5;

}  // namespace

Result<Value> remove_finalizer(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                               std::string_view annotation, const Context& context) {
  auto applied =
      client.apply(ref, identity, {.field_manager = std::string(kManager), .force = true}, context);
  // Nothing can be applied to an object that its CRD doesn't fit any more. The patch below does it all.
  if (!applied.ok() && kube::is_live_unreadable(applied.error())) applied = client.get(ref, context);
  MIST_TRY(Value there, std::move(applied));
  for (int i = 0; has_finalizer(there); ++i) {
    if (i == kMostRemovals)
      return error(ErrorKind::Conflict,
                   "the finalizer {} of {} can't be removed: it is there again each time", kFinalizer,
                   id_of(identity).display())
          .with_hint("find out who writes it, by metadata.managedFields");
    // Lists are written as a whole, so the patch names the version that this one was computed from.
    Value left = there;
    reconcile::take_finalizer_off(left);
    Value patch = apply::merge_patch_between(there, left);
    patch["metadata"].set("uid", identity.string_at({"metadata", "uid"}));
    patch["metadata"].set("resourceVersion", there.string_at({"metadata", "resourceVersion"}));
    patch["metadata"]["annotations"].set(annotation, nullptr);
    auto patched = client.merge_patch(ref, patch, context);
    if (!patched.ok() && patched.error().kind != ErrorKind::Conflict) return patched;
    if (patched.ok()) {
      there = *std::move(patched);
      continue;
    }
    MIST_TRY(there, client.get(ref, context));
  }
  return there;
}

}  // namespace mist::operator_
