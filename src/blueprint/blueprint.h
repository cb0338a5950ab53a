#pragma once
// A blueprint: which resources belong to an instance of a custom resource, what is needed because of what
// (Also), and what comes before what (Sequence), with the values that flow along those edges. Here it is
// data, as the Nickel program describes it (evaluator.h); the functions that make objects stay in Nickel.
// Plain values; any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/clock.h"
#include "base/result.h"
#include "blueprint/field_path.h"
#include "blueprint/resource.h"
#include "encoding/value.h"
#include "graph/also.h"
#include "graph/sequence.h"

namespace mist::blueprint {

/// Of ConfigMaps: they hold a blueprint.
inline constexpr std::string_view kBlueprintLabel = "mistletoe.dev/blueprint";

enum class NodeType : std::uint8_t {
  Own,      ///< objects that are made, kept as wanted, and deleted with the instance
  Read,     ///< somebody else's object: looked at, never written
  List,     ///< all objects of a kind that a selector matches: looked at, never written
  Value,    ///< a value that a function computes
  Absent,   ///< an object that must not be there
  Act,      ///< a Job that has to succeed once for each input
  Http,     ///< what a Service or a Pod answers over HTTP: asked at an interval, never written
  Package,  ///< a package whose objects are installed as a release: an own object of the kind Release
};

/// The fate of objects that nothing wants any more.
enum class Policy : std::uint8_t {
  Delete,
  Orphan,  ///< they stay, without the marks of the instance
  Retain,  ///< they stay as they are
};

/// A value of a node's object that goes elsewhere: to the function of an edge's end, or to the status of the
/// instance.
struct Extraction {
  std::string name;
  FieldPath path;
  std::optional<Value> fallback = {};  ///< where the beginning isn't wanted, or of a soft edge not there
};

struct Node {
  std::string name;
  NodeType type = NodeType::Own;
  Policy policy = Policy::Delete;
  bool adopt = false;     ///< takes over an object that belongs to nobody
  bool force = false;     ///< takes back fields that other managers set
  bool replace = false;   ///< deletes and recreates what can't be changed in place
  bool contract = false;  ///< its own contract decides whether it is ready
  /// Of an act: it runs while the instance is being deleted, before what it comes after is deleted.
  bool at_teardown = false;
  /// Of a state node: the value node that says whether this state was reached.
  std::optional<graph::Node> evidence = {};
  std::vector<Extraction> status = {};  ///< for the status of the instance

  /// Whether its function gives objects, or what names them.
  bool names_objects() const {
    return type != NodeType::List && type != NodeType::Value && type != NodeType::Http;
  }
  bool writes_objects() const { return keeps_objects() || type == NodeType::Act; }
  /// Whether its objects are kept as wanted for as long as it is.
  bool keeps_objects() const { return type == NodeType::Own || type == NodeType::Package; }
};

enum class Condition : std::uint8_t {
  Present,      ///< it is there and isn't being deleted; of a value: it is known
  Ready,        ///< and as wanted, and ready by its contract or the rules of its kind
  Gone,         ///< it isn't there
  Terminating,  ///< it isn't there, or is being deleted
  Done,         ///< an act has succeeded for its present input
};

enum class Gate : std::uint8_t {
  Latched,     ///< once it held for an input, repairs with the same input don't wait
  Continuous,  ///< every write waits
  Soft,        ///< nothing waits; values flow if they are there
};

/// "Before anything is written to `to`, `from` is so." Says nothing about whether either is needed.
struct SequenceEdge {
  graph::Node from = 0, to = 0;
  Condition until = Condition::Ready;
  Gate gate = Gate::Latched;
  bool contract = false;  ///< and it matches the contract of this edge
  bool teardown = true;   ///< `to` is gone before `from` is deleted
  bool cyclic = false;    ///< a soft edge that closes a cycle: it tells what was there before this round
  std::vector<Extraction> extract = {};
};

class Blueprint {
 public:
  /// Reads what describe() of the Nickel library gives. Invalid, naming the place: an edge of a node that
  /// isn't there, two values of one name for one node, a node that no Also edge leads to, a condition that
  /// its node can't have, a cycle of hard edges in Sequence (with its path).
  static Result<Blueprint> parse(const Value& description, Standing standing = Standing::New);
  /// The same, of a description that may be wrong: `faults` gets all that parse() would refuse, and what
  /// comes back lacks it. Not to be decided with unless there is no fault.
  static Blueprint read(const Value& description, std::vector<Error>& faults,
                        Standing standing = Standing::New);

