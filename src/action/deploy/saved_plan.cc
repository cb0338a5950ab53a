#include "action/deploy/saved_plan.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "release/command_text.h"
#include "render/recorded_options.h"

namespace mist::action {

using apply::ActionKind;
using apply::PlannedAction;
using encoding::Value;
using release::ReleaseId;

namespace {

constexpr std::string_view kKind = "MistletoePlan";

std::string digest_of(const PlannedAction& action) {
  Value::Array fields;
  for (const apply::FieldDifference& difference : action.differences) {
    Value::Array managers;
    for (const std::string& manager : difference.managers) managers.emplace_back(manager);
    fields.push_back(
        Value::array({difference.path, difference.before, difference.after, Value(std::move(managers))}));
  }
  Value all =
      Value::array({apply::to_string(action.kind), action.uid, action.owner, Value(std::move(fields))});
  if (!action.with_it.empty()) {
    Value::Array along;
    for (const std::string& name : action.with_it) along.emplace_back(name);
    all.as_array().emplace_back(std::move(along));
  }
  if (action.transfer) {
    all.push_back(apply::managers_words(*action.transfer));
    all.push_back(action.transfer->fields);
  }
  all.sort_keys();
  return crypto::sha256(encoding::to_json(all)).str();
}

SavedAction saved(const PlannedAction& action) {
  SavedAction result{action.kind, action.key, action.uid, action.reason, digest_of(action), {}};
  for (const apply::FieldDifference& difference : action.differences)
    result.fields.push_back(difference.path);
  return result;
}

Value to_value(const SavedAction& action) {
  Value::Array fields;
  for (const std::string& field : action.fields) fields.emplace_back(field);
  return Value::object({{"action", apply::to_string(action.kind)},
                        {"group", action.key.group_kind.group},
                        {"kind", action.key.group_kind.kind},
                        {"namespace", action.key.ns},
                        {"name", action.key.name},
                        {"uid", action.uid},
                        {"reason", action.reason},
                        {"fields", Value(std::move(fields))},
                        {"digest", action.digest}});
}

std::optional<ActionKind> kind_from(std::string_view text) {
  for (const ActionKind kind :
       {ActionKind::Create, ActionKind::Update, ActionKind::Unchanged, ActionKind::Replace, ActionKind::Adopt,
        ActionKind::Delete, ActionKind::Retain}) {
    if (apply::to_string(kind) == text) return kind;
  }
  return std::nullopt;
}

bool flag(const Value& value, std::string_view name) {
  const Value* found = value.find(name);
  return found != nullptr && *found == Value(true);
}

Error damaged(const std::string& file) {
  return error(ErrorKind::Invalid, "{} is not a plan, or a damaged one", file)
      .with_hint("make it again with mistctl plan NAME -o FILE");
}

Error moved(const SavedPlan& plan, std::string what) {
  return error(ErrorKind::Conflict, "the plan is stale: {}", what)
      .with_hint("look at what is there now, and make the plan again: " +
                 release::command_text("plan", plan.id, "-o FILE"));
}

// Nothing in Kubernetes names a cluster. Namespace kube-system is made once, with it, and never deleted, so
// its uid is what the field takes for that name. Empty: we may not see it, or there is none.
Result<std::string> uid_of_cluster(const Environment& environment, const Context& context) {
  const kube::ResourceInfo namespaces{{"", "v1", "Namespace"}, "namespaces", false, {}};
  auto found = environment.client.get({namespaces, "", "kube-system"}, context);
  if (found.ok()) return std::string(found->string_at({"metadata", "uid"}));
  if (found.error().kind == ErrorKind::Forbidden || found.error().kind == ErrorKind::NotFound)
    return std::string();
  return std::move(found).error().with_frame("while asking which cluster this is");
}

// "https://127.0.0.1:6443 (context dev)" without the context, whose name is everybody's own affair.
std::string_view address_in(std::string_view cluster) { return cluster.substr(0, cluster.find(' ')); }

Status same_cluster(const Environment& environment, const SavedPlan& plan, const Context& context) {
  std::string here;
  if (!plan.cluster_uid.empty()) {
    MIST_TRY(here, uid_of_cluster(environment, context));
  }
  std::string why;
  if (!here.empty()) {
    if (here == plan.cluster_uid) return {};
    why = fmt::format("namespace kube-system has the uid {} there and {} here", plan.cluster_uid, here);
  } else {
    // A release that was there is told by the uid of its anchor, whatever the server's address.
    if (!plan.anchor_uid.empty()) return {};
    if (address_in(plan.cluster) == address_in(environment.client.describe())) return {};
    why = fmt::format("the addresses differ, and the uid of namespace kube-system is not known {}",
                      plan.cluster_uid.empty() ? "of the plan's cluster" : "here");
  }
  return error(ErrorKind::Conflict, "the plan was made for another cluster, {}, and this is {}", plan.cluster,
               environment.client.describe())
      .with_because(std::move(why))
      .with_hint("choose that cluster with --context, or make a plan for this one: " +
                 release::command_text("plan", plan.id, "-o FILE"));
}

Status same_release(const SavedPlan& plan, const ReleaseState& state) {
  MIST_TRY_VOID(refuse_uninstalling(state));
  const std::string name = plan.id.display();
  if (!state.anchor)
    return plan.anchor_uid.empty()
               ? Status()
               : Status(moved(plan, fmt::format("release {} was uninstalled since", name)));
  if (plan.anchor_uid.empty()) return moved(plan, fmt::format("release {} was installed since", name));
  if (state.anchor->uid != plan.anchor_uid)
    return moved(plan, fmt::format("release {} was uninstalled and reinstalled since", name));
  const release::Head& head = state.anchor->head;
  if (head.latest != plan.head.latest || head.deployed != plan.head.deployed ||
      head.status != plan.head.status)
    return moved(plan, fmt::format("release {} is at revision {} ({}) now, and was at {} ({})", name,
                                   head.latest, release::to_string(head.status), plan.head.latest,
                                   release::to_string(plan.head.status)));
  return {};
}

// The difference between a decision then and now, in words.
std::string difference_between(const SavedAction& then, const SavedAction* now) {
  const std::string name = then.key.display();
  if (now == nullptr) return fmt::format("{} is gone", name);
  if (now->uid != then.uid)
    return then.uid.empty()   ? fmt::format("{} is there now", name)
           : now->uid.empty() ? fmt::format("{} is gone", name)
                              : fmt::format("{} was deleted and recreated", name);
  if (now->kind != then.kind)
    return fmt::format("{}: now \"{}\" ({}), in the plan \"{}\"", name, apply::to_string(now->kind),
                       now->reason, apply::to_string(then.kind));
  if (now->reason != then.reason && (then.kind == ActionKind::Delete || then.kind == ActionKind::Replace))
    return fmt::format("with {} other objects would go now ({})", name, now->reason);
  std::vector<std::string> fields;
  std::ranges::set_symmetric_difference(then.fields, now->fields, std::back_inserter(fields));
  if (fields.empty()) fields = now->fields;
  constexpr std::size_t kShown = 3;
  const bool more = fields.size() > kShown;
  if (more) fields.resize(kShown);
  return fmt::format("{} changed at {}{}", name, fields.empty() ? "its ownership labels" : join(fields, ", "),
                     more ? ", …" : "");
}

Status same_plan(const SavedPlan& plan, const apply::Plan& now) {
  // A hook that runs twice is there twice.
  std::multimap<apply::ObjectKey, SavedAction> actions;
  for (const auto* list : {&now.writes, &now.removals}) {
    for (const PlannedAction& action : *list) actions.emplace(action.key, saved(action));
  }
  constexpr std::size_t kShown = 10;
  std::vector<std::string> changes;
  for (SavedAction then : plan.actions) {
    auto found = actions.lower_bound(then.key);
    if (found != actions.end() && found->first != then.key) found = actions.end();
    if (found != actions.end() && found->second.digest == then.digest) {
      actions.erase(found);
      continue;
    }
    std::ranges::sort(then.fields);
    if (found != actions.end()) std::ranges::sort(found->second.fields);
    changes.push_back(difference_between(then, found == actions.end() ? nullptr : &found->second));
    if (found != actions.end()) actions.erase(found);
  }
  for (const auto& [key, action] : actions)
    changes.push_back(
        fmt::format("{}: now \"{}\", in the plan it is not", key.display(), apply::to_string(action.kind)));
  if (changes.empty()) return {};
  Error failure = moved(plan, changes.front());
  for (std::size_t i = 1; i < std::min(changes.size(), kShown); ++i)
    failure.frames.push_back("also: " + changes[i]);
  if (changes.size() > kShown) failure.frames.push_back(fmt::format("and {} more", changes.size() - kShown));
  return failure;
}

}  // namespace

Result<SavedPlan> save_plan(const Environment& environment, const PreparedDeploy& prepared,
                            const Context& context) {
  MIST_TRY_VOID(refuse_conflicts(prepared));
  MIST_TRY_VOID(refuse_drawn_changes(prepared.drawn_changes, prepared.state.id));
  SavedPlan plan;
  plan.id = prepared.state.id;
  plan.action = prepared.state.deployed ? "upgrade" : "install";
  plan.created = format_time(environment.clock.now());
  plan.created_by = environment.holder;
  plan.cluster = environment.client.describe();
  MIST_TRY(plan.cluster_uid, uid_of_cluster(environment, context));
  if (prepared.state.anchor) {
    plan.anchor_uid = prepared.state.anchor->uid;
    plan.head = prepared.state.anchor->head;
  } else {
    plan.fixed = prepared.state.fixed;
  }
  plan.revision = prepared.plan.revision;
  plan.options = prepared.options;
  plan.rendered = prepared.rendered;
  plan.rendered.secrets.clear();
  plan.rendered.looked_up.clear();
  plan.rendered.again = {};
  plan.rendered.objects.clear();
  for (const apply::DesiredObject& object : prepared.plan.desired) {
    if (!object.hook) plan.rendered.objects.push_back(object.rendered);
  }
  plan.tests = prepared.tests;
  plan.hooks = prepared.hooks;
  plan.rendered.hooks = prepared.verb;
  for (const auto* list : {&prepared.plan.writes, &prepared.plan.removals}) {
    for (const PlannedAction& action : *list) plan.actions.push_back(saved(action));
  }
  return plan;
}

std::string to_text(const SavedPlan& plan) {
  release::Revision revision;
  revision.number = plan.revision;
  revision.action = plan.action;
  revision.created = plan.created;
  revision.package = plan.rendered.package;
  revision.user_values = plan.rendered.user_values;
  revision.drawn = plan.rendered.drawn;
  revision.tests = plan.tests;
  revision.hooks = plan.hooks;
  revision.options =
      to_value(render::RecordedOptions{.allowed = plan.options.allowed,
                                       .hooks = plan.rendered.hooks.value_or(apply::HookVerb::None),
                                       .lookups = plan.rendered.lookups,
                                       .answers = plan.rendered.answers,
                                       .force_crds = plan.options.force_crds});
  revision.objects = plan.rendered.objects;
  Value::Array actions;
  for (const SavedAction& action : plan.actions) actions.push_back(to_value(action));
  const bool born = plan.anchor_uid.empty();
  const Value body = Value::object(
      {{"release", Value::object({{"namespace", plan.id.ns}, {"name", plan.id.name}})},
       {"created", plan.created},
       {"createdBy", plan.created_by},
       {"cluster", plan.cluster},
       {"clusterUid", plan.cluster_uid},
       {"anchorUid", plan.anchor_uid},
       {"head", release::to_value(plan.head)},
       {"seed", born ? Value(base64_encode(plan.fixed.seed.reveal())) : Value()},
       {"clock", born ? Value(plan.fixed.frozen_clock) : Value()},
       {"createNamespace", plan.options.create_namespace},
       {"takeOverFrom", plan.options.allowed.take_over_from
                            ? Value::object({{"namespace", plan.options.allowed.take_over_from->ns},
                                             {"name", plan.options.allowed.take_over_from->name}})
                            : Value()},
       {"message", plan.rendered.message},
       {"revision", release::to_value(revision)},
       {"actions", Value(std::move(actions))}});
  const std::string text = encoding::to_json(body);
  const Value head =
      Value::object({{"kind", kKind}, {"format", kPlanFormat}, {"digest", crypto::sha256(text).str()}});
  return encoding::to_json(head) + "\n" + text + "\n";
}

Result<SavedPlan> saved_plan_from(std::string_view text, const std::string& file) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return damaged(file);
  const auto head = encoding::parse_json(text.substr(0, end));
  if (!head.ok() || head->string_at("kind") != kKind) return damaged(file);
  const Value* format = head->find("format");
  if (format == nullptr || !format->is_int()) return damaged(file);
  if (format->as_int() > kPlanFormat)
    return error(ErrorKind::Invalid, "{} has format {}, this mistctl knows up to {}", file, format->as_int(),
                 kPlanFormat)
        .with_hint("use the mistctl that made it, or make it again");
  std::string_view body_text = text.substr(end + 1);
  if (!body_text.ends_with('\n')) return damaged(file);
  body_text.remove_suffix(1);
  if (crypto::sha256(body_text).str() != head->string_at("digest")) return damaged(file);
  MIST_TRY(const Value body, encoding::parse_json(body_text));
  const Value* revision_value = body.find("revision");
  const Value* actions = body.find("actions");
  const Value* head_value = body.find("head");
  if (revision_value == nullptr || actions == nullptr || !actions->is_array() || head_value == nullptr)
    return damaged(file);
  MIST_TRY(const release::Revision revision, release::revision_from_value(*revision_value));

