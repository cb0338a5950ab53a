#include "action/deploy/crds.h"

#include "apimachinery/managed_fields.h"
#include "apply/plan/crd_change.h"
#include "base/text.h"

namespace mist::action {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using apply::PlannedAction;
using encoding::Value;

namespace {

// An object that somebody last wrote in `version`, by its managed fields; empty: none.
Result<std::string> user_of(const Environment& environment, const GroupKind& kind, const std::string& version,
                            const Context& context) {
  auto resource = environment.client.resource_for(kind, version, context);
  if (!resource.ok())
    return resource.error().kind == ErrorKind::NotFound ? Result<std::string>(std::string())
                                                        : std::move(resource).error();
  kube::ListOptions options;
  options.metadata_only = true;
  MIST_TRY(const kube::ObjectList list, environment.client.list(*resource, options, context));
  const std::string api_version = kind.group + "/" + version;
  for (const Value& item : list.items) {
    for (const Value& manager : apimachinery::managed_fields(item)) {
      if (manager.string_at("apiVersion") == api_version)
        return ObjectKey{kind, std::string(item.string_at({"metadata", "namespace"})),
                         std::string(item.string_at({"metadata", "name"}))}
            .display();
    }
  }
  return std::string();
}

}  // namespace

Status check_crds(const Environment& environment, apply::Plan& plan, const apply::LiveState& live,
                  const Context& context) {
  for (PlannedAction& action : plan.writes) {
    const bool changes = action.kind == apply::ActionKind::Update || action.kind == apply::ActionKind::Adopt;
    if (!changes || action.key.group_kind != apimachinery::kCustomResourceDefinition) continue;
    const auto there = live.find(action.key);
    if (there == live.end() || !there->second.whole) continue;
    const Value& before = there->second.value;
    const Value& after = plan.desired[action.desired].rendered.object.value();
    const GroupKind kind = apimachinery::defined_kind(before);
    apply::VersionUsers users;
    for (const std::string& version : apply::unserved_versions(before, after)) {
      MIST_TRY(std::string user, user_of(environment, kind, version, context)
                                     .in(fmt::format("while looking who uses {}/{}", kind.group, version)));
      if (!user.empty()) users.emplace(version, std::move(user));
    }
    std::vector<std::string> problems = apply::crd_problems(before, after, users);
    if (problems.empty()) continue;
    constexpr std::size_t kShown = 5;
    const std::size_t all = problems.size();
    if (all > kShown) problems.resize(kShown);
    action.kind = apply::ActionKind::Conflict;
    action.refusal.cause = apply::ConflictCause::Refused;
    action.reason = fmt::format("it would no longer fit what is there: {}{}", join(problems, "; "),
                                all > kShown ? fmt::format("; and {} more", all - kShown) : "");
    action.refusal.hint = "convert the objects first, or upgrade it all the same with --force-crds";
  }
  return {};
}

}  // namespace mist::action
