#pragma once
// A scenario: an instance and what happens to it and around it, as its author wrote it down, and how a
// blueprint's simulation plays that. The result is the same each time, so that it can be compared with a
// golden file. Pure; one thread.

#include <optional>
#include <string>
#include <vector>

#include "blueprint/evaluator.h"
#include "reconcile/simulation.h"

namespace mist::reconcile {

struct ScenarioEvent {
  enum class Type : std::uint8_t {
    Write,           ///< an object appears or changes; members are merged into what is there
    Remove,          ///< an object goes
    ChangeInstance,  ///< merged into the instance
    DeleteInstance,
    Answer,   ///< an HTTP node: { node, body }, or { node, failure }
    Release,  ///< a package node: { node, exports }, or { node, failure }
  };
  Type type = Type::Write;
  Value object;
  SourceLocation where = {};
};

struct Scenario {
  Value instance;  ///< null: the text has none
  bool controllers = true;
  Value releases = Value::object();  ///< by package node, from the beginning: { exports }, or { failure }
  std::vector<ScenarioEvent> events;

  /// A list of events, or a record of `instance`, `controllers`, `releases` and `events`. An event is one of
  /// `{ write: OBJECT }`, `{ remove: OBJECT }`, `{ instance: CHANGE }`, `{ deleteInstance: true }`,
  /// `{ answer: { node, body } }`, `{ answer: { node, failure } }`, `{ release: { node, exports } }`,
  /// `{ release: { node, failure } }`. Invalid with the place; `file` is for that.
  static Result<Scenario> parse(std::string_view text, const std::string& file);
};

/// One event and all that was done until nothing was left to do.
struct ScenarioStep {
  std::string event;
  std::vector<Round> rounds;
  bool settled = false;  ///< false: it changes without end
  Value condition;       ///< Ready, of the instance; null: the instance is gone
  Value status = {};     ///< what nodes write to the instance's status
  std::vector<Value>
      changed;  ///< objects that are there and weren't like that before, as the blueprint has them
  std::vector<ObjectId> there;  ///< all objects
};

struct Played {
  std::vector<ScenarioStep> steps;
  bool settled() const;
};

/// Invalid: the instance is of another kind, or has no name; NotFound: an event removes what isn't there.
Result<Played> play(const blueprint::Blueprint& blueprint, const Scenario& scenario,
                    Simulation::Functions functions);

/// The answers of a blueprint's own functions and contracts. Each remembers the last question about a node.
/// `evaluator` and `context` outlive it.
Simulation::Functions functions_of(blueprint::Evaluator& evaluator, const Context& context);

/// Whether people want the reason of a node's state: it waits, failed, or isn't done. A write or deletion
/// that is just being done is among the actions.
bool is_blocked(const NodeReport& report);

/// schemas/cli/blueprint-simulate.schema.json, and what golden files hold.
Value to_value(const Played& played);

}  // namespace mist::reconcile
