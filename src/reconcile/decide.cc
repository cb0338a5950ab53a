#include "reconcile/decide.h"

#include <algorithm>
#include <map>
#include <set>

#include "apimachinery/conditions.h"
#include "base/text.h"
#include "reconcile/lost_record.h"
#include "reconcile/member_order.h"
#include "reconcile/node_kinds.h"
#include "reconcile/ownership.h"
#include "reconcile/prune.h"
#include "reconcile/status.h"

namespace mist::reconcile {
namespace {

using apimachinery::true_condition;
using blueprint::Blueprint;
using blueprint::NodeType;
using blueprint::Policy;
using graph::Truth;

bool is_ended(const Value& job) {
  return true_condition(job, "Complete") != nullptr || true_condition(job, "Failed") != nullptr;
}

std::string failure_of(const Value& job) {
  const Value* const failed = true_condition(job, "Failed");
  return failed == nullptr ? "its Job has failed"
                           : fmt::format("its Job has failed: {}: {}", failed->string_at("reason"),
                                         failed->string_at("message"));
}

// Whether none of its Pods runs, and none will before somebody resumes it: so it doesn't end by itself.
bool is_held_back(const Value& job) {
  const Value* const suspend = job.at_path({"spec", "suspend"});
  if (suspend == nullptr || *suspend != Value(true) || true_condition(job, "Suspended") == nullptr)
    return false;
  static constexpr std::string_view kCounts[] = {"active", "terminating", "succeeded", "failed"};
  return std::ranges::all_of(kCounts, [&](std::string_view count) {
    const Value* const pods = job.at_path({"status", count});
    return pods == nullptr || *pods == Value(0);
  });
}

// Whether nothing is lost with an object of that kind: all that it has is what its node makes. Not so of a
// StatefulSet, which may take its volumes along, nor of a Job, which would run once more.
bool only_runs(const ObjectId& id) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"", "Pod"},
      {"", "ReplicationController"},
      {"apps", "DaemonSet"},
      {"apps", "Deployment"},
      {"apps", "ReplicaSet"},
  };
  const apimachinery::GroupKind kind = id.gvk().group_kind();
  return std::ranges::find(kKinds, std::pair<std::string_view, std::string_view>(kind.group, kind.kind)) !=
         std::ranges::end(kKinds);
}

class Reconciler {
 public:
  Reconciler(const Blueprint& blueprint, const Value& instance, const Record& recorded,
             const Queries& queries)
      : blueprint_(blueprint),
        recorded_(recorded),
        queries_(queries),
        instance_(instance),
        uid_(instance.string_at({"metadata", "uid"})),
        survey_(blueprint, instance, recorded, queries) {
    plan_.record.progress = recorded.progress;
    plan_.record.last_acts = recorded.last_acts;
    for (const blueprint::Node& each : blueprint.nodes()) reports_.emplace_back().node = each.name;
  }

  // The acts that run before an instance is torn down, with the objects of theirs that stay meanwhile;
  // `survivors` learns the nodes whose objects wait for one of them, and its own. An act that has run is none
  // of these.
  Plan run_last_acts(Survivors& survivors) {
    remember_successes();
    for (const graph::Node node : blueprint_.order()) {
      const std::string& name = told(node).name;
      if (!told(node).at_teardown || goes_out_of_order(instance_, name) ||
          !survey_.has_something_to_save(node))
        continue;
      if (const Facts& facts = survey_.of(node);
          facts.made == Facts::Made::Yes && recorded_.reached(name, facts.hash))
        continue;
      judge_node(node);
      if (survey_.wanted(node) == Truth::False) continue;
      judge_former_jobs(node, survivors.freed);
      // One that is wanted only now, too.
      const auto& held = plan_.record.last_acts[name] = survey_.held_by(node);
      survivors.held.emplace(name, name);
      for (const std::string& before : held) survivors.held.emplace(before, name);
      plan_.nodes.push_back(std::move(reports_[node]));
    }
    return std::move(plan_);
  }

  Plan run() {
    remember_successes();
    note_last_acts();
    for (const graph::Node node : blueprint_.order()) judge_node(node);
    fill_status();
    keep_what_cannot_be_judged();
    plan_ahead();
    std::ranges::move(reports_, std::back_inserter(plan_.nodes));
    remove_the_rest();
    std::ranges::sort(plan_.record.objects, {},
                      [](const Recorded& each) { return std::tie(each.node, each.id); });
    return std::move(plan_);
  }

 private:
  const blueprint::Node& told(graph::Node node) const { return blueprint_.nodes()[node]; }

  void report(graph::Node node, NodeState state, std::string detail = {}) {
    // Of several objects the first that isn't ready speaks, or one that is written while that waits.
    NodeReport& report = reports_[node];
    const bool is_written = state == NodeState::Changing && report.state == NodeState::Waiting;
    if (report.state != NodeState::NotWanted && report.state != NodeState::Ready && !is_written) return;
    report.state = state;
    report.detail = std::move(detail);
  }

  // Jobs of inputs that a last act no longer has: it waits for those that run, and the others, `freed`, don't
  // wait for it.
  void judge_former_jobs(graph::Node node, std::set<ObjectId>& freed) {
    if (survey_.wanted(node) != Truth::True || survey_.of(node).made != Facts::Made::Yes) return;
    for (const Recorded& each : recorded_.objects) {
      if (each.node != told(node).name || survey_.member(node, each.id) != nullptr) continue;
      if (is_running_act(node, each))
        plan_.record.objects.push_back(each);
      else
        freed.insert(each.id);
    }
  }

