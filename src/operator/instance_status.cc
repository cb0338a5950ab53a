#include "operator/instance_status.h"

#include "apply/fields/field_transfer.h"
#include "kube/api_failure.h"

namespace mist::operator_ {
namespace {

// A merge patch keeps fields that it doesn't name, so it names those that have to go.
Result<Value> replace_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                             const Value& status, const std::string& subresource, const Context& context) {
  MIST_TRY(const Value there, client.get(ref, context));
  const Value* const old = there.find("status");
  Value patch = Value::object();
  for (const std::string_view guard : {"uid", "resourceVersion"})
    patch["metadata"].set(guard, (guard == "uid" ? identity : there).string_at({"metadata", guard}));
  patch.set("status", old == nullptr ? status : apply::merge_patch_between(*old, status));
  return client.merge_patch(ref, patch, context, kube::DryRun::No, subresource);
}

}  // namespace

Result<Value> put_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                         const Value& status, const Context& context) {
  Value object = identity;
  object.set("status", status);
  const std::string subresource = ref.resource.has_status ? "status" : "";
  auto applied = client.apply(
      ref, object,
      {.field_manager = fmt::format("{}-status", kManager), .force = true, .subresource = subresource},
      context);
  if (applied.ok() || !kube::is_live_unreadable(applied.error())) return applied;
  return replace_status(client, ref, identity, status, subresource, context);
}

}  // namespace mist::operator_
