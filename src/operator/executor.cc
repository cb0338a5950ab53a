#include "operator/executor.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "apimachinery/conditions.h"
#include "apply/fields/empty_first.h"
#include "apply/fields/field_transfer.h"
#include "apply/fields/server_made.h"
#include "apply/plan/settle.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/api_failure.h"
#include "kube/lost_version.h"
#include "operator/controller.h"
#include "operator/finalizer.h"
#include "operator/instance_status.h"
#include "operator/log_fields.h"
#include "reconcile/lost_record.h"
#include "reconcile/ownership.h"
#include "reconcile/status.h"

namespace mist::operator_ {
namespace {

constexpr std::size_t kParallelWrites = 8;

// `done`, as a span of what it is part of.
template <typename Do>
auto traced(const Span& parent, std::string_view name, const ObjectId& id, const Do& done) {
  Span span = parent.child(name);
  span.set("k8s.object", id.display());
  auto result = done();
  if (!result.ok()) span.fails(result.error().to_line());
  return result;
}

// An object that the server would refuse again too must not be deleted to be made again.
bool is_only_immutable(const Error& failure) {
  return kube::is_immutable(failure) && !kube::is_invalid_anyway(failure);
}

// Each object that goes has its own report, what a node writes has that of the node.
NodeReport& report_on(Plan& plan, const std::string& node, const ObjectId& id) {
  const auto own = std::find_if(plan.nodes.rbegin(), plan.nodes.rend(),
                                [&](const NodeReport& each) { return each.node == node && each.id == id; });
  if (own != plan.nodes.rend()) return *own;
  const auto told = std::ranges::find(plan.nodes, node, &NodeReport::node);
  MIST_CHECK(told != plan.nodes.end());
  return *told;
}

// The answer to a write has what others changed just before, of which the watch may not have told yet: the
// write's own echo must then be told too, or nobody would act on that.
kube::Informer::Echo echo_of(const Value& decided_on, const Value& answer) {
  const auto asks = [](const Value& instance) {
    return std::tuple(reconcile::for_functions(instance), apimachinery::is_terminating(instance),
                      reconcile::is_suspended(instance));
  };
  return asks(decided_on) == asks(answer) ? kube::Informer::Echo::Silent : kube::Informer::Echo::Told;
}

// Of a status with conditions.
const Value* ready_in(const Value& status) {
  const Value::Array& conditions = status.find("conditions")->as_array();
  const auto ready =
      std::ranges::find_if(conditions, [](const Value& each) { return each.string_at("type") == "Ready"; });
  return ready == conditions.end() ? nullptr : &*ready;
}

std::string_view ready_reason(const Value& status) {
  const Value* const ready = ready_in(status);
  return ready == nullptr ? std::string_view() : ready->string_at("reason");
}

kube::ObjectRef ref(const kube::MultiNamespaceInformer& instances, const Value& instance) {
  return {instances.resource(), std::string(instance.string_at({"metadata", "namespace"})),
          std::string(instance.string_at({"metadata", "name"}))};
}

}  // namespace

Value identity(const Value& object) {
  Value metadata = Value::object(
      {{"name", object.string_at({"metadata", "name"})}, {"uid", object.string_at({"metadata", "uid"})}});
  if (const std::string_view ns = object.string_at({"metadata", "namespace"}); !ns.empty())
    metadata.set("namespace", ns);
  return Value::object({{"apiVersion", object.string_at("apiVersion")},
                        {"kind", object.string_at("kind")},
                        {"metadata", std::move(metadata)}});
}

Result<Executor::Outcome> Executor::carry_out(kube::MultiNamespaceInformer& instances, const Value& instance,
                                              const blueprint::Blueprint* blueprint, Plan& plan,
                                              Memory& memory, const Item& item, const Span& span,
                                              const Context& context) {
  Outcome outcome;
  const bool terminating = apimachinery::is_terminating(instance);
  // While it is torn down the record only shrinks, but for the acts that run before.
  const bool has_acts = !plan.applies.empty() || plan.record.progress != memory.stored_record().progress;
  if (!terminating || has_acts) {
    auto stored = store(instances, instance, plan, memory, span, context);
    if (!stored.ok()) {
      // Nothing may be created that no record names; people must learn why.
      plan.record_fault = server_words(stored.error());
      MIST_TRY_VOID(write_status(instances, instance, blueprint, plan, memory, span, context));
      return std::move(stored).error();
    }
    outcome.wrote = *stored;
  } else {
    memory.keep(plan.record.unaccounted);
  }
  if (plan.accounted) memory.account();
  MIST_TRY_VOID(write_objects(plan, memory, item, outcome, span, context));
  remove_objects(plan, memory, item, span, context);
  MIST_TRY_VOID(context.check());
  if (terminating && plan.finished && has_finalizer(instance)) {
    if (blueprint == nullptr && reconcile::is_record_in_doubt(instance))
      tell_what_may_be_left(instance, context);
    const Status released = traced(span, "remove finalizer", id_of(instance),
                                   [&] { return release(instances, instance, item, context); });
    if (released.ok()) return outcome;
    // A status that doesn't fit its CRD any more makes the server refuse every other write.
    if (released.error().kind == ErrorKind::Invalid) {
      MIST_TRY_VOID(write_status(instances, instance, blueprint, plan, memory, span, context));
    }
    return released.error();
  }
  const bool all_well = std::ranges::none_of(
      plan.nodes, [](const NodeReport& each) { return each.state == NodeState::Failed; });
  if (outcome.wrote && all_well && memory.may_defer_status(clock_.steady_now())) return outcome;
  MIST_TRY_VOID(write_status(instances, instance, blueprint, plan, memory, span, context));
  memory.status_written();
  return outcome;
}

Result<Executor::Outcome> Executor::write_ahead(const Value& instance, Plan& plan, Memory& memory,
                                                const Item& item, const Span& span, const Context& context) {
  Outcome outcome;
  if (apimachinery::is_terminating(instance) || plan.applies.empty() || !is_recorded(instance, plan, memory))
    return outcome;
  memory.keep(plan.record);
  MIST_TRY_VOID(write_objects(plan, memory, item, outcome, span, context));
  return outcome;
}

bool Executor::is_recorded(const Value& instance, const Plan& plan, const Memory& memory) {
  const bool is_claimed =
      (plan.record.objects.empty() && plan.record.unaccounted.empty()) || has_finalizer(instance);
  return is_claimed && reconcile::says_as_much(memory.stored_record(), plan.record);
}

// Whether it was stored.
Result<bool> Executor::store(kube::MultiNamespaceInformer& instances, const Value& instance, const Plan& plan,
                             Memory& memory, const Span& span, const Context& context) const {
  if (is_recorded(instance, plan, memory)) {
    memory.keep(plan.record);
    return false;
  }
  std::string text = to_text(plan.record);
  MIST_TRY_VOID(
      traced(span, "record", id_of(instance), [&] { return claim(instances, instance, text, context); }));
  const Record before = memory.stored_record();
  // Nobody was ever asked to make them.
  for (const reconcile::Recorded& each : plan.record.objects)
    if (each.hash.empty() && before.find(each.id) == nullptr) memory.gone(each.id);
  memory.stored(std::move(text));
  return true;
}

Status Executor::write_objects(Plan& plan, Memory& memory, const Item& item, Outcome& outcome,
                               const Span& span, const Context& context) {
  return parallel_for(plan.applies.size(), kParallelWrites, [&](std::size_t i) {
    const reconcile::Apply& each = plan.applies[i];
    auto answer =
        traced(span, each.create ? "create" : "apply", each.id, [&] { return write(each, context); });
    const std::lock_guard lock(asking_);
    memory.there(each.id);
    if (!answer.ok()) {
      if (is_only_immutable(answer.error())) memory.refused(each.id, each.hash);
      fails(plan, memory, item, each.node, each.hash, each.id, answer.error());
      return context.check();
    }
    memory.succeeded(each.id, each.hash, clock_.steady_now());
    memory.took(each.id);
    observer_.put(each.id, *answer, apply::server_made(apply::differences(each.object, *answer, kManager)));
    outcome.wrote = true;
    events_.info(fmt::format("{} {}", each.create ? "created" : "changed", each.id.display()),
                 fields_of(item, Named::No, each.id));
    return Status();
  });
}

void Executor::remove_objects(Plan& plan, Memory& memory, const Item& item, const Span& span,
                              const Context& context) {
  for (const reconcile::Delete& each : plan.deletes) {
    const std::string& node = each.what.node;
    const ObjectId& id = each.what.id;
    if (is_held(plan, memory, node, id, each.input)) continue;
    if (const Status gone = traced(span, "delete", id, [&] { return remove(each, item, context); });
        !gone.ok())
      fails(plan, memory, item, node, each.input, id, gone.error());
    else
      memory.succeeded(id, each.input, clock_.steady_now());
  }
  for (const reconcile::Release& each : plan.releases) {
    if (is_held(plan, memory, each.node, each.id, {})) continue;
    if (const Status gone = traced(span, "let go", each.id, [&] { return let_go(each, item, context); });
        !gone.ok())
      fails(plan, memory, item, each.node, {}, each.id, gone.error());
    else
      memory.changed(each.id);
  }
}

// Other objects of the instance are tried at other times.
bool Executor::is_held(Plan& plan, const Memory& memory, const std::string& node, const ObjectId& id,
                       const std::string& input) const {
  const auto why = memory.held(id, input, clock_.steady_now());
  if (why) report_on(plan, node, id).fails(id, *why);
  return why.has_value();
}

void Executor::fails(Plan& plan, Memory& memory, const Item& item, const std::string& node,
                     const std::string& input, const ObjectId& id, const Error& failure) {
  const std::string words = server_words(failure);
  report_on(plan, node, id).fails(id, words);
  const Duration pause = memory.failed(id, input, words, clock_.steady_now());
  events_.warn(fmt::format("{}: {}: {}; next try in {} ms", label_of(item), id.display(), failure.to_line(),
                           std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()),
               fields_of(item, Named::Yes, id));
}

Result<Value> Executor::write(const reconcile::Apply& each, const Context& context) const {
  const apimachinery::GroupVersionKind gvk = each.id.gvk();
  MIST_TRY(const kube::ResourceInfo resource,
           client_.resource_for({gvk.group, gvk.kind}, gvk.version, context));
  Value object = each.object;
  // The server creates it, or answers 409 and writes nothing. Nor does it write to an object with another
  // uid.
  if (each.create)
    object["metadata"].set("resourceVersion", "1");
  else if (!each.uid.empty())
    object["metadata"].set("uid", each.uid);
  const kube::ObjectRef ref{resource, each.id.ns, each.id.name};
  const auto apply = [&] {
    return kube::apply_over_lost_version(
        client_, ref, object, {.field_manager = std::string(kManager), .force = each.force}, context);
  };
  const auto is_other = [&] {
    return error(ErrorKind::Conflict, "{} was deleted, or made again by somebody else, before it was changed",
                 each.id.display())
        .with_hint("it is looked at again as what it is now");
  };
  auto applied = apply();
  if (!applied.ok() && !each.create && kube::is_other_object(applied.error())) return is_other();
  if (!applied.ok() && !each.create && applied.error().kind == ErrorKind::Invalid) {
    MIST_TRY(const Value there, client_.get(ref, context));
    if (!each.uid.empty() && there.string_at({"metadata", "uid"}) != each.uid) return is_other();
    // A map that it would have emptied is refused as null.
    MIST_TRY(const bool emptied, empty(ref, each, there, context));
    if (emptied) applied = apply();
  }
  if (!applied.ok()) return applied;
  MIST_TRY(const bool emptied, empty(ref, each, *applied, context));
  return emptied ? client_.get(ref, context) : std::move(applied);
}

// Empties fields that applying can't empty. False: there is nothing to empty.
Result<bool> Executor::empty(const kube::ObjectRef& ref, const reconcile::Apply& each, const Value& there,
                             const Context& context) const {
  const auto emptied = apply::emptied_among(apply::differences(each.object, there, kManager));
  if (emptied.empty()) return false;
  const bool others = std::ranges::any_of(
      emptied, [](const apply::FieldDifference& difference) { return !difference.managers.empty(); });
  if (others && !each.force)
    return error(ErrorKind::Conflict, "other field managers own {}", emptied.front().path);
  MIST_TRY_VOID(apply::empty_fields(client_, ref, there, emptied, context));
  return true;
}

// In the version in which it was recorded; where that isn't served any more it is the same object in another.
Result<kube::ObjectRef> Executor::served(const ObjectId& id, const Context& context) const {
  auto resource = client_.resource_for(id.gvk().group_kind(), id.gvk().version, context);
  if (!resource.ok() && resource.error().kind == ErrorKind::NotFound)
    if (auto preferred = client_.resource_for(id.gvk().group_kind(), "", context); preferred.ok())
      resource = std::move(preferred);
  if (!resource.ok()) return std::move(resource).error();
  return kube::ObjectRef{*std::move(resource), id.ns, id.name};
}

Status Executor::remove(const reconcile::Delete& each, const Item& item, const Context& context) const {
  MIST_TRY(const kube::ObjectRef ref, served(each.what.id, context));
  const auto gone = client_.remove(ref, {.uid = each.uid}, context);
  // The watch had not told yet that it is gone.
  if (!gone.ok()) return gone.error().kind == ErrorKind::NotFound ? Status() : gone.error();
  events_.info(fmt::format("deleted {}", each.what.id.display()), fields_of(item, Named::No, each.what.id));
  return {};
}

Status Executor::let_go(const reconcile::Release& each, const Item& item, const Context& context) {
  MIST_TRY(const kube::ObjectRef ref, served(each.id, context));
  Value left = each.live;
  if (each.what == reconcile::Release::What::Finalizer)
    reconcile::take_finalizer_off(left);
  else
    reconcile::remove_ownership(left);
  Value patch = apply::merge_patch_between(each.live, left);
  apply::pin(patch, each.live);
  auto answer = client_.merge_patch(ref, patch, context);
  if (!answer.ok() && answer.error().kind != ErrorKind::NotFound) return std::move(answer).error();
  events_.info(fmt::format("let go of {}", each.id.display()), fields_of(item, Named::No, each.id));
  return {};
}

Status Executor::claim(kube::MultiNamespaceInformer& instances, const Value& instance,
                       const std::string& record, const Context& context) const {
  Value object = identity(instance);
  object["metadata"].set("finalizers", Value::array({kFinalizer}));
  object["metadata"]["annotations"].set(kRecordAnnotation, record);
  MIST_TRY(Value answer, client_
                             .apply(ref(instances, instance), object,
                                    {.field_manager = std::string(kManager), .force = true}, context)
                             .in("while the record was written"));
  instances.put(std::move(answer), kube::Informer::Echo::Silent);
  return {};
}

// Nobody knows what kinds of objects it had.
void Executor::tell_what_may_be_left(const Value& instance, const Context& context) {
  notices_.tell(
      instance, true, "RecordLost",
      fmt::format("the record of what was made was lost, and there is no blueprint: objects with the "
                  "label {}={} may be left",
                  kInstanceLabel, instance.string_at({"metadata", "uid"})),
      context);
}

Status Executor::release(kube::MultiNamespaceInformer& instances, const Value& instance, const Item& item,
                         const Context& context) const {
  MIST_TRY_VOID(
      remove_finalizer(client_, ref(instances, instance), identity(instance), kRecordAnnotation, context)
          .in("while the finalizer was removed"));
  events_.info(fmt::format("{} is torn down", id_of(instance).display()),
               fields_of(item, Named::No, id_of(instance)));
  return {};
}

// With the lock. One that waits for a person, as a suspended one does, isn't expected to become ready.
bool Executor::is_stalled(const kube::ResourceInfo& resource, const Value& instance, const Value& status,
                          const blueprint::Blueprint* blueprint, Memory& memory) const {
  const auto deadline = blueprint == nullptr ? std::nullopt : blueprint->progress_deadline();
  const Value* const ready = ready_in(status);
  if (!deadline || ready == nullptr || ready->string_at("status") != "False") {
    memory.not_stalled();
    return false;
  }
  // Where the status is a field like others, each status makes a new generation.
  const Value* const generation =
      resource.has_status ? instance.at_path({"metadata", "generation"}) : nullptr;
  const SteadyTime now = clock_.steady_now();
  const Value* const before = apimachinery::condition_of(instance, "Ready");
  const Value* const seen = before == nullptr ? nullptr : before->find("observedGeneration");
  SteadyTime since = now;
  if (before != nullptr && before->string_at("status") == "False" &&
      (generation == nullptr || (seen != nullptr && *seen == *generation)))
    if (const auto at = parse_time(before->string_at("lastTransitionTime")))
      since = now - std::chrono::duration_cast<SteadyTime::duration>(
                        std::max<Duration>(clock_.now() - *at, Duration()));
  return memory.is_stalled(generation != nullptr && generation->is_int() ? generation->as_int() : 0, since,
                           *deadline, now);
}

Status Executor::write_status(kube::MultiNamespaceInformer& instances, const Value& instance,
                              const blueprint::Blueprint* blueprint, const Plan& plan, Memory& memory,
                              const Span& span, const Context& context) const {
  const auto put = [&](const Plan& told) -> Status {
    Value status = reconcile::status_of(told, instance, format_time(clock_.now()));
    {
      const std::lock_guard lock(asking_);
      memory.is_ready_for(ready_reason(status));
      if (is_stalled(instances.resource(), instance, status, blueprint, memory))
        reconcile::add_stalled(status, *blueprint->progress_deadline(), instance, format_time(clock_.now()));
    }
    // Where the status is a field like others, writing it makes a new generation, and that one a new status.
    if (!instances.resource().has_status)
      for (Value& condition : status.find("conditions")->as_array()) condition.erase("observedGeneration");
    if (reconcile::has_status(blueprint, instance, status)) return {};
    MIST_TRY(Value answer, traced(span, "write status", id_of(instance), [&] {
               return put_status(client_, ref(instances, instance), identity(instance), status, context)
                   .in("while the status was written");
             }));
    notices_.of_instance(instance, *status.find("conditions"), context);
    const kube::Informer::Echo echo = echo_of(instance, answer);
    instances.put(std::move(answer), echo);
    return {};
  };
  Status written = put(plan);
  if (written.ok() || written.error().kind != ErrorKind::Invalid || blueprint == nullptr) return written;
  // The CRD can ask more than the contract. Without the values of nodes the conditions can be written; not
  // even the values of before fit a CRD that has changed since.
  Plan without = plan;
  without.status_fault = server_words(written.error());
  for (Value& values : std::array{reconcile::status_before(*blueprint, instance), Value::object()}) {
    if (written.ok() || written.error().kind != ErrorKind::Invalid) break;
    if (values == without.status) continue;
    without.status = std::move(values);
    written = put(without);
  }
  return written;
}

}  // namespace mist::operator_