  // For the day on which there is no blueprint.
  void note_last_acts() {
    plan_.record.last_acts.clear();
    for (const graph::Node node : blueprint_.order())
      if (told(node).at_teardown && survey_.closure().wanted(node) != Truth::False)
        plan_.record.last_acts[told(node).name] = survey_.held_by(node);
  }

  void judge_node(graph::Node node) {
    const Facts& facts = survey_.of(node);
    NodeReport& report_of = reports_[node];
    report_of.oscillating = queries_.frozen && queries_.frozen(report_of.node);
    if (!facts.members.empty()) report_of.id = facts.members.front().id;
    report_of.hash = facts.hash;
    report_of.wanted = survey_.wanted(node);
    if (facts.waits_on) report_of.waits_on = told(*facts.waits_on).name;
    if (survey_.wanted(node) == Truth::False) return;
    if (survey_.wanted(node) == Truth::Unknown)
      return report(node, NodeState::Waiting,
                    report_of.oscillating ? "it came and went too often: it stays as it is for a while"
                                          : "whether it is wanted is not known yet");
    if (facts.made == Facts::Made::Pending) return report(node, NodeState::Waiting, facts.why);
    if (facts.made == Facts::Made::Failed) return report(node, NodeState::Failed, facts.why);
    switch (told(node).type) {
      case NodeType::Read:
      case NodeType::List:
      case NodeType::Value:
      case NodeType::Http:
        return judge(node);
      case NodeType::Own:
      case NodeType::Package:
      case NodeType::Absent:
      case NodeType::Act:
        break;
    }
    for (const Member& member : facts.members) {
      if (!is_active(node, member)) continue;
      if (told(node).keeps_objects())
        own(node, member);
      else if (told(node).type == NodeType::Act)
        act(node, member);
      else
        absent(node, member);
    }
    if (report_of.state == NodeState::NotWanted || report_of.state == NodeState::Ready) {
      report_of.state = NodeState::NotWanted;
      judge(node);
    }
  }

  void judge(graph::Node node) {
    std::string why;
    if (survey_.ready(node, &why)) return report(node, NodeState::Ready);
    const Facts& facts = survey_.of(node);
    const bool is_there =
        !facts.members.empty() &&
        std::ranges::all_of(facts.members, [](const Member& each) { return each.observed.there(); });
    if ((!facts.answer.failure.empty() && facts.answer.stale) || survey_.failed_release(node) != nullptr)
      return report(node, NodeState::Failed, std::move(why));
    report(node, is_there ? NodeState::Progressing : NodeState::Waiting, std::move(why));
  }

  // Of the states of an object one is active: the last whose predecessors were reached, else the first.
  bool is_active(graph::Node node, const Member& member) {
    const std::vector<graph::Node>& states = survey_.writers().at(member.id.key());
    if (states.size() > 1 && survey_.disordered(states)) {
      const graph::Node other = states.front() == node ? states.back() : states.front();
      report(node, NodeState::Failed,
             fmt::format("the node {} is {} too, and no order leads from one to the other",
                         blueprint_.name_of(other), member.id.display()));
      return false;
    }
    if (const std::string why = undecided(states, member.id); !why.empty()) {
      report(node, NodeState::Waiting, why);
      return false;
    }
    const std::vector<graph::Node> detours = detours_of(states, member.id);
    const auto detour_before = [&](graph::Node state) {
      return std::ranges::find_if(detours,
                                  [&](graph::Node each) { return blueprint_.precedes(each, state); });
    };
    std::optional<graph::Node> active;
    for (const graph::Node state : states) {
      if (survey_.wanted(state) != Truth::True) continue;
      if (!active || (is_open(state, member.id) && detour_before(state) == detours.end())) active = state;
    }
    if (active == node) {
      remember_former_states(node, states);
      return true;
    }
    if (active && blueprint_.precedes(node, *active)) {
      report(node, NodeState::Superseded,
             fmt::format("{} is in its state {}", member.id.display(), blueprint_.name_of(*active)));
      return false;
    }
    if (const auto detour = detour_before(node); survey_.of(node).gate.empty() && detour != detours.end()) {
      reports_[node].waits_on = told(*detour).name;
      report(node, NodeState::Waiting,
             fmt::format("waits for {}, which has to be written first", told(*detour).name));
      return false;
    }
    report(node, NodeState::Waiting, survey_.of(node).gate);
    return false;
  }

  bool is_open(graph::Node state, const ObjectId& id) const {
    return survey_.of(state).gate.empty() || is_in(state, id);
  }
  // Whether the object is in that state.
  bool is_in(graph::Node state, const ObjectId& id) const {
    return survey_.latched(state, *survey_.member(state, id));
  }

  // Nodes with a new input that is to be written in a former state of the object (or, along a continuous
  // edge, with a repair), so that the later ones have to wait: they would wait for that state without end if
  // nobody went back to it.
  std::vector<graph::Node> detours_of(const std::vector<graph::Node>& states, const ObjectId& id) const {
    std::vector<graph::Node> found;
    for (graph::Node node = 0; states.size() > 1 && node < blueprint_.nodes().size(); ++node) {
      if (std::ranges::find(states, node) != states.end() || !has_to_be_written(node)) continue;
      const bool goes_back =
          std::ranges::any_of(survey_.of(node).unmet, [&](std::size_t i) { return is_from(i, states); }) &&
          is_worth_going_back(node);
      const bool is_detour =
          goes_back || std::ranges::any_of(blueprint_.edges_into(node), [&](std::size_t i) {
            return is_from(i, states) && waits_for_state(i) && is_in(blueprint_.sequence()[i].from, id);
          });
      if (is_detour) found.push_back(node);
    }
    return found;
  }

