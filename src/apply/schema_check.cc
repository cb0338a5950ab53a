#include "apply/schema_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "apply/settle.h"
#include "base/parallel.h"
#include "base/text.h"
#include "encoding/member_finder.h"

namespace mist::apply {
namespace {

constexpr std::size_t kMostProblemsShown = 20;
constexpr std::size_t kMostOfAnObject = 100;
constexpr std::size_t kMostFetches = 16;
constexpr int kDeepestValue = 128;

bool is_set(const Value& schema, std::string_view name) {
  const Value* const found = schema.find(name);
  return found != nullptr && *found == Value(true);
}

std::string path_below(const std::string& path, const std::string& key) {
  if (key.find_first_of("./[") != std::string::npos) return fmt::format("{}[{}]", path, key);
  return path.empty() ? key : path + "." + key;
}

std::string_view with_article(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Null:
      return "null";
    case Value::Kind::Bool:
      return "a boolean";
    case Value::Kind::Int:
    case Value::Kind::UInt:
      return "an integer";
    case Value::Kind::Double:
      return "a number";
    case Value::Kind::String:
      return "a string";
    case Value::Kind::Array:
      return "a list";
    case Value::Kind::Object:
      return "a map";
  }
  return "something else";
}

// The types of a schema, and what may stand where they are asked for. Server-side apply takes any number for
// an integer; whether it has a fraction is found out later.
struct SchemaType {
  std::string_view name;
  std::string_view words;
  bool (*fits)(const Value& value);
};
constexpr std::array<SchemaType, 6> kSchemaTypes{{
    {"array", "a list", [](const Value& value) { return value.is_array(); }},
    {"boolean", "a boolean", [](const Value& value) { return value.is_bool(); }},
    {"integer", "an integer", [](const Value& value) { return value.is_number(); }},
    {"number", "a number", [](const Value& value) { return value.is_number(); }},
    {"object", "a map", [](const Value& value) { return value.is_object(); }},
    {"string", "a string", [](const Value& value) { return value.is_string(); }},
}};

// The schemas of a group version, by name.
class SchemaNames {
 public:
  explicit SchemaNames(const Value& schemas) : finder_(&schemas) {}

  // The schema that a $ref means, directly or as the only part of an allOf, as server-side apply reads it.
  // `named` says whether it was one.
  const Value* resolve(const Value* schema, bool& named) const {
    constexpr std::string_view kPrefix = "#/components/schemas/";
    named = false;
    for (int hops = 0; hops < 16 && schema != nullptr; ++hops) {
      std::string_view name = schema->string_at("$ref");
      const Value* const parts = schema->find("allOf");
      if (name.empty() && parts != nullptr && parts->is_array() && parts->size() == 1)
        name = parts->as_array().front().string_at("$ref");
      if (name.empty()) return schema;
      if (!name.starts_with(kPrefix)) return nullptr;
      named = true;
      schema = finder_.find(name.substr(kPrefix.size()));
    }
    return nullptr;
  }

 private:
  encoding::MemberFinder finder_;
};

// As structured-merge-diff checks a value against the type that kube-openapi/pkg/schemaconv makes of a
// schema.
class SchemaWalk {
 public:
  explicit SchemaWalk(const Value& schemas) : names_(schemas) {}

  void look_at(const Value& at, const Value& value, const std::string& path, bool keeps_unknown,
               int depth = 0) {
    // Null is as good as nothing.
    if (value.is_null() || depth > kDeepestValue || problems_.size() >= kMostOfAnObject) return;
    bool named = false;
    const Value* const found = names_.resolve(&at, named);
    if (found == nullptr || !found->is_object()) return;
    const Value& schema = *found;
    // What a schema says of unknown fields goes for what is written inside of it, not for other named types.
    keeps_unknown = (keeps_unknown && !named) || is_set(schema, "x-kubernetes-preserve-unknown-fields");
    if (!has_type(schema, value, path)) return;
    if (value.is_string()) look_at_choices(schema, value, path);
    if (value.is_array()) look_at_items(schema, value, path, keeps_unknown, depth);
    if (value.is_object()) look_at_members(schema, value, path, keeps_unknown, depth);
  }

  std::vector<SchemaProblem> take() && { return std::move(problems_); }

 private:
  bool has_type(const Value& schema, const Value& value, const std::string& path) {
    const std::string_view name = schema.string_at("type");
    const auto type = std::ranges::find(kSchemaTypes, name, &SchemaType::name);
    if (type == kSchemaTypes.end() || is_set(schema, "x-kubernetes-int-or-string") ||
        schema.string_at("format") == "int-or-string")
      return true;
    const bool fits = type->fits(value);
    const bool fraction = name == "integer" && value.kind() == Value::Kind::Double &&
                          std::trunc(value.as_double()) != value.as_double();
    if (fits && !fraction) return true;
    problems_.push_back({path,
                         fmt::format("it must be {}, and is {}", type->words, with_article(value.kind())),
                         {},
                         value.position(),
                         !fits});
    return false;
  }

  // "" stands for the default.
  void look_at_choices(const Value& schema, const Value& value, const std::string& path) {
    const Value* const choices = schema.find("enum");
    if (choices == nullptr || !choices->is_array() || value.as_string().empty()) return;
    std::vector<std::string_view> names;
    for (const Value& choice : choices->as_array()) {
      if (choice == value) return;
      if (choice.is_string() && !choice.as_string().empty()) names.push_back(choice.as_string());
    }
    constexpr std::size_t kMostChoices = 12;
    std::string message = names.size() > kMostChoices
                              ? std::string("it is none of the values that there are")
                              : fmt::format("it must be one of {}", fmt::join(names, ", "));
    problems_.push_back(
        {path, std::move(message), std::string(nearest(value.as_string(), names)), value.position(), false});
  }

