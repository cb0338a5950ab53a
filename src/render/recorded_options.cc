#include "render/recorded_options.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mist::render {
namespace {

using apply::HookPhase;
using encoding::Value;

constexpr std::string_view kDeleteCrds = "deleteCrds", kDeletePvcs = "deletePvcs",
                           kDeleteNamespaces = "deleteNamespaces", kForceConflicts = "forceConflicts",
                           kAdopt = "adopt", kReplace = "replace", kForceCrds = "forceCrds";
// The names of a chart's CRDs that --skip-crds left as they were: they outlive deleteCrds.
constexpr std::string_view kLeftCrds = "leftCrds";
// Managers whose fields were taken by name (--adopt-from).
constexpr std::string_view kAdoptFrom = "adoptFrom";
constexpr std::string_view kTakeOverFrom = "takeOverFrom";
constexpr std::string_view kHooks = "hooks";
constexpr std::string_view kLookups = "allowLookup", kSecretLookups = "allowLookupSecrets";
constexpr std::string_view kAnswers = "answers", kName = "name", kSecret = "secret";
// True, where the run waits; kWaitForJobs is false then where a Job only has to begin.
constexpr std::string_view kWait = "wait", kWaitForJobs = "waitForJobs";
constexpr std::string_view kBeforeAdoption = "beforeAdoption";
constexpr std::string_view kNoHooks = "noHooks";
constexpr std::pair<HookPhase, std::string_view> kEnded[] = {{HookPhase::Before, "preDeleteEnded"},
                                                             {HookPhase::After, "postDeleteEnded"}};

template <typename Texts>
void set_texts(Value& value, std::string_view key, const Texts& texts) {
  if (!texts.empty()) value.set(key, Value(Value::Array(texts.begin(), texts.end())));
}

std::set<std::string> texts_at(const Value& recorded, std::string_view key) {
  const std::vector<std::string> texts = recorded.texts_at(key);
  return {texts.begin(), texts.end()};
}

std::vector<std::string> sorted_texts_at(const Value& recorded, std::string_view key) {
  const std::set<std::string> texts = texts_at(recorded, key);
  return {texts.begin(), texts.end()};
}

void set_answers(Value& value, const Answers& answers) {
  if (answers.all.empty()) return;
  Value::Array list;
  for (const package::Answer& each : answers.all)
    list.push_back(Value::object({{kName, each.name}, {kSecret, each.secret}}));
  value.set(kAnswers, Value(std::move(list)));
}

Answers answers_at(const Value& recorded) {
  Answers answers;
  const Value* const list = recorded.find(kAnswers);
  if (list == nullptr || !list->is_array()) return answers;
  for (const Value& each : list->as_array()) {
    const Value* const secret = each.is_object() ? each.find(kSecret) : nullptr;
    if (secret == nullptr || !secret->is_bool() || each.string_at(kName).empty()) continue;
    answers.all.push_back({std::string(each.string_at(kName)), secret->as_bool()});
  }
  std::ranges::sort(answers.all);
  return answers;
}

RecordedWait wait_at(const Value& recorded) {
  if (!recorded.is_true_at(kWait)) return RecordedWait::None;
  const Value* const jobs = recorded.find(kWaitForJobs);
  return jobs != nullptr && jobs->is_bool() && !jobs->as_bool() ? RecordedWait::JobsBegun
                                                                : RecordedWait::AllReady;
}

apply::AllowedChanges allowed_at(const Value& recorded) {
  apply::AllowedChanges allowed{.prune = {.delete_crds = recorded.is_true_at(kDeleteCrds),
                                          .delete_pvcs = recorded.is_true_at(kDeletePvcs),
                                          .delete_namespaces = recorded.is_true_at(kDeleteNamespaces),
                                          .left_crds = texts_at(recorded, kLeftCrds)},
                                .adopt = recorded.is_true_at(kAdopt),
                                .adopt_from = texts_at(recorded, kAdoptFrom),
                                .replace = recorded.is_true_at(kReplace),
                                .force_conflicts = recorded.is_true_at(kForceConflicts)};
  if (const std::string_view name = recorded.string_at({kTakeOverFrom, "name"}); !name.empty())
    allowed.take_over_from =
        apply::Owner{std::string(recorded.string_at({kTakeOverFrom, "namespace"})), std::string(name)};
  return allowed;
}

}  // namespace

RecordedOptions RecordedOptions::from_value(const Value& recorded) {
  RecordedOptions options;
  if (!recorded.is_object()) return options;
  options.allowed = allowed_at(recorded);
  if (recorded.find(kHooks) != nullptr) options.hooks = apply::hook_verb(recorded.string_at(kHooks));
  options.lookups = {sorted_texts_at(recorded, kLookups), sorted_texts_at(recorded, kSecretLookups)};
  options.answers = answers_at(recorded);
  options.force_crds = recorded.is_true_at(kForceCrds);
  options.wait = wait_at(recorded);
  if (const Value* const before = before_adoption_in(recorded)) options.before_adoption = *before;
  options.no_hooks = recorded.is_true_at(kNoHooks);
  for (const auto& [phase, key] : kEnded)
    if (recorded.is_true_at(key)) options.ended_hooks.insert(phase);
  return options;
}

Value to_value(const RecordedOptions& options) {
  const apply::AllowedChanges& allowed = options.allowed;
  Value value = Value::object({{kDeleteCrds, allowed.prune.delete_crds},
                               {kDeletePvcs, allowed.prune.delete_pvcs},
                               {kDeleteNamespaces, allowed.prune.delete_namespaces},
                               {kForceConflicts, allowed.force_conflicts},
                               {kAdopt, allowed.adopt},
                               {kReplace, allowed.replace}});
  set_texts(value, kLeftCrds, allowed.prune.left_crds);
  set_texts(value, kAdoptFrom, allowed.adopt_from);
  if (allowed.take_over_from)
    value.set(kTakeOverFrom, Value::object({{"namespace", allowed.take_over_from->ns},
                                            {"name", allowed.take_over_from->name}}));
  if (options.hooks) value.set(kHooks, apply::to_string(*options.hooks));
  set_texts(value, kLookups, options.lookups.objects);
  set_texts(value, kSecretLookups, options.lookups.secrets);
  set_answers(value, options.answers);
  if (options.force_crds) value.set(kForceCrds, true);
  if (options.wait != RecordedWait::None) value.set(kWait, true);
  if (options.wait == RecordedWait::JobsBegun) value.set(kWaitForJobs, false);
  if (!options.before_adoption.is_null()) value.set(kBeforeAdoption, options.before_adoption);
  if (options.no_hooks) value.set(kNoHooks, true);
  for (const auto& [phase, key] : kEnded)
    if (options.ended_hooks.contains(phase)) value.set(key, true);
  return value;
}

const Value* before_adoption_in(const Value& recorded) {
  const Value* const list = recorded.is_object() ? recorded.find(kBeforeAdoption) : nullptr;
  return list != nullptr && list->is_array() ? list : nullptr;
}

}  // namespace mist::render