  bool has_to_be_written(graph::Node node) const {
    const Facts& facts = survey_.of(node);
    const NodeType type = told(node).type;
    if (survey_.wanted(node) != Truth::True || facts.made != Facts::Made::Yes) return false;
    if (type == NodeType::Act) return !recorded_.reached(told(node).name, facts.hash);
    return (told(node).keeps_objects() || type == NodeType::Absent) &&
           std::ranges::any_of(facts.members, [&](const Member& each) {
             if (survey_.latched(node, each) && facts.repair_gate.empty()) return false;
             return type == NodeType::Absent ? each.observed.there()
                                             : each.observed.absent() || (each.ours && each.dirty);
           });
  }

  // An edge that waits until an object is in its state. Only an act has it deleted once more.
  bool waits_for_state(std::size_t edge_index) const {
    const blueprint::SequenceEdge& edge = blueprint_.sequence()[edge_index];
    const bool is_ready = edge.until == blueprint::Condition::Ready && told(edge.from).keeps_objects();
    const bool is_gone = told(edge.from).type == NodeType::Absent && told(edge.to).type == NodeType::Act;
    return edge.gate != blueprint::Gate::Soft && survey_.wanted(edge.from) == Truth::True &&
           (is_ready || is_gone);
  }

  bool is_from(std::size_t edge_index, const std::vector<graph::Node>& states) const {
    return std::ranges::find(states, blueprint_.sequence()[edge_index].from) != states.end();
  }

  // The node waits only for states that objects can go back to, and these go on from there once it is
  // written, not before.
  bool is_worth_going_back(graph::Node node) const {
    const bool is_act = told(node).type == NodeType::Act;
    return std::ranges::all_of(survey_.of(node).unmet, [&](std::size_t i) {
      const graph::Node from = blueprint_.sequence()[i].from;
      return waits_for_state(i) && survey_.of(from).gate.empty() &&
             std::ranges::all_of(survey_.of(from).members, [&](const Member& member) {
               const std::vector<graph::Node>& states = survey_.writers().at(member.id.key());
               return states.size() > 1 && std::ranges::all_of(states, [&](graph::Node state) {
                        return survey_.wanted(state) != Truth::True || !blueprint_.precedes(from, state) ||
                               (blueprint_.precedes(node, state) && (is_act || told(state).keeps_objects()));
                      });
             });
    });
  }

  // A state that can't be made now was the last one: no other may take its place meanwhile. Or it isn't known
  // whether a state was reached.
  std::string undecided(const std::vector<graph::Node>& states, const ObjectId& id) const {
    for (const graph::Node state : states)
      if (states.size() > 1 && told(state).evidence && survey_.wanted(state) == Truth::True &&
          state != states.back() && survey_.reached(state) == Truth::Unknown)
        return fmt::format("whether {} was reached is not known yet", told(state).name);
    const Recorded* before = recorded_.find(id);
    // One that was only planned was never its state.
    if (before == nullptr || (before->hash.empty() && queries_.observe(id, true).absent())) return {};
    const std::optional<graph::Node> last = blueprint_.node_called(before->node);
    if (!last || survey_.wanted(*last) == Truth::False) return {};
    if (states.size() == 1 && states.front() == *last) return {};
    const Facts& facts = survey_.of(*last);
    const bool is_made = facts.made == Facts::Made::Yes;
    if (is_made && facts.is_input_known && survey_.wanted(*last) == Truth::True) return {};
    return fmt::format("{} is in its state {}, of which nothing is known now: {}", id.display(), before->node,
                       is_made ? facts.gate : facts.why);
  }

  // A state that holds now won't any more as soon as the next one is written.
  void remember_former_states(graph::Node node, const std::vector<graph::Node>& states) {
    if (!survey_.of(node).gate.empty()) return;
    for (const std::size_t i : blueprint_.edges_into(node)) {
      const blueprint::SequenceEdge& edge = blueprint_.sequence()[i];
      if (edge.gate != blueprint::Gate::Soft && std::ranges::find(states, edge.from) != states.end() &&
          survey_.wanted(edge.from) == Truth::True && !told(edge.from).evidence &&
          survey_.of(edge.from).is_placed)
        plan_.record.reach(told(edge.from).name, survey_.of(edge.from).hash);
    }
  }

  // `remedy`: of an object that is nobody's.
  static std::string taken(const Member& member, std::string_view remedy) {
    const std::string owner = owner_words(member.observed.object);
    return owner.empty() ? fmt::format("{} exists already and is nobody's: {}", member.id.display(), remedy)
                         : fmt::format("{} exists already and belongs to {}", member.id.display(), owner);
  }

  void own(graph::Node node, const Member& member) {
    const Observation& observed = member.observed;
    if (observed.state == Observation::State::Unknown)
      return report(node, NodeState::Waiting, not_known(member.id, member.observed));
    const std::string& gate =
        survey_.latched(node, member) ? survey_.of(node).repair_gate : survey_.of(node).gate;
    if (observed.absent()) {
      if (!gate.empty()) return report(node, NodeState::Waiting, gate);
      if (const std::string why = waits_in_node(survey_.of(node).members, member); !why.empty()) {
        if (const Recorded* const before = recorded_.find(member.id)) plan_.record.objects.push_back(*before);
        return report(node, NodeState::Waiting, why);
      }
      return write(node, member);
    }
    if (!member.ours) {
      if (!told(node).adopt || !owner_words(observed.object).empty())
        return report(node, NodeState::Failed, taken(member, "delete it, or let the node adopt it"));
      if (!gate.empty()) return report(node, NodeState::Waiting, gate);
      if (apimachinery::is_terminating(observed.object))
        return report(node, NodeState::Waiting, "it is being deleted");
      return write(node, member);
    }
    if (apimachinery::is_terminating(observed.object)) {
      keep(node, member, false);
      return report(
          node, NodeState::Waiting,
          fmt::format("{} is being deleted, and is made again when it is gone", member.id.display()));
    }
    if (!member.dirty) return keep(node, member, true);
    if (!gate.empty()) {
      keep(node, member, false);
      return report(node, NodeState::Waiting, gate);
    }
    if (told(node).replace && queries_.immutable && queries_.immutable(member.id, member.hash)) {
      keep(node, member, false);
      plan_.deletes.push_back({plan_.record.objects.back(),
                               std::string(observed.object.string_at({"metadata", "uid"})), member.hash});
      return report(node, NodeState::Changing, "it can't be changed, so it is deleted and made again");
    }
    write(node, member);
  }

