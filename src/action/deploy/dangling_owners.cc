#include "action/deploy/dangling_owners.h"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apply/fields/field_place.h"
#include "base/parallel.h"
#include "kube/api_failure.h"

namespace mist::action {
namespace {

using apply::ActionKind;
using encoding::Value;

struct NamedOwner {
  const apply::PlannedAction* action = nullptr;
  std::size_t place = 0;  // in its ownerReferences
  kube::GroupVersionKind gvk;
  std::string ns, name, uid;

  std::string words() const { return fmt::format("{} {}", gvk.kind, name); }
};

bool is_written(const apply::PlannedAction& action) {
  return action.kind == ActionKind::Create || action.kind == ActionKind::Update ||
         action.kind == ActionKind::Adopt || action.kind == ActionKind::Replace;
}

// Each once, with the first object that names it. The server refuses references that lack something.
std::vector<NamedOwner> owners_named_by(const apply::Plan& plan) {
  std::map<std::pair<std::string, std::string>, NamedOwner> owners;
  for (const apply::PlannedAction& action : plan.writes) {
    if (!is_written(action)) continue;
    const Value* const references =
        plan.desired[action.desired].rendered.object.value().at_path({"metadata", "ownerReferences"});
    if (references == nullptr || !references->is_array()) continue;
    for (std::size_t i = 0; i < references->size(); ++i) {
      const Value& each = references->as_array()[i];
      auto gvk = kube::GroupVersionKind::parse(each.string_at("apiVersion"), each.string_at("kind"));
      if (!gvk) continue;
      NamedOwner owner{.action = &action,
                       .place = i,
                       .gvk = *std::move(gvk),
                       .ns = action.key.ns,
                       .name = std::string(each.string_at("name")),
                       .uid = std::string(each.string_at("uid"))};
      if (!owner.name.empty() && !owner.uid.empty())
        owners.emplace(std::pair(owner.uid, action.key.ns), std::move(owner));
    }
  }
  std::vector<NamedOwner> list;
  for (auto& [key, owner] : owners) list.push_back(std::move(owner));
  return list;
}

Error dangling(const apply::Plan& plan, const NamedOwner& owner, std::string_view why) {
  const auto& rendered = plan.desired[owner.action->desired].rendered;
  Error failure =
      error(ErrorKind::NotFound, "{} names an owner that is not there: {} with uid {}{}",
            owner.action->key.display(), owner.words(), owner.uid, why)
          .with_because("Kubernetes' garbage collector would delete the object, or the reference")
          .with_hint("remove metadata.ownerReferences from the package: the release owns its objects");
  failure.where =
      apply::place_of_field(rendered, fmt::format("metadata.ownerReferences[{}].uid", owner.place));
  return failure;
}

Status check(const Environment& environment, const apply::Plan& plan, const NamedOwner& owner,
             const Context& context) {
  const auto resource =
      environment.client.resource_for({owner.gvk.group, owner.gvk.kind}, owner.gvk.version, context);
  if (!resource.ok()) return context.check();
  if (resource->namespaced && owner.ns.empty())
    return dangling(plan, owner, ", which is in a namespace, while the object is in none");
  const auto there = environment.client.get(
      {*resource, resource->namespaced ? owner.ns : std::string(), owner.name}, context);
  if (there.ok())
    return there->string_at({"metadata", "uid"}) == owner.uid
               ? Status()
               : Status(dangling(plan, owner, fmt::format("; {} is another one", owner.words())));
  if (kube::is_absent(there.error())) return dangling(plan, owner, "");
  return context.check();
}

}  // namespace

Status refuse_dangling_owners(const Environment& environment, const apply::Plan& plan,
                              const Context& context) {
  const std::vector<NamedOwner> owners = owners_named_by(plan);
  return parallel_for(owners.size(), 16,
                      [&](std::size_t i) { return check(environment, plan, owners[i], context); });
}

}  // namespace mist::action
