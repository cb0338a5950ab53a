#pragma once
// Decides what to do for one instance of a blueprint: a pure function of the blueprint, the instance, the
// live objects, and the record. It asks nobody and writes nothing; its callbacks (queries.h) are pure too.
// Everything that may be done is given at once.
//
// The rules are those of the formal semantics (docs/operator.md): nothing is written to a node before its
// edges hold; a repair of the same object needs no edge to hold again; nothing is deleted that is wanted, and
// nothing before what came after it is gone; an act succeeds once for each input. Any thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconcile/facts.h"
#include "reconcile/queries.h"

namespace mist::reconcile {

enum class NodeState : std::uint8_t {
  NotWanted,
  Waiting,
  Failed,
  Changing,
  Progressing,
  Ready,
  Deleting,
  Superseded,  ///< a later state of the same object was reached
};

struct NodeReport {
  std::string node;
  NodeState state = NodeState::NotWanted;
  std::string detail;  ///< why, for people
  std::optional<ObjectId> id = {};
  std::string hash = {};  ///< of its input, if that is known
  graph::Truth wanted = graph::Truth::False;
  bool oscillating = false;
  std::string waits_on = {};  ///< the node before it that it waits for; empty: it waits for none
  /// Its objects that can't be written or deleted, and why. The first of them speaks for all, so that the
  /// status doesn't depend on which of them was tried last.
  std::map<ObjectId, std::string> failing = {};
  /// Of an object that the server was asked to delete, and that is still there: its deletionTimestamp.
  std::string going_since = {};

  void fails(const ObjectId& object, std::string why);
};

struct Apply {
  std::string node;
  ObjectId id;
  Value object;
  std::string hash;      ///< of the input
  bool create = false;   ///< nothing is there
  std::string uid = {};  ///< of what is there, and of nothing else, it is a change
  bool force = false;    ///< also over fields that other managers own
};
struct Delete {
  Recorded what;
  std::string uid;
  std::string input = {};  ///< of the node that deletes it; empty: nothing wants it any more
};
/// Takes labels of the instance from an object: its finalizer (take_finalizer_off()), or all
/// (remove_ownership()).
struct Release {
  enum class What : std::uint8_t { Finalizer, LiveOwner };
  What what = What::Finalizer;
  std::string node;
  ObjectId id;
  Value live;
};

/// Whether the spec of an instance meets the contract of its kind.
enum class SpecState : std::uint8_t {
  Unchecked,  ///< there is no contract, or it makes no difference now
  Valid,
  Broken,
};

struct Plan {
  Record record;  ///< to be stored before anything else is done, if it isn't what is stored
  std::vector<Apply> applies;
  std::vector<Delete> deletes;
  std::vector<Release> releases;
  std::vector<NodeReport> nodes;  ///< by name; then what is going
  /// Objects that no node makes now, and the node that can't be called now and may make each.
  std::vector<std::pair<ObjectId, std::string>> undecided = {};
  bool finished = false;  ///< of an instance that is being deleted: nothing of it is left
  bool suspended = false;
  bool unkept = false;  ///< there is no blueprint: it stays as it is
  /// Its record has all that carries the mark of the instance, as far as that can be found out.
  bool accounted = false;
  SpecState spec = SpecState::Unchecked;
  std::string spec_fault = {};     ///< of a broken one: where, and Nickel's words
  Value status = Value::object();  ///< what nodes write to the instance's status
  std::string record_fault = {};   ///< why the record was refused; nothing is carried out then
  std::string status_fault = {};   ///< why it stays as it was: its contract
  std::vector<std::pair<std::string, std::string>> silent = {};  ///< HTTP nodes of it that failed, and why

  bool writes_nothing() const { return applies.empty() && deletes.empty() && releases.empty(); }
};

/// `instance`: the live custom resource.
Plan decide(const blueprint::Blueprint& blueprint, const Value& instance, const Record& recorded,
            const Queries& queries);

/// The same for a blueprint that isn't there any more, or can't be read: of an instance that is being deleted
/// what its record says is deleted, else nothing changes.
Plan tear_down(const Value& instance, const Record& recorded, const Queries& queries);

/// Whether an object carries the mark of that instance.
bool is_of(const Value& object, const Value& instance);
/// A person asked that nothing be done for the instance: by any value of the annotation but "false" and an
/// empty one, since a person who writes "yes" or "True" doesn't expect that the instance is torn down.
bool is_suspended(const Value& instance);

}  // namespace mist::reconcile