  void absent(graph::Node node, const Member& member) {
    const Observation& observed = member.observed;
    if (observed.absent()) {
      // An object that was deleted stays in the record: it may have to be deleted again.
      if (survey_.latched(node, member)) plan_.record.objects.push_back(*recorded_.find(member.id));
      return;
    }
    if (observed.state == Observation::State::Unknown)
      return report(node, NodeState::Waiting, not_known(member.id, member.observed));
    if (const std::string owner = owner_words(observed.object); !member.ours && !owner.empty())
      return report(node, NodeState::Failed, fmt::format("{} belongs to {}", member.id.display(), owner));
    const Recorded* before = recorded_.find(member.id);
    if (!survey_.may_write(node, member)) {
      if (before != nullptr) plan_.record.objects.push_back(*before);
      return report(node, NodeState::Waiting, survey_.of(node).gate);
    }
    Recorded entry{.node = told(node).name,
                   .id = member.id,
                   .after = survey_.after(node),
                   .uses = {},
                   .hash = member.hash,
                   .policy = before != nullptr ? before->policy : Policy::Retain};
    plan_.record.objects.push_back(entry);
    if (apimachinery::is_terminating(observed.object)) {
      reports_[node].going_since = observed.object.string_at({"metadata", "deletionTimestamp"});
      return report(node, NodeState::Progressing, "it is being deleted");
    }
    if (is_held(node, member)) return;
    plan_.deletes.push_back(
        {std::move(entry), std::string(observed.object.string_at({"metadata", "uid"})), member.hash});
    report(node, NodeState::Changing, "it is being deleted");
  }

  void act(graph::Node node, const Member& member) {
    const std::string& name = told(node).name;
    const Observation& observed = member.observed;
    if (observed.state == Observation::State::Unknown)
      return report(node, NodeState::Waiting, not_known(member.id, member.observed));
    const bool is_there = observed.there() && member.ours;
    if (is_there) keep(node, member, true);
    if (recorded_.reached(name, member.hash)) {
      // Its outcome is recorded: it may go, by its time to live or by hand.
      if (is_there && has_finalizer(observed.object))
        plan_.releases.push_back({Release::What::Finalizer, name, member.id, observed.object});
      // One of an input that was taken back would still change what this one has made.
      if (const std::string running = running_before(node); !running.empty())
        report(node, NodeState::Progressing, running);
      return;
    }
    const auto progress = recorded_.progress.find(name);
    const bool has_failed = progress != recorded_.progress.end() && progress->second.failed == member.hash;
    if (observed.absent()) {
      if (has_failed) return report(node, NodeState::Failed, progress->second.failure);
      if (const std::string running = running_before(node); !running.empty())
        return report(node, NodeState::Waiting, running);
      if (!survey_.of(node).gate.empty()) return report(node, NodeState::Waiting, survey_.of(node).gate);
      return write(node, member);
    }
    if (!member.ours) return report(node, NodeState::Failed, taken(member, "delete it"));
    if (true_condition(observed.object, "Complete") != nullptr) {
      plan_.record.reach(name, member.hash);  // a record that was lost doesn't name the Job
      return report(node, NodeState::Progressing, "its Job has succeeded, which is being recorded");
    }
    const bool is_going = apimachinery::is_terminating(observed.object);
    if (true_condition(observed.object, "Failed") != nullptr) {
      const std::string failure = failure_of(observed.object);
      // Its time to live would have it run again and again. One that a person deletes is tried again.
      const bool removes_itself = observed.object.at_path({"spec", "ttlSecondsAfterFinished"}) != nullptr;
      if (removes_itself) {
        plan_.record.progress[name].failed = member.hash;
        plan_.record.progress[name].failure = failure;
      }
      if (has_finalizer(observed.object) && (has_failed || (is_going && !removes_itself)))
        plan_.releases.push_back({Release::What::Finalizer, name, member.id, observed.object});
      return report(node, NodeState::Failed, failure);
    }
    if (is_going && has_finalizer(observed.object))
      plan_.releases.push_back({Release::What::Finalizer, name, member.id, observed.object});
    report(node, NodeState::Progressing,
           is_going ? "it is being deleted" : survey_.with_trouble(member, "its Job is running"));
  }

  // Also of inputs that an act no longer has, and of acts that nothing wants now: their Jobs are about to go.
  void remember_successes() {
    for (const Recorded& each : recorded_.objects) {
      const std::optional<graph::Node> node = blueprint_.node_called(each.node);
      if (!node || told(*node).type != NodeType::Act) continue;
      const Observation observed = queries_.observe(each.id, true);
      if (observed.there() && is_instances(observed.object, uid_) &&
          true_condition(observed.object, "Complete") != nullptr)
        plan_.record.reach(each.node, each.hash);
    }
  }

