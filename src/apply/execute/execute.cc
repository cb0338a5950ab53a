#include "apply/execute/execute.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "apply/execute/object_writer.h"
#include "apply/execute/own_gates.h"
#include "apply/execute/remove.h"
#include "apply/execute/run_graph.h"
#include "apply/execute/run_report.h"
#include "apply/execute/write_claims.h"
#include "apply/fields/field_place.h"
#include "apply/order/order.h"
#include "apply/order/pod_template.h"
#include "apply/plan/hooks.h"
#include "apply/plan/left_as_is.h"
#include "apply/plan/refusal.h"
#include "apply/wait/edge_wait.h"
#include "apply/wait/pod_logs.h"
#include "apply/wait/wait.h"
#include "apply/wait/waiting_rules.h"
#include "base/one_line.h"
#include "base/text.h"
#include "kube/deletion.h"

namespace mist::apply {

using graph::Node;

namespace {

constexpr auto kLogLimit = std::chrono::seconds(30);  // of reading what a hook printed

std::string_view progress_word(ActionKind kind) {
  switch (kind) {
    case ActionKind::Create:
      return "created";
    case ActionKind::Replace:
      return "replaced";
    case ActionKind::Adopt:
      return "adopted";
    case ActionKind::Update:
    case ActionKind::Unchanged:
    case ActionKind::Conflict:
    case ActionKind::Delete:
    case ActionKind::Retain:
      return "configured";
  }
  return "configured";
}

class Writer {
 public:
  Writer(kube::Client& client, const Plan& plan, const ExecuteOptions& options, EventSink& events,
         const Context& context)
      : client_(client),
        plan_(plan),
        options_(options),
        events_(events),
        context_(context),
        written_(plan.writes.size()),
        objects_(client, plan, options, events, context,
                 [this](const PlannedAction& action, const Error& refusal) {
                   return gates_are_sent(action, refusal);
                 }),
        own_gates_(client, plan, context),
        deleted_(plan.writes.size(), 0),
        left_(plan.writes.size()) {}

  std::vector<char> take_deleted() { return std::move(deleted_); }
  /// The facts about each write whose turn has ended. From any thread.
  Execution so_far() {
    Execution execution;
    for (Node node = 0; node < plan_.writes.size(); ++node) {
      const bool ended = claims_.has_ended(node);
      const Written written = ended ? written_[node] : Written();
      execution.uids.push_back(written.uid);
      execution.versions.push_back(ended ? still_version(node) : std::string());
      execution.earlier_failures.push_back(written.earlier_failure);
      execution.server_made.push_back(written.server_made);
      execution.left.push_back(ended ? left_[node] : std::string());
    }
    const std::scoped_lock lock(late_mutex_);
    execution.late = late_;
    return execution;
  }
  WaitSource source(Node node) const {
    return {.version = written_[node].version,
            .uid = written_[node].uid,
            .earlier_failure = written_[node].earlier_failure};
  }
  /// At which a written object can be deleted without another look; empty: it changes by itself.
  std::string still_version(Node node) const {
    const apimachinery::Object& object = plan_.desired[plan_.writes[node].desired].rendered.object;
    return pod_template(object) != nullptr ? std::string() : written_[node].version;
  }

  Status write(Node node) {
    if (node >= plan_.writes.size()) return pass(node);
    return claims_.claim(node) ? claims_.finish(node, write_now(node)) : claims_.outcome(node);
  }

  /// Also of a write whose turn never came, because another one needed it.
  bool is_written(Node node) const { return claims_.done(node); }

  /// Deletes what a hook left, if it is there: once.
  Status delete_hook(Node node) {
    const PlannedAction& action = plan_.writes[node];
    if (deleted_[node] != 0 || written_[node].uid.empty() ||
        !hook_may_go(action, plan_.desired[action.desired]))
      return {};

    const kube::ObjectRef ref = written_at(node);
    const auto gone = kube::delete_object(
        client_, ref,
        {.uid = written_[node].uid,
         .resource_version = still_version(node),
         .recheck = [&](const Value& now) { return objects_.may_be_deleted(action, now); }},
        context_);
    if (!gone.ok())
      return Error(gone.error()).with_frame(fmt::format("while deleting the hook {}", action.key.display()));
    MIST_TRY_VOID(wait_until_gone(client_, ref, written_[node].uid, options_.edge_timeout, context_)
                      .in(fmt::format("while waiting until the hook {} is gone", action.key.display())));
    deleted_[node] = 1;
    events_.object({action.key.display(), "deleted", "its hook has ended"});
    return {};
  }

