#pragma once
// The facts, before anything is decided: which nodes an instance wants, what their functions give, what is in
// the cluster, which edges hold. A pure function of blueprint, instance, record and queries.
//
// Nodes are looked at in the order of Sequence, so that each has the values that edges extract from the ones
// before. Which nodes are wanted may depend on values (guards), and values on which nodes are wanted: the
// survey begins without knowing any such guard and repeats until it learns nothing more. The answer of a
// guard is never unlearnt on the way, so that there is one result.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apply/fields/difference.h"
#include "apply/order/order.h"
#include "reconcile/queries.h"

namespace mist::reconcile {

/// Another object of the node that comes before one, and what it has to be then.
struct Earlier {
  std::size_t member = 0;
  apply::EdgePredicate predicate = apply::EdgePredicate::Present;
};

/// One object of a node.
struct Member {
  ObjectId id;
  Value desired;     ///< with ownership labels; of a node that only looks: what its function gave
  std::string hash;  ///< of the input: what was made, and the inputs of the acts that come before
  Observation observed;
  bool ours = false;   ///< it carries the mark of the instance
  bool dirty = false;  ///< it isn't as desired
  bool placed = true;  ///< false: nobody knows which namespace it is in, if any, so nothing is known of it
  std::vector<Earlier> before = {};  ///< of one that isn't there, among several: member_order.h

  /// Whether an object was applied with the input: its annotation says so, unless acts are part of the input.
  bool shows_input(const Value& object) const {
    return object.string_at({"metadata", "annotations", kHashAnnotation}) == hash;
  }
};

/// Of a reason that goes into the status of the instance, which has no room for more.
inline constexpr std::size_t kMostWords = 2000;

struct Facts {
  enum class Made : std::uint8_t {
    Pending,  ///< values are missing
    Failed,   ///< its function can't work like that
    Yes,
  };
  Made made = Made::Pending;
  std::string why;  ///< not made, or not known
  std::vector<Member> members;
  /// Whether nothing that it depends on is still to be found out. Then a value that isn't there is none, and
  /// a default may stand in for it.
  bool known = false;
  /// Not known only because an HTTP node, this one or one whose value it needs, isn't asked before another
  /// node is there or ready, which may never be.
  bool waits_to_ask = false;
  /// Its function can't be called: whatever else is missing, it needs a value that can't be read now and may
  /// be there, or that can't be taken as its edge says.
  bool needs_unread = false;
  std::optional<Value> live;       ///< what edges extract from: the object, a list of them, or a value
  std::set<std::string> uses;      ///< of which own objects its input has values: Recorded::uses
  std::string hash;                ///< of all members
  bool is_placed = true;           ///< each member; else `hash` isn't that of what will be written
  bool is_input_known = true;      ///< of each act that comes before: whether it is wanted, and its input
  std::string gate;                ///< why nothing new may be written; empty: all edges hold
  std::string repair_gate;         ///< why not even the same may be written again
  std::vector<std::size_t> unmet;  ///< the edges because of which there is a gate
  /// The node before it because of which it isn't made, or nothing new may be written.
  std::optional<graph::Node> waits_on = {};
  HttpAnswer answer = {};  ///< of an HTTP node

  /// Whether what it is, or a value that it needs, can't be read now and may be there.
  bool is_unread() const { return needs_unread || (!known && !waits_to_ask); }
};

class Survey {
 public:
  /// All arguments outlive this.
  Survey(const blueprint::Blueprint& blueprint, const Value& instance, const Record& record,
         const Queries& queries);

