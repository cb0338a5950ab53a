#include "action/deploy/recorded_options.h"

namespace mist::action {

using encoding::Value;

namespace {

// The names of a chart's CRDs that --skip-crds left as they were: they outlive deleteCrds.
constexpr std::string_view kLeftCrds = "leftCrds";
// Managers whose fields were taken by name (--adopt-from).
constexpr std::string_view kAdoptFrom = "adoptFrom";
constexpr std::string_view kTakeOverFrom = "takeOverFrom";

Value names_value(const std::set<std::string>& names) {
  return Value(Value::Array(names.begin(), names.end()));
}

std::set<std::string> names_at(const Value& recorded, std::string_view option) {
  const std::vector<std::string> names = recorded.texts_at(option);
  return {names.begin(), names.end()};
}

}  // namespace

Value recorded_options(const apply::AllowedChanges& allowed) {
  Value recorded = Value::object({{"deleteCrds", allowed.prune.delete_crds},
                                  {"deletePvcs", allowed.prune.delete_pvcs},
                                  {"deleteNamespaces", allowed.prune.delete_namespaces},
                                  {"forceConflicts", allowed.force_conflicts},
                                  {"adopt", allowed.adopt},
                                  {"replace", allowed.replace}});
  if (!allowed.prune.left_crds.empty()) recorded.set(kLeftCrds, names_value(allowed.prune.left_crds));
  if (!allowed.adopt_from.empty()) recorded.set(kAdoptFrom, names_value(allowed.adopt_from));
  if (allowed.take_over_from)
    recorded.set(kTakeOverFrom, Value::object({{"namespace", allowed.take_over_from->ns},
                                               {"name", allowed.take_over_from->name}}));
  return recorded;
}

apply::AllowedChanges allowed_by(const Value& recorded) {
  apply::AllowedChanges allowed;
  if (!recorded.is_object()) return allowed;
  allowed.prune = {.delete_crds = recorded.is_true_at("deleteCrds"),
                   .delete_pvcs = recorded.is_true_at("deletePvcs"),
                   .delete_namespaces = recorded.is_true_at("deleteNamespaces"),
                   .left_crds = names_at(recorded, kLeftCrds)};
  allowed.adopt = recorded.is_true_at("adopt");
  allowed.adopt_from = names_at(recorded, kAdoptFrom);
  allowed.replace = recorded.is_true_at("replace");
  allowed.force_conflicts = recorded.is_true_at("forceConflicts");
  if (const std::string_view name = recorded.string_at({kTakeOverFrom, "name"}); !name.empty())
    allowed.take_over_from =
        apply::Owner{std::string(recorded.string_at({kTakeOverFrom, "namespace"})), std::string(name)};
  return allowed;
}

void allow_also(apply::AllowedChanges& allowed, const apply::AllowedChanges& more) {
  allow_also(allowed.prune, more.prune);
  allowed.adopt |= more.adopt;
  allowed.adopt_from.insert(more.adopt_from.begin(), more.adopt_from.end());
  allowed.leave_fields |= more.leave_fields;
  allowed.replace |= more.replace;
  allowed.force_conflicts |= more.force_conflicts;
  allowed.keep_adopted |= more.keep_adopted;
}

void allow_also(apply::PruneRules& rules, const apply::PruneRules& more) {
  rules.delete_crds |= more.delete_crds;
  rules.delete_pvcs |= more.delete_pvcs;
  rules.delete_namespaces |= more.delete_namespaces;
  rules.left_crds.insert(more.left_crds.begin(), more.left_crds.end());
  rules.unused_crds |= more.unused_crds;
}

apply::HookVerb recorded_hooks(const Value& recorded) {
  return recorded.is_object() ? apply::hook_verb(recorded.string_at(kHooks)) : apply::HookVerb::None;
}

}  // namespace mist::action