  void look_at_items(const Value& schema, const Value& value, const std::string& path, bool keeps_unknown,
                     int depth) {
    const Value* const items = schema.find("items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.size(); ++i)
      look_at(*items, value.as_array()[i], fmt::format("{}[{}]", path, i), keeps_unknown, depth + 1);
  }

  void look_at_members(const Value& schema, const Value& value, const std::string& path, bool keeps_unknown,
                       int depth) {
    const Value* const properties = schema.find("properties");
    const Value* const others = schema.find("additionalProperties");
    const bool described = properties != nullptr && properties->size() > 0;
    const bool free =
        keeps_unknown || (others == nullptr && !described) || (others != nullptr && *others == Value(true));
    const bool whole_object = path.empty() || is_set(schema, "x-kubernetes-embedded-resource");
    const encoding::MemberFinder known(properties);
    for (const Value::Member& member : value.as_object()) {
      if (const Value* const own = known.find(member.key)) {
        look_at(*own, member.value, path_below(path, member.key), keeps_unknown, depth + 1);
      } else if (others != nullptr && others->is_object()) {
        look_at(*others, member.value, path_below(path, member.key), keeps_unknown, depth + 1);
      } else if (!free && !member.value.is_null() && !(whole_object && is_of_every_object(member.key))) {
        unknown(properties, member, path_below(path, member.key));
      }
    }
  }

  static bool is_of_every_object(std::string_view name) {
    return name == "apiVersion" || name == "kind" || name == "metadata";
  }

  void unknown(const Value* properties, const Value::Member& member, std::string path) {
    if (problems_.size() >= kMostOfAnObject) return;
    std::vector<std::string_view> names;
    if (properties != nullptr && properties->is_object()) {
      for (const Value::Member& each : properties->as_object()) names.push_back(each.key);
    }
    problems_.push_back({std::move(path), "there is no such field", std::string(nearest(member.key, names)),
                         member.value.position(), true});
  }

  const SchemaNames names_;
  std::vector<SchemaProblem> problems_;
};

const Value* schema_of(const Value& schemas, const apimachinery::GroupVersionKind& gvk) {
  if (!schemas.is_object()) return nullptr;
  for (const Value::Member& member : schemas.as_object()) {
    const Value* const kinds = member.value.find("x-kubernetes-group-version-kind");
    if (kinds == nullptr || !kinds->is_array()) continue;
    const bool found = std::ranges::any_of(kinds->as_array(), [&](const Value& each) {
      return each.string_at("kind") == gvk.kind && each.string_at("group") == gvk.group &&
             each.string_at("version") == gvk.version;
    });
    if (found) return &member.value;
  }
  return nullptr;
}

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
    for (SchemaProblem& problem : schema_problems(object.rendered.object, *known->second))
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

// What the server doesn't look at, such as a field behind a feature gate that is off, is not wrong: it takes
// the object. Whatever else it answers leaves the problem as it is.
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
    const Value object = with_version(plan.desired[action.desired].rendered, action.revision);
    taken[i] = client.apply({action.resource, action.key.ns, action.key.name}, object, options, context).ok();
    return context.check();
  }));
  std::erase_if(found, [&](const FoundProblem& each) {
    const auto at = std::ranges::find(asked, each.write);
    return at != asked.end() && taken[static_cast<std::size_t>(at - asked.begin())] != 0;
  });
  return {};
}

// What admission may still make right is for the server to judge.
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
std::string how_to_see(const PlannedAction& action, const DesiredObject& object, std::string_view path) {
  std::string fields;
  bool inside = false;
  for (const char letter : path) {
    inside = letter == '[' || (inside && letter != ']');
    if (!inside && letter != ']') fields += letter;
  }
  const auto last = fields.rfind('.');
  fields = last == std::string::npos ? std::string() : "." + fields.substr(0, last);
  return fmt::format("see kubectl explain {}{} --api-version={}", action.resource.resource, fields,
                     object.rendered.object.gvk().api_version());
}

std::string problem_words(const SchemaProblem& problem) {
  return problem.instead.empty()
             ? fmt::format("{}: {}", problem.path, problem.message)
             : fmt::format("{}: {} (did you mean {}?)", problem.path, problem.message, problem.instead);
}

Error schema_refusal(const Plan& plan, const std::vector<FoundProblem>& found) {
  std::optional<Error> failure;
  for (const FoundProblem& each : std::span(found).first(std::min(found.size(), kMostProblemsShown))) {
    const PlannedAction& action = plan.writes[each.write];
    const DesiredObject& object = plan.desired[action.desired];
    SourceLocation where = object.rendered.place(each.problem.position);
    if (failure) {
      failure->frames.push_back(
          fmt::format("also: {}: {} ({})", action.key.display(), problem_words(each.problem), where.text()));
      continue;
    }
    failure = error(ErrorKind::Invalid, "{} does not fit the cluster's schema: {}", action.key.display(),
                    problem_words(each.problem));
    failure->where = std::move(where);
    failure->hint = how_to_see(action, object, each.problem.path);
  }
  if (found.size() > kMostProblemsShown)
    failure->frames.push_back(fmt::format("and {} more", found.size() - kMostProblemsShown));
  return *std::move(failure);
}

}  // namespace

std::vector<SchemaProblem> schema_problems(const apimachinery::Object& object, const Value& schemas) {
  const Value* const schema = schema_of(schemas, object.gvk());
  if (schema == nullptr) return {};
  SchemaWalk walk(schemas);
  walk.look_at(*schema, object.value(), "", false);
  return std::move(walk).take();
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
  return schema_refusal(plan, found);
}

}  // namespace mist::apply
