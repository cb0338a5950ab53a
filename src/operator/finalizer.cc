#include "operator/finalizer.h"

namespace mist::operator_ {
namespace {

constexpr int kMostRemovals = 5;

}  // namespace

Value other_finalizers(const Value& object) {
  Value::Array left;
  if (const Value* all = object.at_path({"metadata", "finalizers"}); all != nullptr && all->is_array())
    for (const Value& one : all->as_array())
      if (one != Value(kFinalizer)) left.push_back(one);
  return Value(std::move(left));
}

Result<Value> remove_finalizer(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                               std::string_view annotation, const Context& context) {
  MIST_TRY(Value there,
           client.apply(ref, identity, {.field_manager = std::string(kManager), .force = true}, context));
  for (int i = 0; has_finalizer(there); ++i) {
    if (i == kMostRemovals)
      return error(ErrorKind::Conflict,
                   "the finalizer {} of {} can't be removed: it is there again each time", kFinalizer,
                   id_of(identity).display())
          .with_hint("find out who writes it, by metadata.managedFields");
    // Lists are written as a whole, so the patch names the version that this one was computed from.
    Value metadata = Value::object({{"uid", identity.string_at({"metadata", "uid"})},
                                    {"resourceVersion", there.string_at({"metadata", "resourceVersion"})}});
    metadata.set("finalizers", other_finalizers(there));
    metadata["annotations"].set(annotation, nullptr);
    auto patched = client.merge_patch(ref, Value::object({{"metadata", std::move(metadata)}}), context);
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
