#include "apply/plan/schema_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "apply/plan/settle.h"
#include "base/parallel.h"
#include "base/text.h"

namespace mist::apply {
namespace {

constexpr std::size_t kMostProblemsShown = 20;
constexpr std::size_t kMostFetches = 16;

using apimachinery::SchemaProblem;
using GroupVersion = std::pair<std::string, std::string>;
using SchemasOfVersions = std::map<GroupVersion, std::shared_ptr<const Value>>;

GroupVersion group_version(const DesiredObject& object) {
  const apimachinery::GroupVersionKind& gvk = object.rendered.object.gvk();
  return {gvk.group, gvk.version};
}

// The writes that can be compared with what the server has of their kind now.
std::vector<std::size_t> comparable_writes(const Plan& plan) {
  const std::set<GroupKind> redefined = redefined_kinds(plan);
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < plan.writes.size(); ++i) {
    const PlannedAction& action = plan.writes[i];
    if (action.kind != ActionKind::Unchanged && !action.late && !redefined.contains(action.key.group_kind))
      result.push_back(i);
  }
  return result;
}

Result<SchemasOfVersions> fetch_schemas(kube::Client& client, const std::set<GroupVersion>& wanted,
                                        kube::SchemaAge age, const Context& context) {
  SchemasOfVersions result;
  for (const GroupVersion& each : wanted) result.emplace(each, nullptr);
  std::vector<SchemasOfVersions::value_type*> places;
  for (SchemasOfVersions::value_type& each : result) places.push_back(&each);
  MIST_TRY_VOID(parallel_for(places.size(), kMostFetches, [&](std::size_t i) -> Status {
    const auto& [group, version] = places[i]->first;
    MIST_TRY(places[i]->second, client.schemas_of(group, version, age, context));
    return {};
  }));
  return result;
}

// The live object may have fields from others that this object leaves out.
apimachinery::RequiredFields required_of(const PlannedAction& action) {
  const ActionKind kind = action.refusal.cause == ConflictCause::Refused ? action.refusal.meant : action.kind;
  const bool from_nothing = kind == ActionKind::Create || kind == ActionKind::Replace;
  return from_nothing ? apimachinery::RequiredFields::Checked : apimachinery::RequiredFields::LeftToAdmission;
}

struct FoundProblem {
  std::size_t write = 0;
  SchemaProblem problem;
};

std::vector<FoundProblem> compare_with_schemas(const Plan& plan, const std::vector<std::size_t>& writes,
                                               const SchemasOfVersions& schemas) {
  std::vector<FoundProblem> found;
  for (const std::size_t write : writes) {
    const DesiredObject& object = plan.desired[plan.writes[write].desired];
    const auto known = schemas.find(group_version(object));
    if (known == schemas.end() || known->second == nullptr) continue;
    for (SchemaProblem& problem :
         schema_problems(object.rendered.object, *known->second, required_of(plan.writes[write])))
      found.push_back({write, std::move(problem)});
  }
  return found;
}

Result<std::vector<FoundProblem>> compare_with_schemas(kube::Client& client, const Plan& plan,
                                                       const std::vector<std::size_t>& writes,
                                                       kube::SchemaAge age, const Context& context) {
  std::set<GroupVersion> wanted;
  for (const std::size_t write : writes)
    wanted.insert(group_version(plan.desired[plan.writes[write].desired]));
  MIST_TRY(const SchemasOfVersions schemas, fetch_schemas(client, wanted, age, context));
  return compare_with_schemas(plan, writes, schemas);
}

// A field that the server doesn't look at, such as one behind a feature gate that is off, is not wrong: the
// server takes the object. Any other answer leaves the problem as it is.
Status ask_the_server(kube::Client& client, const Plan& plan, std::vector<FoundProblem>& found,
                      const Context& context) {
  std::map<std::size_t, bool> certain;  // by write
  for (const FoundProblem& each : found) certain[each.write] |= each.problem.before_admission;
  std::vector<std::size_t> asked;
  for (const auto& [write, known] : certain)
    if (!known) asked.push_back(write);
  std::vector<char> taken(asked.size(), 0);
  MIST_TRY_VOID(parallel_for(asked.size(), kMostFetches, [&](std::size_t i) -> Status {
    const PlannedAction& action = plan.writes[asked[i]];
    kube::ApplyOptions options;
    options.force = true;
    options.dry_run = kube::DryRun::Server;
    const Value object = with_version(plan.desired[action.desired].rendered, action.recorded.revision);
    taken[i] = client.apply({action.resource, action.key.ns, action.key.name}, object, options, context).ok();
    return context.check();
  }));
  std::erase_if(found, [&](const FoundProblem& each) {
    const auto at = std::ranges::find(asked, each.write);
    return at != asked.end() && taken[static_cast<std::size_t>(at - asked.begin())] != 0;
  });
  return {};
}

// The server has to judge problems that admission may still repair.
Status leave_to_admission(const Plan& plan, std::vector<FoundProblem>& found,
                          const ChangesOnAdmission& changes) {
  std::map<GroupKind, bool> changed;
  for (const FoundProblem& each : found) {
    if (each.problem.before_admission) continue;
    const DesiredObject& object = plan.desired[plan.writes[each.write].desired];
    if (changed.contains(object.key.group_kind)) continue;
    MIST_TRY(const bool answer, changes(object));
    changed.emplace(object.key.group_kind, answer);
  }
  std::erase_if(found, [&](const FoundProblem& each) {
    return !each.problem.before_admission && changed[plan.writes[each.write].key.group_kind];
  });
  return {};
}

// The field around what is wrong, for `kubectl explain`.
std::string how_to_see(const PlannedAction& action, const DesiredObject& object, std::string_view path,
                       const std::string& kubectl) {
  std::string fields;
  bool inside = false;
  for (const char letter : path) {
    inside = letter == '[' || (inside && letter != ']');
    if (!inside && letter != ']') fields += letter;
  }
  const auto last = fields.rfind('.');
  fields = last == std::string::npos ? std::string() : "." + fields.substr(0, last);
  return fmt::format("see {} explain {}{} --api-version={}", kubectl, action.resource.resource, fields,
                     object.rendered.object.gvk().api_version());
}

// "spec.replcas: there is no such field (did you mean replicas?) (templates/web.yaml:6)".
std::string at_its_place(const SchemaProblem& problem, const DesiredObject& object) {
  return fmt::format("{} ({})", problem.words(), object.rendered.place(problem.position).text());
}

Error schema_refusal(const Plan& plan, const std::vector<FoundProblem>& found, const std::string& kubectl) {
  std::optional<Error> failure;
  for (const FoundProblem& each : std::span(found).first(std::min(found.size(), kMostProblemsShown))) {
    const PlannedAction& action = plan.writes[each.write];
    const DesiredObject& object = plan.desired[action.desired];
    SourceLocation where = object.rendered.place(each.problem.position);
    if (failure) {
      failure->frames.push_back(
          fmt::format("also: {}: {}", action.key.display(), at_its_place(each.problem, object)));
      continue;
    }
    failure = error(ErrorKind::Invalid, "{} does not fit the cluster's schema: {}", action.key.display(),
                    each.problem.words());
    failure->where = std::move(where);
    failure->hint = how_to_see(action, object, each.problem.path, kubectl);
  }
  if (found.size() > kMostProblemsShown)
    failure->frames.push_back(fmt::format("and {} more", found.size() - kMostProblemsShown));
  return *std::move(failure);
}

}  // namespace

