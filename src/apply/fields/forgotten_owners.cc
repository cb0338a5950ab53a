#include "apply/fields/forgotten_owners.h"

#include "apimachinery/managed_fields.h"

namespace mist::apply {

bool owners_are_forgotten(const Value& live) { return apimachinery::managed_fields(live).empty(); }

Value with_known_owners(kube::Client& client, const kube::ObjectRef& ref, Value live,
                        std::string_view manager, const Context& context) {
  kube::ApplyOptions options;
  options.field_manager = manager;
  options.dry_run = kube::DryRun::Server;
  Value metadata = Value::object({{"name", ref.name}, {"uid", live.string_at({"metadata", "uid"})}});
  if (!ref.ns.empty()) metadata.set("namespace", ref.ns);
  const Value nothing = Value::object({{"apiVersion", ref.resource.gvk.api_version()},
                                       {"kind", ref.resource.gvk.kind},
                                       {"metadata", std::move(metadata)}});
  const auto answer = client.apply(ref, nothing, options, context);
  if (!answer.ok()) return live;
  Value::Array others = apimachinery::managed_fields(*answer);
  std::erase_if(others, [&](const Value& entry) { return apimachinery::is_applied_by(entry, manager); });
  live["metadata"].set("managedFields", Value(std::move(others)));
  return live;
}

}  // namespace mist::apply
