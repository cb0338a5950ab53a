#include "action/deploy/recorded_options.h"

#include "release/record.h"

namespace mist::action {

encoding::Value recorded_options(const apply::PlanRules& rules) {
  encoding::Value recorded = encoding::Value::object({{"deleteCrds", rules.prune.delete_crds},
                                                      {"deletePvcs", rules.prune.delete_pvcs},
                                                      {"deleteNamespaces", rules.prune.delete_namespaces},
                                                      {"forceConflicts", rules.force_conflicts},
                                                      {"adopt", rules.adopt},
                                                      {"replace", rules.replace}});
  if (!rules.prune.left_crds.empty())
    recorded.set(kLeftCrds, encoding::Value(encoding::Value::Array(rules.prune.left_crds.begin(),
                                                                   rules.prune.left_crds.end())));
  if (!rules.adopt_from.empty())
    recorded.set(kAdoptFrom,
                 encoding::Value(encoding::Value::Array(rules.adopt_from.begin(), rules.adopt_from.end())));
  if (rules.take_over_from)
    recorded.set("takeOverFrom", encoding::Value::object({{"namespace", rules.take_over_from->ns},
                                                          {"name", rules.take_over_from->name}}));
  return recorded;
}

apply::HookVerb recorded_hooks(const encoding::Value& recorded) {
  return recorded.is_object() ? apply::hook_verb(recorded.string_at(kHooks)) : apply::HookVerb::None;
}

std::set<std::string> recorded_left_crds(const encoding::Value& recorded) {
  return recorded_names(recorded, kLeftCrds);
}

std::set<std::string> recorded_names(const encoding::Value& recorded, std::string_view option) {
  const std::vector<std::string> names = recorded.texts_at(option);
  return {names.begin(), names.end()};
}

std::optional<release::ReleaseId> recorded_take_over(const encoding::Value& recorded) {
  if (!recorded.is_object() || recorded.string_at({"takeOverFrom", "name"}).empty()) return std::nullopt;
  return release::ReleaseId{std::string(recorded.string_at({"takeOverFrom", "namespace"})),
                            std::string(recorded.string_at({"takeOverFrom", "name"}))};
}

void apply_recorded(const encoding::Value& recorded, apply::PruneRules& rules) {
  rules.delete_crds = rules.delete_crds || recorded.is_true_at("deleteCrds");
  rules.delete_pvcs = rules.delete_pvcs || recorded.is_true_at("deletePvcs");
  rules.delete_namespaces = rules.delete_namespaces || recorded.is_true_at("deleteNamespaces");
  rules.left_crds.merge(recorded_left_crds(recorded));
}

}  // namespace mist::action