  // Two inputs of an act never run at once, and none is cut short by the next. One that can't end, and of
  // which nothing runs, is deleted; whether that is so of another one is for a person to say.
  std::string running_before(graph::Node node) const {
    for (const Recorded& each : recorded_.objects) {
      if (each.node != told(node).name || each.id == survey_.of(node).members.front().id) continue;
      Member job;
      job.id = each.id;
      job.observed = queries_.observe(each.id, true);
      const Value& object = job.observed.object;
      if (!job.observed.there() || !is_instances(object, uid_) || is_ended(object)) continue;
      if (apimachinery::is_terminating(object) || is_held_back(object))
        return fmt::format("waits until {} is gone, which has the former input", each.id.display());
      return survey_.with_trouble(
          job, fmt::format("waits until {} has ended, which has the former input; if it can't end, delete it",
                           each.id.display()));
    }
    return {};
  }

  bool is_running_act(graph::Node node, const Recorded& entry) {
    if (told(node).type != NodeType::Act || survey_.wanted(node) == Truth::False) return false;
    const Observation observed = queries_.observe(entry.id, true);
    if (!observed.there() || !is_instances(observed.object, uid_) || is_ended(observed.object)) return false;
    // Somebody deleted it: its outcome is of no more interest.
    if (apimachinery::is_terminating(observed.object) && has_finalizer(observed.object))
      plan_.releases.push_back({Release::What::Finalizer, entry.node, entry.id, observed.object});
    return apimachinery::is_terminating(observed.object) || !is_held_back(observed.object);
  }

  // `clean`: what is there is as wanted, so that it has nothing of what was there before.
  void keep(graph::Node node, const Member& member, bool clean) {
    const Recorded* before = recorded_.find(member.id);
    if (!clean && before != nullptr) {
      plan_.record.objects.push_back(*before);
      plan_.record.objects.back().id = member.id;  // its kind may be wanted in another version now
      return;
    }
    // The name of a Job is its input.
    const bool held = clean && (survey_.of(node).gate.empty() || told(node).type == NodeType::Act);
    Recorded entry = entry_of(node, member);
    if (!held && !survey_.latched(node, member)) {
      entry.hash = before != nullptr && before->node == entry.node ? before->hash : std::string();
      entry.shown = false;
    }
    plan_.record.objects.push_back(std::move(entry));
  }

  Recorded entry_of(graph::Node node, const Member& member) const {
    const Facts& facts = survey_.of(node);
    const bool is_state = survey_.writers().at(member.id.key()).size() > 1;
    Recorded entry{.node = told(node).name,
                   .id = member.id,
                   .after = survey_.after(node),
                   .uses = {facts.uses.begin(), facts.uses.end()},
                   .hash = member.hash,
                   .policy = told(node).policy,
                   .shown = !is_state && member.shows_input(member.desired)};
    return entry;
  }

  void write(graph::Node node, const Member& member) {
    Recorded entry = entry_of(node, member);
    if (const Recorded* before = recorded_.find(member.id); before != nullptr && member.observed.there())
      add_ties(node, entry, *before);
    if (is_held(node, member)) {
      if (const Recorded* before = recorded_.find(member.id)) plan_.record.objects.push_back(*before);
      return;
    }
    plan_.record.objects.push_back(std::move(entry));
    const bool create = member.observed.absent();
    report(node, NodeState::Changing, create ? "it is being created" : "it is being changed");
    plan_.applies.push_back({.node = told(node).name,
                             .id = member.id,
                             .object = member.desired,
                             .hash = member.hash,
                             .create = create,
                             .uid = std::string(member.observed.object.string_at({"metadata", "uid"})),
                             .force = told(node).force});
  }

  bool is_held(graph::Node node, const Member& member) {
    const auto why = queries_.held ? queries_.held(member.id, member.hash) : std::nullopt;
    if (!why) return false;
    reports_[node].fails(member.id, *why);
    return true;
  }