  SavedPlan plan;
  plan.id = {std::string(body.string_at({"release", "namespace"})),
             std::string(body.string_at({"release", "name"}))};
  plan.action = revision.action;
  plan.created = body.string_at("created");
  plan.created_by = body.string_at("createdBy");
  plan.cluster = body.string_at("cluster");
  plan.cluster_uid = body.string_at("clusterUid");
  plan.anchor_uid = body.string_at("anchorUid");
  plan.head = release::head_from_value(*head_value);
  plan.revision = revision.number;
  if (plan.anchor_uid.empty()) {
    std::string seed;
    if (!base64_decode(body.string_at("seed"), seed) || seed.size() != 32) return damaged(file);
    plan.fixed = {SecretString(std::move(seed)), std::string(body.string_at("clock"))};
  }
  plan.options.create_namespace = flag(body, "createNamespace");
  if (const Value* other = body.find("takeOverFrom"); other != nullptr && other->is_object())
    plan.options.allowed.take_over_from =
        ReleaseId{std::string(other->string_at("namespace")), std::string(other->string_at("name"))};
  plan.rendered = recorded_release(revision);
  plan.rendered.hooks = plan.rendered.recorded_options.hooks.value_or(apply::HookVerb::None);
  plan.rendered.message = body.string_at("message");
  for (const Value& entry : actions->as_array()) {
    const auto kind = kind_from(entry.string_at("action"));
    if (!kind) return damaged(file);
    SavedAction action;
    action.kind = *kind;
    action.key = {{std::string(entry.string_at("group")), std::string(entry.string_at("kind"))},
                  std::string(entry.string_at("namespace")),
                  std::string(entry.string_at("name"))};
    action.uid = entry.string_at("uid");
    action.reason = entry.string_at("reason");
    action.digest = entry.string_at("digest");
    if (const Value* fields = entry.find("fields"); fields != nullptr && fields->is_array()) {
      for (const Value& field : fields->as_array()) {
        if (field.is_string()) action.fields.push_back(field.as_string());
      }
    }
    plan.actions.push_back(std::move(action));
  }
  return plan;
}

Intent saved_plan_intent(const Environment& environment, const SavedPlan& plan, const Context& context) {
  Intent intent;
  intent.action = plan.action;
  intent.check = [&environment, &plan, context](const ReleaseState& state) -> Status {
    MIST_TRY_VOID(same_cluster(environment, plan, context));
    return same_release(plan, state);
  };
  intent.render = [&plan](const ReleaseState& state) -> Result<RenderedRelease> {
    RenderedRelease rendered = plan.rendered;
    if (!state.anchor) rendered.fixed = plan.fixed;
    return rendered;
  };
  intent.agree = [&plan](const apply::Plan& now) { return same_plan(plan, now); };
  intent.may_change_nothing = plan.action == "upgrade";
  return intent;
}

}  // namespace mist::action