  /// Shows the output of a hook that ended, if its annotation helm.sh/hook-output-log-policy asks for it and
  /// this run began the hook. From any thread, after its write.
  void show_logs(Node node, const Status& ended) {
    const auto& hook = plan_.desired[plan_.writes[node].desired].hook;
    if (!hook || written_[node].version.empty() || !(ended.ok() ? hook->log_succeeded : hook->log_failed))
      return;
    const kube::ObjectRef ref = written_at(node);
    const ObjectKey key{ref.resource.gvk.group_kind(), ref.ns, ref.name};
    const Context context = context_.with_timeout(kLogLimit);
    auto pods = pods_of(key, node, context);
    if (!pods.ok()) {
      if (context_.check().ok())
        events_.warn(fmt::format("the output of the hook {} can't be read: {}", key.display(),
                                 pods.error().to_line()));
      return;
    }
    for (const Value& pod : *pods) {
      for (const ContainerLog& log : pod_logs(client_, pod, events_, context)) show(key, log);
    }
  }

 private:
  Status write_now(Node node) {
    const PlannedAction& action = plan_.writes[node];
    Written& written = written_[node];
    written.uid = action.uid;
    written.server_made = action.recorded.server_made;
    if (action.kind == ActionKind::Unchanged) {
      if (action.again) stay_as_written(node, *action.again);
      events_.object({action.key.display(), action.recorded.left ? "left as it is" : "unchanged", {}});
    } else {
      Status sent = objects_.send(action, replaced_by(action), written);
      if (written.place) {
        const std::scoped_lock lock(late_mutex_);
        late_.insert_or_assign(node, *written.place);
      }
      if (!sent && options_.leave_refused && may_be_left(plan_, action, sent.error())) {
        left_[node] =
            fmt::format("it is refused by the server ({})",
                        one_line(sent.error().because.empty() ? sent.error().message : sent.error().because));
        events_.object({action.key.display(), "left as it is", {}});
        events_.warn(fmt::format("{} is left as it is: {}", action.key.display(), left_[node]));
        return {};
      }
      if (!sent) {
        events_.object(failed_progress(action.key, sent.error()));
        Error failure =
            std::move(sent).error().with_frame(fmt::format("while applying {}", action.key.display()));
        const RenderedObject& rendered = plan_.desired[action.desired].rendered;
        return at_refused_field(std::move(failure), rendered);
      }
      events_.object({action.key.display(), std::string(progress_word(action.kind)), {}});
    }
    return {};
  }

  // A hook's second run, which does nothing.
  void stay_as_written(Node node, Node first) {
    written_[node] = written_[first];
    const std::scoped_lock lock(late_mutex_);
    if (const auto late = late_.find(first); late != late_.end()) late_.insert_or_assign(node, late->second);
  }

  Replaced replaced_by(const PlannedAction& action) const {
    if (!action.again) return {.uid = action.uid, .version = action.live.resource_version};
    if (deleted_[*action.again] != 0) return {};
    return {.uid = written_[*action.again].uid, .version = still_version(*action.again)};
  }

  Result<std::vector<Value>> pods_of(const ObjectKey& key, Node node, const Context& context) {
    if (key.group_kind == GroupKind{"batch", "Job"})
      return pods_of_job(client_, key, written_[node].uid, context);
    if (key.group_kind != GroupKind{"", "Pod"}) return std::vector<Value>();
    MIST_TRY(Value pod, client_.get(written_at(node), context));
    return std::vector<Value>{std::move(pod)};
  }

  void show(const ObjectKey& key, const ContainerLog& log) {
    std::string_view text = log.text;
    if (text.ends_with('\n')) text.remove_suffix(1);
    for (const std::string_view line : split(text, '\n'))
      events_.info(fmt::format("{}, {} │ {}", key.display(), log.container, line));
    if (log.cut) events_.info(fmt::format("{}, {} │ … (there is more)", key.display(), log.container));
  }

  kube::ObjectRef written_at(Node node) {
    const PlannedAction& action = plan_.writes[node];
    const std::scoped_lock lock(late_mutex_);
    const auto late = late_.find(node);
    return late == late_.end() ? kube::ObjectRef{action.resource, action.key.ns, action.key.name}
                               : late->second;
  }

