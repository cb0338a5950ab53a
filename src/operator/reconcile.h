#pragma once
// What is to be done for one instance of a blueprint: a pure function of the blueprint, the instance, what is
// there, and what was recorded. It asks nobody and writes nothing; its callbacks are pure too: `make` is a
// node's function, `observe` reads what informers hold. Everything that may be done is given at once.
//
// The rules are those of the formal semantics (docs/operator.md): nothing is written to a node before its
// edges hold; a repair of the same object needs no edge to hold again; nothing is deleted that is wanted, and
// nothing before what came after it is gone. Any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/difference.h"
#include "blueprint/blueprint.h"
#include "release/record.h"

namespace mist::operator_ {

using encoding::Value;

inline constexpr std::string_view kManager = "mistletoe-operator";
/// On objects, as label and, in case somebody removes that, as annotation: the uid of the instance that they
/// belong to.
using apply::kInstanceLabel;
/// On objects: a digest of what was last applied.
using apply::kHashAnnotation;

/// An object's identity as it is written to records.
struct ObjectId {
  std::string api_version, kind, ns, name;
  /// "Deployment shop/web".
  std::string display() const;
  friend auto operator<=>(const ObjectId&, const ObjectId&) = default;
};

/// That an object was about to be created, and what teardown needs to know without the blueprint.
struct Recorded {
  std::string node;
  ObjectId id;
  std::vector<std::string> after;  ///< nodes that come before it: it is deleted before they are
  friend bool operator==(const Recorded&, const Recorded&) = default;
};

struct Observation {
  enum class State : std::uint8_t {
    Unknown,  ///< nothing is known of its kind yet: wait
    Absent,
    There,
  };
  State state = State::Unknown;
  Value object = {};
  /// What the server made of it when it was last applied.
  std::vector<apply::ServerMade> made = {};
};

struct World {
  /// The object of a node, with its namespace. `environment`: the instance and what edges extract.
  std::function<Result<Value>(const std::string& node, const Value& environment)> make;
  /// `owned`: objects of instances only are known, so that somebody else's object counts as absent.
  std::function<Observation(const ObjectId&, bool owned)> observe;
};

enum class NodeState : std::uint8_t { NotWanted, Waiting, Failed, Changing, Progressing, Ready, Deleting };

struct NodeReport {
  std::string node;
  NodeState state = NodeState::NotWanted;
  std::string detail;  ///< why, for people
  std::optional<ObjectId> id = {};
};

struct Apply {
  std::string node;
  ObjectId id;
  Value object;
  bool create = false;  ///< nothing is there
};
struct Delete {
  Recorded what;
  std::string uid;
};

struct Plan {
  std::vector<Recorded> record;  ///< to be stored before anything else is done, if it isn't what is stored
  std::vector<Apply> applies;
  std::vector<Delete> deletes;
  std::vector<NodeReport> nodes;  ///< by name
  bool finished = false;          ///< of an instance that is being deleted: nothing of it is left
};

/// `instance`: the live custom resource.
Plan reconcile(const blueprint::Blueprint& blueprint, const Value& instance,
               const std::vector<Recorded>& recorded, const World& world);

/// Whether an object carries the mark of that instance.
bool is_of(const Value& object, const Value& instance);

/// The same for a blueprint that isn't there any more, or can't be read: of an instance that is being deleted
/// what its record says is deleted, else nothing changes.
Plan tear_down(const Value& instance, const std::vector<Recorded>& recorded, const World& world);

/// The condition Ready of an instance, with the rest of status.conditions as it is. `now`: RFC 3339.
Value status_of(const Plan& plan, const Value& instance, const std::string& now);

}  // namespace mist::operator_