  // Until it is written it has those of before, too. One that goes back to a former state comes after itself:
  // see prune.cc.
  void add_ties(graph::Node node, Recorded& entry, const Recorded& before) const {
    const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
      std::set<std::string> all(to.begin(), to.end());
      all.insert(from.begin(), from.end());
      to.assign(all.begin(), all.end());
    };
    add(entry.uses, before.uses);
    add(entry.after, before.after);
    const std::optional<graph::Node> was = blueprint_.node_called(before.node);
    if (was != node && (!was || !blueprint_.precedes(*was, node))) add(entry.after, {entry.node});
  }

  // The objects that will be written next, as far as their names can be told without the values that are
  // still missing: they are recorded together with those that are written now, so that the record of a chain
  // is stored once and not before each of its objects.
  void plan_ahead() {
    if (plan_.applies.empty()) return;
    std::map<graph::Node, std::vector<Recorded>> ahead;
    for (const graph::Node node : blueprint_.order()) {
      if (!told(node).keeps_objects() || survey_.wanted(node) != Truth::True) continue;
      const bool is_made = survey_.of(node).made == Facts::Made::Yes;
      ahead[node] = is_made ? entries_of(node) : entries_to_come(node, ahead);
      for (const Recorded& each : ahead[node]) {
        // Objects that others have aren't ours to record.
        if (plan_.record.find(each.id) == nullptr && queries_.observe(each.id, true).absent())
          plan_.record.objects.push_back(each);
      }
    }
  }

  std::vector<Recorded> entries_of(graph::Node node) const {
    std::vector<Recorded> entries;
    for (const Member& member : survey_.of(node).members) {
      if (survey_.writers().at(member.id.key()).size() > 1) continue;
      Recorded& entry = entries.emplace_back(entry_of(node, member));
      entry.hash.clear();
    }
    return entries;
  }

  std::vector<Recorded> entries_to_come(graph::Node node,
                                        const std::map<graph::Node, std::vector<Recorded>>& ahead) const {
    const bool is_recorded =
        std::ranges::find(recorded_.objects, told(node).name, &Recorded::node) != recorded_.objects.end();
    if (survey_.of(node).made != Facts::Made::Pending || is_recorded) return {};
    const auto ids = ids_to_come(node);
    if (!ids) return {};
    std::set<std::string> uses;
    for (const std::size_t i : blueprint_.edges_into(node)) {
      const blueprint::SequenceEdge& edge = blueprint_.sequence()[i];
      if (edge.extract.empty() || edge.cyclic || survey_.wanted(edge.from) == Truth::False) continue;
      uses.insert(survey_.of(edge.from).uses.begin(), survey_.of(edge.from).uses.end());
      for (const Member& member : survey_.of(edge.from).members)
        if (told(edge.from).keeps_objects()) uses.insert(member.id.text());
      if (const auto before = ahead.find(edge.from); before != ahead.end())
        for (const Recorded& each : before->second) {
          uses.insert(each.id.text());
          uses.insert(each.uses.begin(), each.uses.end());
        }
    }
    std::vector<Recorded> entries;
    for (const ObjectId& id : *ids)
      entries.push_back({.node = told(node).name,
                         .id = id,
                         .after = survey_.after(node),
                         .uses = {uses.begin(), uses.end()},
                         .policy = told(node).policy});
    return entries;
  }

  // Of a node that can't be called now, if their names don't depend on the values that are missing.
  std::optional<std::vector<ObjectId>> ids_to_come(graph::Node node) const {
    const auto inputs = queries_.identities ? survey_.inputs(node) : std::nullopt;
    if (!inputs) return std::nullopt;
    const std::optional<Value> named =
        queries_.identities(told(node).name, inputs->environment, inputs->unknown);
    if (!named || !named->is_array()) return std::nullopt;
    std::vector<ObjectId> ids;
    for (const Value& object : named->as_array()) ids.push_back(id_of(object));
    return ids;
  }

  // Values of nodes for the instance's status. One that isn't known now stays as it was: an operator that
  // starts again has asked nobody yet.
  void fill_status() {
    for (graph::Node node = 0; node < blueprint_.nodes().size(); ++node) {
      const Facts& facts = survey_.of(node);
      if (!facts.answer.failure.empty()) plan_.silent.emplace_back(told(node).name, facts.answer.failure);
      if (survey_.wanted(node) == Truth::False) continue;
      for (const blueprint::Extraction& each : told(node).status) take_value(node, each);
    }
    if (!blueprint_.checks_status() || !queries_.check_status || plan_.status.empty()) return;
    if (const Status met = queries_.check_status(plan_.status); !met.ok()) {
      plan_.status_fault = met.error().message;
      plan_.status = status_before(blueprint_, instance_);
    }
  }

  void take_value(graph::Node node, const blueprint::Extraction& each) {
    const Facts& facts = survey_.of(node);
    if (facts.live) {
      auto value = each.path.read(*facts.live);
      if (!value.ok())
        return report(node, NodeState::Failed,
                      fmt::format("the value {} for the status: {}", each.name, value.error().message));
      // The server stores no null, and would be told of it again and again.
      if (*value && (*value)->is_null()) value->reset();
      if (!*value && each.fallback) *value = each.fallback;
      if (*value) plan_.status.set(each.name, **value);
      return;
    }
    if (const Value* before = instance_.at_path({"status", each.name}))
      plan_.status.set(each.name, *before);
    else if (each.fallback)
      plan_.status.set(each.name, *each.fallback);
  }

  // An object that is or may be wanted and can't be made now stays; so does one that a node only looks at.
  void keep_what_cannot_be_judged() {
    std::set<apimachinery::ObjectKey> looked_at;
    for (graph::Node node = 0; node < blueprint_.nodes().size(); ++node)
      for (const Member& member : survey_.of(node).members)
        if (told(node).type == NodeType::Read) looked_at.insert(member.id.key());
    for (const Recorded& each : recorded_.objects) {
      if (plan_.record.find(each.id) != nullptr) continue;
      const bool stays = looked_at.contains(each.id.key()) || cannot_be_judged(each) ||
                         may_be_wanted(each.id) || is_still_somebodys(each);
      const Truth elsewhere = stays ? Truth::Unknown : wanted_elsewhere(each);
      const std::string* const maker = elsewhere == Truth::False ? maker_to_come(each) : nullptr;
      if (elsewhere == Truth::Unknown || maker != nullptr) plan_.record.objects.push_back(each);
      if (maker != nullptr) plan_.undecided.emplace_back(each.id, *maker);
      if (elsewhere == Truth::False && maker == nullptr) going_.push_back(each);
    }
  }

  // A wanted node that can't be called now.
  struct Maker {
    std::string node;
    bool fails = false;
    std::optional<std::vector<ObjectId>> ids = {};
    std::optional<std::set<ObjectKind>> kinds = {};  // where `ids` aren't known

    // In whatever version or group: its kind may have moved. Where nothing is known, a workload goes: one
    // that runs may occupy what another needs, such as a volume or a port of its host, and the node may wait
    // for a value of that one. If it fails, or what it needs can't be read now, it waits for no workload.
    bool may_make(const ObjectId& id) const {
      if (ids)
        return std::ranges::any_of(*ids, [&](const ObjectId& each) {
          return std::tie(each.kind, each.ns, each.name) == std::tie(id.kind, id.ns, id.name);
        });
      if (!kinds) return fails || !only_runs(id);
      return std::ranges::find(*kinds, id.kind, &ObjectKind::kind) != kinds->end();
    }
  };

  const std::vector<Maker>& makers_to_come() {
    if (makers_) return *makers_;
    makers_.emplace();
    if (!queries_.identities && !queries_.kinds) return *makers_;
    for (const graph::Node node : blueprint_.order()) {
      if (!told(node).keeps_objects() || survey_.wanted(node) == Truth::False ||
          survey_.of(node).made == Facts::Made::Yes)
        continue;
      // A value that can't be read now may be there. One that is known to be missing, or that nobody asks for
      // before another workload is ready, may be missing for ever. Of both, the former counts.
      const Facts& facts = survey_.of(node);
      const bool fails = facts.made == Facts::Made::Failed || facts.is_unread();
      Maker& maker = makers_->emplace_back(Maker{told(node).name, fails});
      maker.ids = ids_to_come(node);
      if (!maker.ids) maker.kinds = kinds_of(blueprint_, node, instance_, queries_);
    }
    return *makers_;
  }

  // The node that may make that object once it can be called, as where a revision moves an object to a node
  // that needs values. In a moment it would be made again, empty. Null: there is none.
  const std::string* maker_to_come(const Recorded& each) {
    // It isn't deleted anyway.
    if (each.policy == Policy::Retain) return nullptr;
    const std::optional<graph::Node> node = blueprint_.node_called(each.node);
    if (node && (!told(*node).keeps_objects() || is_to_be_gone(*node))) return nullptr;
    const Observation observed = queries_.observe(each.id, true);
    if (observed.absent()) return nullptr;
    if (observed.there() &&
        (!is_instances(observed.object, uid_) || apimachinery::is_terminating(observed.object)))
      return nullptr;
    const std::vector<Maker>& makers = makers_to_come();
    const auto found =
        std::ranges::find_if(makers, [&](const Maker& maker) { return maker.may_make(each.id); });
    return found == makers.end() ? nullptr : &found->node;
  }

  // Something waits until its objects are gone, perhaps the node that would make them again.
  bool is_to_be_gone(graph::Node node) const {
    return std::ranges::any_of(blueprint_.sequence(), [&](const blueprint::SequenceEdge& edge) {
      return edge.from == node && edge.gate != blueprint::Gate::Soft &&
             (edge.until == blueprint::Condition::Gone || edge.until == blueprint::Condition::Terminating);
    });
  }

  // Whether the same object is wanted as another kind, or in another group. Where nobody can look there now,
  // an object of that kind and name may be this one: to delete it here would delete it there.
  Truth wanted_elsewhere(const Recorded& each) const {
    const Observation observed = queries_.observe(each.id, true);
    const std::string_view uid =
        observed.there() ? observed.object.string_at({"metadata", "uid"}) : std::string_view();
    Truth found = Truth::False;
    for (graph::Node node = 0; node < blueprint_.nodes().size(); ++node) {
      if (!told(node).keeps_objects() || survey_.wanted(node) == Truth::False) continue;
      for (const Member& member : survey_.of(node).members) {
        const bool is_it = member.observed.there() && !uid.empty() &&
                           member.observed.object.string_at({"metadata", "uid"}) == uid;
        if (is_it && survey_.wanted(node) == Truth::True) return Truth::True;
        const bool may_be_it = member.observed.state == Observation::State::Unknown &&
                               member.id.kind == each.id.kind && member.id.name == each.id.name &&
                               (member.id.ns == each.id.ns || !member.placed);
        if (is_it || may_be_it) found = Truth::Unknown;
      }
    }
    return found;
  }

  // Its node is wanted, or may be, and what it makes now isn't known; or it is a Job that runs.
  bool cannot_be_judged(const Recorded& each) {
    const std::optional<graph::Node> node = blueprint_.node_called(each.node);
    if (!node || survey_.wanted(*node) == Truth::False) return false;
    const bool is_made = survey_.wanted(*node) == Truth::True && survey_.of(*node).made == Facts::Made::Yes;
    return !is_made || is_running_act(*node, each);
  }

  // A wanted object of which only the kind and name are known.
  bool may_be_wanted(const ObjectId& id) const {
    for (graph::Node node = 0; node < blueprint_.nodes().size(); ++node)
      if (survey_.wanted(node) != Truth::False && !survey_.of(node).is_placed &&
          std::ranges::any_of(survey_.of(node).members, [&](const Member& member) {
            return !member.placed &&
                   is_same_object({member.id.api_version, member.id.kind, id.ns, member.id.name}, id);
          }))
        return true;
    return false;
  }

  // A node that makes it now has said what is to be done. Where it isn't there, the latch stays: making it
  // again is a repair.
  bool is_still_somebodys(const Recorded& each) const {
    const auto writers = survey_.writers().find(each.id.key());
    if (writers == survey_.writers().end()) return false;
    return !queries_.observe(each.id, true).absent() ||
           std::ranges::any_of(writers->second, [&](graph::Node node) {
             return told(node).name == each.node && told(node).type != NodeType::Act;
           });
  }

  void remove_the_rest() {
    Survivors survivors;
    const auto add = [&](const Recorded& each) {
      // An object that is only planned holds nothing.
      if (each.hash.empty() && queries_.observe(each.id, true).absent()) return;
      for (const std::string& use : each.uses) survivors.used.insert(text_of_key(use));
    };
    for (const Recorded& each : plan_.record.objects) {
      add(each);
      if (const Recorded* before = recorded_.find(each.id)) add(*before);
    }
    prune(going_, survivors, instance_, queries_, plan_);
  }

  inline static const std::string kNothing;

  const Blueprint& blueprint_;
  const Record& recorded_;
  const Queries& queries_;
  const Value& instance_;
  const std::string uid_;
  const Survey survey_;
  std::vector<NodeReport> reports_;
  std::vector<Recorded> going_;
  std::optional<std::vector<Maker>> makers_;  // once somebody has asked for them
  Plan plan_;
};