  // A barrier: what happens when everything before it is so.
  Status pass(Node node) {
    const Order& order = plan_.order;
    if (node == order.before_ended) return delete_succeeded(HookPhase::Before);
    if (node == order.after_ended) return delete_succeeded(HookPhase::After);
    if (node != order.written || !options_.before_last_hooks) return {};
    return options_.before_last_hooks(so_far());
  }

  // The last one first, as Helm does.
  Status delete_succeeded(HookPhase phase) {
    for (Node node = plan_.writes.size(); node-- > 0;) {
      const auto& hook = plan_.desired[plan_.writes[node].desired].hook;
      if (hook && hook->phase == phase && hook->delete_succeeded) MIST_TRY_VOID(delete_hook(node));
    }
    return {};
  }

  // Whether what refused it is changed by this plan, and now is. A write that was brought forward brings none
  // forward itself, and nobody waits here for what others are sending: two could wait for each other.
  bool gates_are_sent(const PlannedAction& action, const Error& refusal) {
    const auto node = static_cast<Node>(&action - plan_.writes.data());
    if (claims_.is_ahead(node)) return false;
    const Gates gates = own_gates_.gates_of(node, refusal);
    bool sent = false;
    for (const std::size_t gate : gates.writes) {
      const auto is_open = [&](std::size_t before) {
        return apply::is_written(plan_.writes[before]) && !claims_.done(before);
      };
      if (claims_.failed(gate) || std::ranges::any_of(own_gates_.writes_before(gate), is_open)) continue;
      if (claims_.claim(gate, true)) (void)claims_.finish(gate, write_now(gate));
      sent |= !claims_.failed(gate);
    }
    for (const std::size_t gate : gates.removals) {
      if (!options_.delete_gate || removal_claims_.failed(gate)) continue;
      if (removal_claims_.claim(gate))
        (void)removal_claims_.finish(gate, options_.delete_gate(plan_.removals[gate]));
      sent |= !removal_claims_.failed(gate);
    }
    return sent;
  }

