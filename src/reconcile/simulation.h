#pragma once
// A blueprint without a cluster: plays what the operator would do for an instance, round after round, in a
// cluster in memory, with the same decisions. Others' actions come as events; controllers may be played too:
// workloads become ready, Services get addresses, Jobs succeed, packages are installed. One thread.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "blueprint/blueprint.h"
#include "reconcile/decide.h"

namespace mist::reconcile {

/// The actions of one round, and the state after it.
struct Round {
  std::vector<std::string> actions;  ///< "create ConfigMap shop/web (node settings)"
  std::vector<NodeReport> nodes;
};

class Simulation {
 public:
  struct Functions {
    std::function<Result<Value>(const std::string& node, const Value& environment)> make;
    std::function<Status(const std::string& node, const Value& object)> check_node;
    std::function<Status(std::size_t edge, const Value& object)> check_edge;
    std::function<Status(const Value& spec)> check_spec = {};
    std::function<Status(const Value& status)> check_status = {};
  };
  /// The outcome of a package node's Release.
  struct Outcome {
    Value exports = {};
    std::string failure = {};  ///< not empty: it can't be installed, and this is why
  };
  /// `blueprint` and what `functions` refer to outlive this. `controllers`: whether they are played.
  Simulation(const blueprint::Blueprint& blueprint, Value instance, Functions functions, bool controllers);

  /// Until nothing is left to do, or something changes without end. The rounds in which something was done,
  /// and the last one.
  std::vector<Round> settle();
  bool ended() const { return ended_; }
  /// The instance is deleted and everything of it gone.
  bool gone() const { return gone_; }
  Value status() const;

  // Events.
  /// Merged into what is there, or made.
  void write(const Value& object);
  /// NotFound: nothing of that name is there.
  Status remove(const Value& object);
  /// An HTTP node is answered from now on.
  void answer(const std::string& node, HttpAnswer answer) {
    answers_.insert_or_assign(node, std::move(answer));
  }
  /// A package node's Release has that outcome from now on; without one it is installed, and exports nothing.
  void release(const std::string& node, Outcome outcome) {
    outcomes_.insert_or_assign(node, std::move(outcome));
  }
  void change_instance(const Value& change);
  void delete_instance();

  std::vector<Value> objects() const;

 private:
  /// Of a write that the server won't take, until the object or the input is another one.
  struct Refusal {
    std::string hash, words = {};
    bool immutable = false;
  };

  Round play();
  bool apply(const Apply& each);
  void put(const ObjectId& id, Value object);
  void erase(const ObjectId& id);
  ObjectId placed(const Value& object) const;
  void give_namespace(Value& made) const;
  bool answer();
  Queries queries() const;

  const blueprint::Blueprint& blueprint_;
  Value instance_;
  const Functions functions_;
  const bool controllers_;
  bool ended_ = true, gone_ = false;
  Record record_;
  std::map<ObjectId, Value> objects_;
  std::map<ObjectId, Refusal> refused_;
  bool is_refused_now_ = false;              // in the last round
  std::map<ObjectId, std::string> made_by_;  // the node that wrote it last
  std::map<std::string, HttpAnswer> answers_;
  std::map<std::string, Outcome> outcomes_;
  Plan plan_;
  std::int64_t uids_ = 0, addresses_ = 0;
};

}  // namespace mist::reconcile
