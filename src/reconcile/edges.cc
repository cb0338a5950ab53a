// Of the survey (facts.h): whether nodes are there and ready, and whether edges hold.

#include <algorithm>

#include "apply/wait/readiness.h"
#include "base/cut_text.h"
#include "reconcile/facts.h"
#include "reconcile/ownership.h"
#include "reconcile/release_node.h"

namespace mist::reconcile {
namespace {

using blueprint::Condition;
using blueprint::Gate;
using blueprint::NodeType;
using blueprint::SequenceEdge;
using graph::Truth;

// Of a contract's error Nickel's own words.
std::string reason_of(const Error& failure) { return cut_text(failure.message, kMostWords); }

constexpr std::string_view kUnobserved = "its controller hasn't seen its last change";

bool is_observed(const Value& live) {
  const Value* generation = live.at_path({"metadata", "generation"});
  const Value* observed = live.at_path({"status", "observedGeneration"});
  return generation == nullptr || observed == nullptr || !generation->is_int() || !observed->is_int() ||
         observed->as_int() >= generation->as_int();
}

// It was last written with the input that it has now, whatever others did to it since.
bool was_written_so(const Member& member) {
  return member.observed.there() && member.ours && member.shows_input(member.observed.object);
}

}  // namespace

void Survey::judge_edges(graph::Node node) {
  Facts& facts = facts_[node];
  for (const std::size_t i : blueprint_.edges_into(node)) {
    const SequenceEdge& edge = blueprint_.sequence()[i];
    // While an instance is deleted nothing gets ready any more.
    if (blueprint_.nodes()[node].at_teardown && !blueprint_.nodes()[edge.from].at_teardown) continue;
    std::string why;
    if (edge.gate == Gate::Soft || holds(i, why)) continue;
    facts.unmet.push_back(i);
    why = fmt::format("waits for {}{}{}", blueprint_.name_of(edge.from), why.empty() ? "" : ": ", why);
    // An object in its later state isn't in the former one, so that the latter holds once.
    if (edge.gate == Gate::Continuous && facts.repair_gate.empty() && !are_states(edge.from, edge.to))
      facts.repair_gate = why;
    if (!facts.gate.empty()) continue;
    facts.gate = std::move(why);
    facts.waits_on = edge.from;
  }
}

bool Survey::holds(std::size_t edge_index, std::string& why) const {
  const SequenceEdge& edge = blueprint_.sequence()[edge_index];
  const bool is_wanted = wanted_[edge.from] != Truth::False;
  if (is_wanted && are_states(edge.from, edge.to)) {
    const Truth was_reached = reached(edge.from);
    if (was_reached == Truth::True) return true;
    if (blueprint_.nodes()[edge.from].evidence) {
      why = "there is no evidence that this state was reached";
      return false;
    }
    // On its way it has left that state, which may have another input since.
    if (std::ranges::all_of(facts_[edge.from].members, [&](const Member& each) {
          const std::optional<graph::Node> now = later_state(edge.from, each);
          return now && blueprint_.precedes(*now, edge.to);
        }))
      return true;
    // The object may be there in an earlier state.
    if (blueprint_.nodes()[edge.from].keeps_objects() &&
        !std::ranges::all_of(facts_[edge.from].members,
                             [&](const Member& each) { return recorded_state(each) == edge.from; })) {
      why = "it is not in that state yet";
      return false;
    }
  }
  if (is_wanted && is_passed(edge)) return true;
  if (edge.until == Condition::Gone || edge.until == Condition::Terminating) return is_gone(edge, why);
  if (!is_wanted) return true;
  // It won't run.
  if (blueprint_.nodes()[edge.from].at_teardown && !has_something_to_save(edge.from)) return true;
  const Facts& source = facts_[edge.from];
  const bool so = edge.until == Condition::Present ? is_there(edge.from, why) : ready(edge.from, &why);
  if (!so || !edge.contract) return so;
  if (!source.live) return false;
  if (std::ranges::any_of(source.members, [](const Member& m) { return !is_observed(m.observed.object); })) {
    why = kUnobserved;
    return false;
  }
  const Status matches = queries_.check_edge ? queries_.check_edge(edge_index, *source.live) : Status();
  if (!matches.ok()) why = reason_of(matches.error());
  return matches.ok();
}

// One that is only planned is in none.
std::optional<graph::Node> Survey::recorded_state(const Member& member) const {
  const Recorded* const last = record_.find(member.id);
  return last == nullptr || last->hash.empty() ? std::nullopt : blueprint_.node_called(last->node);
}

std::optional<graph::Node> Survey::later_state(graph::Node state, const Member& member) const {
  const auto states = writers_.find(member.id.key());
  if (states == writers_.end() || std::ranges::find(states->second, state) == states->second.end())
    return std::nullopt;
  const std::optional<graph::Node> now = recorded_state(member);
  return now && blueprint_.precedes(state, *now) ? now : std::nullopt;
}

bool Survey::is_passed(const SequenceEdge& edge) const {
  const blueprint::Node& to = blueprint_.nodes()[edge.to];
  const bool writes = to.writes_objects() || to.type == NodeType::Absent;
  const bool was_absent = blueprint_.nodes()[edge.from].type == NodeType::Absent;
  if (!was_absent && edge.until != Condition::Ready && edge.until != Condition::Present) return false;
  const std::vector<Member>& members = facts_[edge.from].members;
  return !members.empty() && std::ranges::all_of(members, [&](const Member& member) {
    const std::optional<graph::Node> now = later_state(edge.from, member);
    return now && std::ranges::any_of(writers_.at(member.id.key()), [&](graph::Node state) {
             if (wanted_[state] != Truth::True || !blueprint_.precedes(edge.from, state)) return false;
             if (state != *now && !blueprint_.precedes(state, *now)) return false;
             const bool deletes = was_absent || blueprint_.nodes()[state].type == NodeType::Absent;
             return !writes || (deletes && to.type != NodeType::Act) || !blueprint_.precedes(edge.to, state);
           });
  });
}

bool Survey::is_there(graph::Node node, std::string& why) const {
  const Facts& facts = facts_[node];
  if (facts.made != Facts::Made::Yes) {
    why = facts.why;
    return false;
  }
  const NodeType type = blueprint_.nodes()[node].type;
  if (type == NodeType::Value || type == NodeType::List || type == NodeType::Http) {
    why = !facts.gate.empty() || facts.live ? facts.gate : unanswered(facts.answer);
    return facts.gate.empty() && facts.live.has_value();
  }
  for (const Member& member : facts.members) {
    if (!member.observed.there() || apimachinery::is_terminating(member.observed.object) ||
        (blueprint_.nodes()[node].writes_objects() && !member.ours)) {
      why = fmt::format("{} is not there", member.id.display());
      return false;
    }
  }
  // In a moment it will have other values.
  if (is_changing(node)) {
    why = "it is being changed";
    return false;
  }
  return true;
}

bool Survey::is_changing(graph::Node node) const {
  if (!blueprint_.nodes()[node].keeps_objects() || wanted_[node] != Truth::True) return false;
  return std::ranges::any_of(facts_[node].members, [&](const Member& member) {
    const auto states = writers_.find(member.id.key());
    return member.dirty && may_write(node, member) && states != writers_.end() && states->second.size() == 1;
  });
}

bool Survey::is_gone(const SequenceEdge& edge, std::string& why) const {
  const bool going_is_enough = edge.until == Condition::Terminating;
  const auto gone = [&](const ObjectId& id, const Observation& observed) {
    if (observed.absent() ||
        (observed.there() && going_is_enough && apimachinery::is_terminating(observed.object)))
      return true;
    why = observed.there() ? fmt::format("{} is still there", id.display())
                           : fmt::format("the kind of {} is being looked up", id.display());
    return false;
  };
  if (wanted_[edge.from] == Truth::False) {
    return std::ranges::all_of(record_.objects, [&](const Recorded& each) {
      if (each.node != blueprint_.name_of(edge.from)) return true;
      const Observation observed = queries_.observe(each.id, true);
      return (observed.there() && !is_instances(observed.object, uid_)) || gone(each.id, observed);
    });
  }
  const Facts& source = facts_[edge.from];
  if (source.made != Facts::Made::Yes) {
    why = source.why;
    return false;
  }
  return std::ranges::all_of(source.members,
                             [&](const Member& each) { return gone(each.id, each.observed); });
}

bool Survey::ready(graph::Node node, std::string* why) const {
  const blueprint::Node& told = blueprint_.nodes()[node];
  const Facts& facts = facts_[node];
  const auto no = [&](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return false;
  };
  std::string missing;
  if (facts.made != Facts::Made::Yes) return no(facts.why);
  switch (told.type) {
    case NodeType::Value:
    case NodeType::List:
      if (!is_there(node, missing)) return no(missing);
      break;
    case NodeType::Http:
      if (!is_there(node, missing)) return no(missing);
      if (facts.answer.stale) return no(unanswered(facts.answer));
      break;
    case NodeType::Absent:
      return std::ranges::all_of(facts.members, [](const Member& m) { return m.observed.absent(); }) ||
             no("it is still there");
    case NodeType::Act:
      return record_.reached(told.name, facts.hash) || no("its Job has not succeeded yet");
    case NodeType::Own:
    case NodeType::Package:
    case NodeType::Read:
      for (const Member& member : facts.members) {
        const Value& live = member.observed.object;
        if (member.observed.state == Observation::State::Unknown)
          return no(not_known(member.id, member.observed));
        if (!member.observed.there() || (told.keeps_objects() && !member.ours))
          return no(fmt::format("{} is not there", member.id.display()));
        if (apimachinery::is_terminating(live)) return no("it is being deleted");
        if (member.dirty) return no("it is not as wanted yet");
        // The exports of a package say nothing before its release is there.
        const bool by_contract = told.contract && told.type != NodeType::Package;
        const apply::Readiness now = apply::readiness(live);
        if (!by_contract && now.health != apply::Health::Ready) {
          if (is_release(member.id)) return no(why_not_released(member));
          return no(told.keeps_objects() ? with_trouble(member, now.detail) : now.detail);
        }
        // Else its status is that of its former spec.
        if (!is_observed(live)) return no(std::string(kUnobserved));
      }
      break;
  }
  if (!told.contract || !queries_.check_node || !facts.live) return true;
  const Status matches = queries_.check_node(told.name, *facts.live);
  return matches.ok() || no(reason_of(matches.error()));
}

std::string Survey::with_trouble(const Member& member, std::string state) const {
  if (!queries_.trouble) return state;
  const std::string trouble = queries_.trouble(member.id, member.observed.object);
  if (trouble.empty()) return state;
  return cut_text(state.empty() ? trouble : fmt::format("{}; {}", state, trouble), kMostWords);
}

// A Release says why itself, unless nobody keeps it.
std::string Survey::why_not_released(const Member& member) const {
  std::string words = release_words(member.observed.object);
  if (queries_.not_kept && is_unseen(member.observed.object))
    if (const std::string why = queries_.not_kept(member.observed.object); !why.empty())
      words += fmt::format("; {}", why);
  return words;
}

const Member* Survey::failed_release(graph::Node node) const {
  const auto failed = std::ranges::find_if(facts_[node].members, [](const Member& each) {
    return is_release(each.id) && each.observed.there() && !each.dirty && has_failed(each.observed.object);
  });
  return failed == facts_[node].members.end() ? nullptr : &*failed;
}

bool Survey::latched(graph::Node node, const Member& member) const {
  const Recorded* before = record_.find(member.id);
  if (before == nullptr || before->node != blueprint_.nodes()[node].name) return false;
  return before->hash == member.hash || was_written_so(member);
}

bool Survey::may_write(graph::Node node, const Member& member) const {
  const Facts& facts = facts_[node];
  return facts.gate.empty() || (latched(node, member) && facts.repair_gate.empty());
}

}  // namespace mist::reconcile