Status explain_refusals(kube::Client& client, Plan& plan, const Context& context) {
  std::vector<std::size_t> refused;
  for (const std::size_t write : comparable_writes(plan))
    if (plan.writes[write].refusal.cause == ConflictCause::Refused) refused.push_back(write);
  if (refused.empty()) return {};
  MIST_TRY(const std::vector<FoundProblem> found,
           compare_with_schemas(client, plan, refused, kube::SchemaAge::Current, context));
  std::map<std::size_t, std::vector<const SchemaProblem*>> problems;  // by write
  for (const FoundProblem& each : found) problems[each.write].push_back(&each.problem);
  for (const auto& [write, of_it] : problems) {
    PlannedAction& action = plan.writes[write];
    const DesiredObject& object = plan.desired[action.desired];
    const std::size_t shown = std::min(of_it.size(), kMostProblemsShown);
    std::vector<std::string> words;
    for (const SchemaProblem* each : std::span(of_it).first(shown))
      words.push_back(at_its_place(*each, object));
    if (shown < of_it.size()) words.push_back(fmt::format("and {} more", of_it.size() - shown));
    action.reason = fmt::format("it does not fit the cluster's schema: {}", join(words, "; "));
    action.refusal.hint = how_to_see(action, object, of_it.front()->path, client.kubectl());
  }
  return {};
}

Status check_against_server(kube::Client& client, const Plan& plan, const ChangesOnAdmission& changes,
                            const Context& context) {
  const std::vector<std::size_t> writes = comparable_writes(plan);
  if (writes.empty()) return {};
  MIST_TRY(std::vector<FoundProblem> found,
           compare_with_schemas(client, plan, writes, kube::SchemaAge::Kept, context));
  if (found.empty()) return {};
  MIST_TRY(found, compare_with_schemas(client, plan, writes, kube::SchemaAge::Current, context));
  MIST_TRY_VOID(ask_the_server(client, plan, found, context));
  MIST_TRY_VOID(leave_to_admission(plan, found, changes));
  if (found.empty()) return {};
  return schema_refusal(plan, found, client.kubectl());
}

}  // namespace mist::apply