// The part of the status that nodes may have written.
Value values_of(const Value& instance) {
  Value values = Value::object();
  const Value* const status = instance.find("status");
  if (status == nullptr || !status->is_object()) return values;
  for (const Value::Member& each : status->as_object())
    if (each.key != "conditions" && each.key != "observedGeneration") values.set(each.key, each.value);
  return values;
}

// Acts that were to run before this, and that nobody can run: what they come after stays. Inputs that such an
// act has reached it reached in this teardown.
void hold_for_last_acts(const Value& instance, const Record& recorded, const Queries& queries,
                        std::map<std::string, std::string>& held, Plan& plan) {
  for (const auto& [act, nodes] : recorded.last_acts) {
    const auto progress = recorded.progress.find(act);
    const bool has_run = progress != recorded.progress.end() && !progress->second.reached.empty();
    if (has_run || goes_out_of_order(instance, act) || !has_something_to_save(nodes, recorded, queries))
      continue;
    held.emplace(act, act);
    for (const std::string& node : nodes) held.emplace(node, act);
    NodeReport& report = plan.nodes.emplace_back();
    report.node = act;
    report.state = NodeState::Failed;
    report.detail = fmt::format(
        "it has to run before the rest is deleted, and there is no blueprint in force that says how: put it "
        "back, "
        "or name {} in the annotation {} of the instance to do without",
        act, kOutOfOrderAnnotation);
  }
}

