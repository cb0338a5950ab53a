#include "action/deploy/dangling_owners.h"

#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "apply/fields/field_place.h"
#include "apply/plan/left_as_is.h"
#include "base/parallel.h"
#include "kube/api_failure.h"

namespace mist::action {
namespace {

using apply::ActionKind;
using encoding::Value;

struct NamedOwner {
  std::size_t write = 0;  // of the plan
  std::size_t place = 0;  // in its ownerReferences
  kube::GroupVersionKind gvk;
  std::string ns, name, uid;

  std::string words() const { return fmt::format("{} {}", gvk.kind, name); }
};

bool is_written(const apply::PlannedAction& action) {
  return action.kind == ActionKind::Create || action.kind == ActionKind::Update ||
         action.kind == ActionKind::Adopt || action.kind == ActionKind::Replace;
}

// The server refuses references that lack something.
std::vector<NamedOwner> owners_named_by(const apply::Plan& plan) {
  std::vector<NamedOwner> owners;
  for (std::size_t write = 0; write < plan.writes.size(); ++write) {
    const apply::PlannedAction& action = plan.writes[write];
    if (!is_written(action)) continue;
    const Value* const references =
        plan.desired[action.desired].rendered.object.value().at_path({"metadata", "ownerReferences"});
    if (references == nullptr || !references->is_array()) continue;
    for (std::size_t i = 0; i < references->size(); ++i) {
      const Value& each = references->as_array()[i];
      auto gvk = kube::GroupVersionKind::parse(each.string_at("apiVersion"), each.string_at("kind"));
      if (!gvk) continue;
      NamedOwner owner{.write = write,
                       .place = i,
                       .gvk = *std::move(gvk),
                       .ns = action.key.ns,
                       .name = std::string(each.string_at("name")),
                       .uid = std::string(each.string_at("uid"))};
      if (!owner.name.empty() && !owner.uid.empty()) owners.push_back(std::move(owner));
    }
  }
  return owners;
}

Error dangling(const apply::Plan& plan, const NamedOwner& owner, std::string_view why) {
  const apply::PlannedAction& action = plan.writes[owner.write];
  const auto& rendered = plan.desired[action.desired].rendered;
  Error failure =
      error(ErrorKind::NotFound, "{} names an owner that is not there: {} with uid {}{}",
            action.key.display(), owner.words(), owner.uid, why)
          .with_because("Kubernetes' garbage collector would delete the object, or the reference")
          .with_hint("remove metadata.ownerReferences from the package: the release owns its objects");
  failure.where =
      apply::place_of_field(rendered, fmt::format("metadata.ownerReferences[{}].uid", owner.place));
  return failure;
}

// Nothing: it is there, or nobody can tell.
Result<std::optional<Error>> look_for(const Environment& environment, const apply::Plan& plan,
                                      const NamedOwner& owner, const Context& context) {
  using Found = std::optional<Error>;
  const auto resource =
      environment.client.resource_for({owner.gvk.group, owner.gvk.kind}, owner.gvk.version, context);
  MIST_TRY_VOID(context.check());
  if (!resource.ok()) return Found();
  if (resource->namespaced && owner.ns.empty())
    return Found(dangling(plan, owner, ", which is in a namespace, while the object is in none"));
  const auto there = environment.client.get(
      {*resource, resource->namespaced ? owner.ns : std::string(), owner.name}, context);
  MIST_TRY_VOID(context.check());
  if (!there.ok()) return kube::is_absent(there.error()) ? Found(dangling(plan, owner, "")) : Found();
  if (there->string_at({"metadata", "uid"}) == owner.uid) return Found();
  return Found(dangling(plan, owner, fmt::format("; {} is another one", owner.words())));
}

// By the number of the write: the first of each.
Result<std::map<std::size_t, Error>> dangling_owners(const Environment& environment, const apply::Plan& plan,
                                                     const Context& context) {
  const std::vector<NamedOwner> owners = owners_named_by(plan);
  std::vector<std::optional<Error>> found(owners.size());
  MIST_TRY_VOID(parallel_for(owners.size(), 16, [&](std::size_t i) -> Status {
    MIST_TRY(found[i], look_for(environment, plan, owners[i], context));
    return {};
  }));
  std::map<std::size_t, Error> dangling;
  for (std::size_t i = 0; i < owners.size(); ++i)
    if (found[i]) dangling.emplace(owners[i].write, *std::move(found[i]));
  return dangling;
}

}  // namespace

Status refuse_dangling_owners(const Environment& environment, const apply::Plan& plan,
                              const Context& context) {
  MIST_TRY(auto dangling, dangling_owners(environment, plan, context));
  return dangling.empty() ? Status() : Status(std::move(dangling.begin()->second));
}

Status leave_dangling_owners(const Environment& environment, apply::Plan& plan, const Context& context) {
  MIST_TRY(const auto dangling, dangling_owners(environment, plan, context));
  for (const auto& [write, failure] : dangling) {
    apply::PlannedAction& action = plan.writes[write];
    if (action.kind == ActionKind::Create)
      environment.events.warn(fmt::format("{}: {}", failure.message, failure.because));
    else
      apply::leave(action, "it would get an owner that is not there, and be deleted for that");
  }
  return {};
}

}  // namespace mist::action