  kube::Client& client_;
  const Plan& plan_;
  const ExecuteOptions& options_;
  EventSink& events_;
  const Context& context_;
  std::vector<Written> written_;  // each element has one writer
  ObjectWriter objects_;
  std::mutex late_mutex_;
  std::map<std::size_t, kube::ObjectRef> late_;  // guarded by late_mutex_
  OwnGates own_gates_;
  WriteClaims claims_;
  WriteClaims removal_claims_;  // of Plan::removals
  std::vector<char> deleted_;
  std::vector<std::string> left_;
};

// About how long it takes until an object is what those behind it, or somebody who waits for the release,
// want it to be; in requests. A Job runs to its end, Pods must start, a controller has to look at the rest.
constexpr std::size_t kRequest = 1, kController = 5, kPods = 50, kJob = 200;

std::size_t cost_of(const apimachinery::Object& object, bool awaited) {
  if (!awaited || !is_worth_waiting(object.value())) return kRequest;
  if (object.gvk().group_kind() == GroupKind{"batch", "Job"}) return kJob;
  return pod_template(object) != nullptr ? kPods : kController;
}

std::vector<std::size_t> costs_of(const Plan& plan, const RunOrder& order, bool urgent) {
  std::vector<std::size_t> costs(order.graph.size(), 0);
  const auto object = [&](Node node) -> const apimachinery::Object& {
    return plan.desired[plan.writes[node].desired].rendered.object;
  };
  for (Node node = 0; node < plan.writes.size(); ++node) costs[node] = cost_of(object(node), urgent);
  for (std::size_t i = 0; i < order.waits.size(); ++i) {
    const std::optional<std::size_t>& source = order.waits[i].write;
    costs[order.first_wait + i] =
        source ? std::max(kController, cost_of(object(*source), true)) : kController;
  }
  return costs;
}

// After a failed hook: deletes the hooks that its policy, and those of the hooks before it, want deleted. A
// hook that can't be deleted now still belongs to the release.
void delete_after_failure(const Plan& plan, const RunOrder& order, const GraphRun& run, Writer& writer,
                          EventSink& events) {
  for (const auto& [node, failure] : run.failures) {
    if (!order.is_wait(node) || failure.kind == ErrorKind::Cancelled) continue;
    const EdgeWait& wait = order.waits[node - order.first_wait];
    if (wait.predicate != EdgePredicate::Done || !wait.write) continue;
    const auto& failed = plan.desired[plan.writes[*wait.write].desired].hook;
    for (Node each = 0; failed && each <= *wait.write; ++each) {
      const auto& hook = plan.desired[plan.writes[each].desired].hook;
      if (!hook || hook->phase != failed->phase) continue;
      if (each == *wait.write ? !hook->delete_failed : !hook->delete_succeeded) continue;
      if (const Status deleted = writer.delete_hook(each); !deleted.ok())
        events.warn(deleted.error().to_line());
    }
  }
}

}  // namespace

Execution execute_writes(kube::Client& client, const Plan& plan, const ExecuteOptions& options,
                         EventSink& events, const Context& context) {
  Writer writer(client, plan, options, events, context);
  const RunOrder order = run_order(plan);
  EdgeWaiter waiter(client, plan, order.waits, {.limit = options.edge_timeout}, events, context);
  NodeWork work{.costs = costs_of(plan, order, options.urgent),
                .work = [&](Node node) { return writer.write(node); },
                .waits = [&](Node node) { return order.is_wait(node); },
                .begin =
                    [&](Node node, NodeDone done) {
                      const EdgeWait& wait = order.waits[node - order.first_wait];
                      waiter.begin(node - order.first_wait,
                                   wait.write ? writer.source(*wait.write) : WaitSource(),
                                   [&client, &writer, &wait, done = std::move(done)](Status status) {
                                     if (wait.predicate == EdgePredicate::Done && wait.write)
                                       writer.show_logs(*wait.write, status);
                                     client.invalidate_discovery();  // new kinds may be served now
                                     done(std::move(status));
                                   });
                    }};
  const GraphRun run = run_graph(order.graph, options.parallel, work, context);
  std::vector<Outcome> outcomes = outcomes_of(run, plan.writes.size());
  for (Node node = 0; node < plan.writes.size(); ++node)
    if (writer.is_written(node)) outcomes[node] = Outcome::Done;
  delete_after_failure(plan, order, run, writer, events);
  Execution execution = writer.so_far();
  execution.writes = std::move(outcomes);
  execution.deleted = writer.take_deleted();
  execution.removals.assign(plan.removals.size(), Outcome::NotStarted);
  const auto name_of = [&](Node node) -> std::string {
    if (node < plan.writes.size()) return plan.writes[node].key.display();
    return order.is_wait(node) ? waiter.source_name(node - order.first_wait) : std::string();
  };
  execution.failure = failure_of(run, order.graph, plan.writes.size(), name_of, "are written", context);
  return execution;
}

std::vector<InventoryItem> inventory_after(const Plan& plan, const Execution& execution) {
  std::vector<InventoryItem> inventory = inventory_of(plan);
  std::vector<InventoryItem> after;
  for (std::size_t i = 0; i < inventory.size(); ++i) {
    if (i < plan.writes.size()) {
      const bool deleted = !execution.deleted.empty() && execution.deleted[i] != 0;
      const bool replaced = plan.writes[i].kind == ActionKind::Replace;
      const bool left = i < execution.left.size() && !execution.left[i].empty();
      const bool done = execution.writes[i] == Outcome::Done && !left;
      if (left) inventory[i].left = execution.left[i];
      if (!execution.uids[i].empty() && (!replaced || done)) inventory[i].uid = execution.uids[i];
      if (const auto sent = execution.late.find(i); sent != execution.late.end())
        inventory[i].key.ns = sent->second.ns;
      if (done) inventory[i].replacing = false;
      if (done && i < execution.server_made.size()) inventory[i].server_made = execution.server_made[i];
      if (done) inventory[i].fields_taken = plan.writes[i].recorded.fields_taken;
      if (deleted) inventory[i].uid.clear();
      // An object whose write was refused or never sent keeps the revision that last changed it.
      if (!done) inventory[i].revision = plan.writes[i].recorded.previous_revision;
    } else if (i < plan.writes.size() + plan.removals.size() &&
               execution.removals[i - plan.writes.size()] == Outcome::Done) {
      continue;
    }
    after.push_back(std::move(inventory[i]));
  }
  return after;
}

}  // namespace mist::apply