  const apimachinery::GroupVersionKind& instances() const { return instances_; }
  /// The CRD of its kind; nullopt: others see to that.
  const std::optional<CustomResource>& resource() const { return resource_; }
  /// Whether instances have a contract for their spec.
  bool checks_spec() const { return checks_spec_; }
  /// Whether there is one for what nodes write to their status.
  bool checks_status() const { return checks_status_; }
  /// How long an instance may take to become ready before it counts as stalled; nullopt: as long as it likes.
  std::optional<Duration> progress_deadline() const { return progress_deadline_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::string name_of(graph::Node node) const;
  /// nullopt: no node has that name.
  std::optional<graph::Node> node_called(std::string_view name) const;
  const std::vector<SequenceEdge>& sequence() const { return sequence_; }
  /// Indices into sequence().
  const std::vector<std::size_t>& edges_into(graph::Node node) const { return into_[node]; }
  /// Also, with the instance as its last node.
  const graph::AlsoGraph& also() const { return also_; }
  graph::Node root() const { return nodes_.size(); }
  /// The nodes, each after all that come before it.
  const std::vector<graph::Node>& order() const { return order_; }
  /// Whether hard edges lead from one node to the other.
  bool precedes(graph::Node before, graph::Node after) const { return reach_[before][after]; }
  /// Which nodes an instance wants. `value_of`: what a value node that guards an edge has come to.
  graph::Closure wanted(const Value& instance,
                        const std::function<graph::Truth(graph::Node)>& value_of) const;
  /// The same nodes and order, with every Also edge holding: what instances may ever have.
  Blueprint without_guards() const;
  /// The value node that an Also edge's guard asks; nullopt: it asks the instance, or has none.
  std::optional<graph::Node> guarding_value(const graph::AlsoEdge& edge) const;
  /// The field of the instance that it asks; nullptr: it asks a value node, or has no guard.
  const FieldPath* guarding_field(const graph::AlsoEdge& edge) const;
  /// Whether a guard asks a value node.
  bool has_value_guards() const { return has_value_guards_; }
  /// Warnings for its author: what may go wrong while it runs.
  std::vector<std::string> warnings() const;

 private:
  // An Also edge asks one of these: a field of the instance, or a value node.
  struct Guard {
    std::optional<FieldPath> field;
    graph::Node value = 0;
  };

  void read_deadline(const Value& description, std::vector<Error>& faults);
  void read_nodes(const Value& description, std::vector<Error>& faults);
  void read_evidence(const Value& nodes, std::vector<Error>& faults);
  void read_status(const Value& nodes, std::vector<Error>& faults);
  void read_also(const Value& description, std::vector<Error>& faults);
  Result<graph::AlsoEdge> read_also_edge(const Value& each);
  void read_sequence(const Value& description, std::vector<Error>& faults);
  Result<SequenceEdge> read_sequence_edge(const Value& each) const;
  Result<Extraction> read_extraction(const Value::Member& member, const SequenceEdge& edge) const;
  void check_paths(std::vector<Error>& faults);
  void check_guards(std::vector<Error>& faults);
  void refuse_if_new(Error fault, std::vector<Error>& faults);
  Status check_condition(const SequenceEdge& edge) const;
  Status order_nodes();
  Result<graph::Node> node(std::string_view name, std::string_view where) const;
  Result<graph::Node> value_node(std::string_view name, std::string_view where) const;

  Standing standing_ = Standing::New;
  std::vector<std::string> tolerated_;  // faults that operators before this one took, of one in force
  apimachinery::GroupVersionKind instances_;
  std::optional<CustomResource> resource_;
  bool checks_spec_ = false;
  bool checks_status_ = false;
  std::optional<Duration> progress_deadline_;
  std::vector<Node> nodes_;
  graph::AlsoGraph also_{0};
  std::vector<Guard> guards_;
  bool has_value_guards_ = false;
  std::vector<SequenceEdge> sequence_;
  std::vector<std::vector<std::size_t>> into_;
  std::vector<graph::Node> order_;
  std::vector<std::vector<bool>> reach_;
};

/// Is a value set, and not to false?
graph::Truth truth(const Value* value);

/// "own", "read", …: as authors write it.
std::string_view word(NodeType type);
std::string_view word(Condition condition);
std::string_view word(Policy policy);

}  // namespace mist::blueprint
