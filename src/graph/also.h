#pragma once
// The Also graph: if one node is wanted, another is wanted too, perhaps only while a guard holds. It says
// nothing about order, and may have cycles. The target is the set of nodes that the roots reach; a guard that
// can't be judged yet neither adds nor removes, so there are two answers. A plain value: build it, then any
// thread may read it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "graph/sequence.h"

namespace mist::graph {

/// A guard's value, and whether a node is wanted: Kleene's three-valued logic.
enum class Truth : std::uint8_t {
  False,
  Unknown,  ///< of a guard: what it looks at isn't known yet
  True,
};

/// Opaque, like nodes: the caller knows what it stands for.
using Guard = std::size_t;
inline constexpr Guard kAlways = std::numeric_limits<Guard>::max();

/// "If `from` is wanted and `guard` holds, `to` is wanted."
struct AlsoEdge {
  Node from = 0;
  Node to = 0;
  Guard guard = kAlways;
  std::string reason;  ///< for people
  friend bool operator==(const AlsoEdge&, const AlsoEdge&) = default;
};

/// The nodes that the roots reach: the least fixed point of "wanted". Nodes that are not even possibly wanted
/// may be removed; only nodes that are surely wanted may be written.
class Closure {
 public:
  /// True: wanted. Unknown: wanted if guards that are unknown turn out to hold. False: not wanted.
  Truth wanted(Node node) const { return wanted_[node]; }
  std::vector<Node> surely() const;    ///< True, ascending
  std::vector<Node> possibly() const;  ///< True or Unknown, ascending
  /// Why a node is wanted: the edges (indices) of a shortest path from a root; without unknown guards if it
  /// is surely wanted. Empty: it is a root, or not wanted.
  std::vector<std::size_t> why(Node node) const;

 private:
  friend class AlsoGraph;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<Truth> wanted_;
  std::vector<std::size_t> via_;  // the edge that added the node; kNone: a root, or not wanted
  std::vector<Node> from_;        // that edge's beginning
};

class AlsoGraph {
 public:
  explicit AlsoGraph(std::size_t nodes) : out_(nodes) {}

  void add(AlsoEdge edge);

  std::size_t size() const { return out_.size(); }
  const std::vector<AlsoEdge>& edges() const { return edges_; }
  const std::vector<std::size_t>& edges_out(Node node) const { return out_[node]; }

  /// `value` judges guards: asked at most once for each, and only for edges whose beginning is at least
  /// possibly wanted. Never asked for kAlways. Which of several equally short paths why() tells is a function
  /// of the edges as a set, not of the order in which they were added.
  Closure closure(const std::vector<Node>& roots, const std::function<Truth(Guard)>& value) const;

 private:
  std::vector<AlsoEdge> edges_;
  std::vector<std::vector<std::size_t>> out_;
};

/// "root → a (its reason) → b (its reason)": a path of why() for people.
std::string path_text(const AlsoGraph& graph, const std::vector<std::size_t>& path, const NameOf& name_of);

}  // namespace mist::graph