// Of acts that run before the instance is torn down, while nobody can run them: the Job goes, and the act
// must not run once more when the blueprint is back.
void remember_last_acts(const Value& instance, const Record& recorded, const Queries& queries, Plan& plan) {
  for (const Recorded& each : recorded.objects) {
    if (!recorded.last_acts.contains(each.node)) continue;
    const Observation observed = queries.observe(each.id, true);
    if (observed.there() && is_of(observed.object, instance) &&
        true_condition(observed.object, "Complete") != nullptr)
      plan.record.reach(each.node, each.hash);
  }
}

// `blueprint` is null where there is none.
Plan torn_down(const Blueprint* blueprint, const Value& instance, const Record& recorded,
               const Queries& queries) {
  Plan plan;
  plan.record.progress = recorded.progress;
  plan.record.last_acts = recorded.last_acts;
  plan.suspended = is_suspended(instance);
  if (!apimachinery::is_terminating(instance) || plan.suspended) {
    plan.record = recorded;
    plan.unkept = !plan.suspended;
    plan.status = values_of(instance);
    return plan;
  }
  // An object that stays would keep the mark of an instance that is gone, and nobody could take it over.
  std::vector<Recorded> all = recorded.objects;
  for (Recorded& each : all)
    if (each.policy == Policy::Retain) each.policy = Policy::Orphan;
  Survivors survivors;
  if (blueprint != nullptr && std::ranges::any_of(blueprint->nodes(), &blueprint::Node::at_teardown)) {
    plan = Reconciler(*blueprint, instance, recorded, queries).run_last_acts(survivors);
    std::erase_if(all, [&](const Recorded& each) { return plan.record.find(each.id) != nullptr; });
  } else if (blueprint == nullptr) {
    hold_for_last_acts(instance, recorded, queries, survivors.held, plan);
    remember_last_acts(instance, recorded, queries, plan);
  }
  prune(all, survivors, instance, queries, plan);
  account_for_marked(blueprint, instance, recorded, queries, plan);
  plan.finished = plan.record.objects.empty() && plan.record.unaccounted.empty() && survivors.held.empty();
  return plan;
}

}  // namespace

void NodeReport::fails(const ObjectId& object, std::string why) {
  failing.insert_or_assign(object, std::move(why));
  state = NodeState::Failed;
  id = failing.begin()->first;
  detail = failing.begin()->second;
}

bool is_of(const Value& object, const Value& instance) {
  return is_instances(object, instance.string_at({"metadata", "uid"}));
}

bool is_suspended(const Value& instance) {
  const std::string_view said = instance.string_at({"metadata", "annotations", kSuspendAnnotation});
  return !said.empty() && said != "false" && said != "False" && said != "FALSE";
}

Plan decide(const Blueprint& blueprint, const Value& instance, const Record& recorded,
            const Queries& queries) {
  if (apimachinery::is_terminating(instance) || is_suspended(instance)) {
    Plan plan = torn_down(&blueprint, instance, recorded, queries);
    plan.status = status_before(blueprint, instance);
    return plan;
  }
  // All that is there stays as it is: nobody knows what is wanted.
  const auto broken = [&](std::string fault) {
    Plan plan;
    plan.record = recorded;
    plan.spec = SpecState::Broken;
    plan.spec_fault = std::move(fault);
    plan.status = status_before(blueprint, instance);
    return plan;
  };
  const Value* const given = instance.find("spec");
  if (given != nullptr && encoding::nests_deeper(*given, kMostSpecLevels))
    return broken(fmt::format("spec nests more than {} levels deep", kMostSpecLevels));
  const SpecState spec =
      blueprint.checks_spec() && queries.check_spec ? SpecState::Valid : SpecState::Unchecked;
  if (spec == SpecState::Valid) {
    const Status met = queries.check_spec(given == nullptr ? Value::object() : *given);
    if (!met.ok()) return broken(met.error().message);
  }
  Plan plan = Reconciler(blueprint, instance, recorded, queries).run();
  plan.spec = spec;
  account_for_marked(&blueprint, instance, recorded, queries, plan);
  return plan;
}

Plan tear_down(const Value& instance, const Record& recorded, const Queries& queries) {
  return torn_down(nullptr, instance, recorded, queries);
}

}  // namespace mist::reconcile