  graph::Truth wanted(graph::Node node) const { return wanted_[node]; }
  const Facts& of(graph::Node node) const { return facts_[node]; }
  const graph::Closure& closure() const { return closure_; }
  /// The nodes that write an object, in the order of Sequence: more than one are its states.
  using Writers = std::map<apimachinery::ObjectKey, std::vector<graph::Node>>;
  const Writers& writers() const { return writers_; }
  /// That object among those of a node, in whatever version; null: it isn't.
  const Member* member(graph::Node node, const ObjectId& id) const;
  /// Nodes in nobody's order that write the same object.
  bool disordered(const std::vector<graph::Node>& states) const;
  /// Whether a state of an object was reached, with its present input.
  graph::Truth reached(graph::Node state) const;
  /// Whether the objects are there, as wanted, and ready; `why` not.
  bool ready(graph::Node node, std::string* why = nullptr) const;
  /// `state` of a workload of the instance that isn't ready, with the reason if that is known.
  std::string with_trouble(const Member& member, std::string state) const;
  /// The Release among the objects of a node that failed and says so; null: none.
  const Member* failed_release(graph::Node node) const;
  /// Whether its edges held when this object was last written, with this input: the record says so, or the
  /// object shows that it was written with it.
  bool latched(graph::Node node, const Member& member) const;
  /// May it be written? Of a member: repairs don't wait.
  bool may_write(graph::Node node, const Member& member) const;
  /// The known values for a node's function, and the names of the unknown ones. nullopt: it can't be called
  /// whatever they are.
  struct Inputs {
    Value environment;
    std::vector<std::string> unknown;
  };
  std::optional<Inputs> inputs(graph::Node node) const;
  /// Nodes with objects of their own that come before, over nodes without.
  std::vector<std::string> after(graph::Node node) const;
  /// Of an act that runs before the instance is torn down: the nodes whose objects stay until then, those
  /// before other such acts that come before it among them, and those of other states of the same objects.
  std::vector<std::string> held_by(graph::Node last_act) const;
  /// Whether any of those objects may be there, or there are none at all. An act without them doesn't run,
  /// and nothing waits for it.
  bool has_something_to_save(graph::Node last_act) const;

 private:
  /// The names of nodes with objects of their own that come before by teardown edges, beyond those that are
  /// led over; nothing before a node that is left out counts.
  std::vector<std::string> names_before(graph::Node node, const std::function<bool(graph::Node)>& left_out,
                                        const std::function<bool(graph::Node)>& led_over) const;
  void look_at(graph::Node node);
  bool gather(graph::Node node, Value& environment);
  bool needs_unread(graph::Node node) const;
  Result<std::optional<Value>> given(const blueprint::SequenceEdge& edge,
                                     const blueprint::Extraction& extraction) const;
  Result<std::optional<Value>> extracted(const blueprint::SequenceEdge& edge,
                                         const blueprint::Extraction& extraction) const;
  std::optional<Value> recorded_objects(graph::Node node) const;
  bool was_there(graph::Node node) const;
  bool may_answer_again(graph::Node node, graph::Node on) const;
  bool has_answered(graph::Node node) const;
  bool is_certain(const ObjectId& id, const Observation& observed) const;
  std::string uncertain_record(graph::Node node) const;
  bool is_known(const blueprint::SequenceEdge& edge) const;
  std::string why_missing(const blueprint::SequenceEdge& edge, const blueprint::Extraction& extraction) const;
  void take_members(graph::Node node, Value made);
  void place(Member& member, Value& object) const;
  void take_collection(Facts& facts, const Value& made) const;
  void take_answer(graph::Node node, const Value& made);
  void observe(graph::Node node, Facts& facts);
  void take_live(graph::Node node, Facts& facts) const;
  std::string acts_before(graph::Node node);
  void find_writers();
  void judge_edges(graph::Node node);
  bool holds(std::size_t edge, std::string& why) const;
  /// Objects have left the state that the edge comes from for a later one, and nobody brings them back: the
  /// later states don't wait for the node, or it writes nothing, or an object would be deleted once more for
  /// something else than an act.
  bool is_passed(const blueprint::SequenceEdge& edge) const;
  std::optional<graph::Node> recorded_state(const Member& member) const;
  std::optional<graph::Node> later_state(graph::Node state, const Member& member) const;
  bool is_there(graph::Node node, std::string& why) const;
  std::string why_not_released(const Member& member) const;
  bool is_gone(const blueprint::SequenceEdge& edge, std::string& why) const;
  bool is_changing(graph::Node node) const;
  bool are_states(graph::Node a, graph::Node b) const;
  graph::Truth guard(graph::Node value) const;
  std::vector<graph::Truth> targets();

  const blueprint::Blueprint& blueprint_;
  const Value& instance_;
  const Record& record_;
  const Queries& queries_;
  const std::string uid_;
  graph::Closure closure_;
  std::vector<graph::Truth> wanted_;
  std::vector<Facts> facts_;
  Writers writers_;
};

/// The part of an instance that functions are given, as `instance`.
Value for_functions(const Value& instance);

/// The same of what a record says: `held` as Survey::held_by().
bool has_something_to_save(const std::vector<std::string>& held, const Record& recorded,
                           const Queries& queries);

}  // namespace mist::reconcile
