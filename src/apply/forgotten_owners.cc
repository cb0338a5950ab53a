#include "apply/forgotten_owners.h"

#include "kube/managed_fields.h"

namespace mist::apply {

bool owners_are_forgotten(const Value& live) { return kube::managed_fields(live).empty(); }

Value with_known_owners(kube::Client& client, const kube::ObjectRef& ref, Value live, Value wanted,
                        std::string_view manager, const Context& context) {
  kube::ApplyOptions options;
  options.field_manager = manager;
  options.force = true;  // nothing is written
  options.dry_run = kube::DryRun::Server;
  wanted["metadata"].erase("resourceVersion");
  wanted["metadata"].set("uid", live.string_at({"metadata", "uid"}));
  const auto answer = client.apply(ref, wanted, options, context);
  if (!answer.ok()) return live;
  Value::Array others = kube::managed_fields(*answer);
  std::erase_if(others, [&](const Value& entry) { return kube::is_applied_by(entry, manager); });
  live["metadata"].set("managedFields", Value(std::move(others)));
  return live;
}

}  // namespace mist::apply
