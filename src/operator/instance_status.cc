#include "operator/instance_status.h"

#include <utility>

#include "apimachinery/managed_fields.h"
#include "apply/fields/field_transfer.h"
#include "kube/api_failure.h"

namespace mist::operator_ {
namespace {

// Those of everything but the status. null: nobody owns anything else.
Value other_owners(const Value& object) {
  Value others = Value::array();
  for (Value each : apimachinery::managed_fields(object)) {
    if (!each.string_at("subresource").empty()) continue;
    if (Value* const fields = each.find("fieldsV1")) fields->erase("f:status");
    others.push_back(std::move(each));
  }
  return others.size() == 0 ? Value() : others;
}

// The server can't tell who owned which fields of such an object either, and forgets it in this write: then
// nobody who applied something could remove it any more. So the owners are given back. The status isn't
// replaced at once, since a patch that writes a field owns it, and the next apply couldn't remove that.
Status remove_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                     const std::string& subresource, const Context& context) {
  MIST_TRY(const Value there, client.get(ref, context));
  Value patch = Value::object();
  apply::pin(patch, there);
  patch["metadata"].set("uid", identity.string_at({"metadata", "uid"}));
  patch.set("status", nullptr);
  MIST_TRY(const Value bare, client.merge_patch(ref, patch, context, kube::DryRun::No, subresource));
  Value owners = other_owners(there);
  if (owners.is_null()) return {};
  Value back = Value::object();
  back["metadata"].set("managedFields", std::move(owners));
  apply::pin(back, bare);
  MIST_TRY_VOID(client.merge_patch(ref, back, context));
  return {};
}

}  // namespace

Result<Value> put_status(kube::Client& client, const kube::ObjectRef& ref, const Value& identity,
                         const Value& status, const Context& context) {
  Value object = identity;
  object.set("status", status);
  const std::string subresource = ref.resource.has_status ? "status" : "";
  const auto apply = [&] {
    return client.apply(
        ref, object,
        {.field_manager = fmt::format("{}-status", kManager), .force = true, .subresource = subresource},
        context);
  };
  auto applied = apply();
  if (applied.ok() || !kube::is_live_unreadable(applied.error())) return applied;
  MIST_TRY_VOID(remove_status(client, ref, identity, subresource, context));
  return apply();
}

}  // namespace mist::operator_
