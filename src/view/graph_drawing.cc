#include "view/graph_drawing.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "view/drawing_text.h"
#include "view/table.h"
#include "view/values.h"

namespace mist::view {

using action::ReleaseGraph;
using apply::EdgePredicate;
using apply::NodeRole;
using apply::predicate_of;
using encoding::Value;
using graph::Edge;
using graph::Node;

namespace {

// Shared by all four drawings.
class Drawing {
 public:
  explicit Drawing(const ReleaseGraph& graph)
      : graph_(graph), implied_(graph.order.graph.implied()), steps_(graph.order.graph.steps()) {
    // A barrier is not a step of its own.
    std::set<std::size_t> used;
    for (Node node = 0; node < steps_.size(); ++node) {
      if (role(node) != NodeRole::Barrier) used.insert(steps_[node]);
    }
    for (std::size_t& step : steps_)
      step = static_cast<std::size_t>(std::distance(used.begin(), used.lower_bound(step))) + 1;
    step_count_ = used.size();
  }

  const apply::Order& order() const { return graph_.order; }
  NodeRole role(Node node) const { return order().role(node); }
  std::size_t nodes() const { return order().graph.size(); }
  std::size_t step(Node node) const { return steps_[node]; }
  std::size_t step_count() const { return step_count_; }
  /// Asks for nothing that other edges don't say.
  bool implied(std::size_t edge) const {
    return implied_[edge] && predicate_of(order().graph.edges()[edge]) == EdgePredicate::Present;
  }

  std::string name(Node node) const {
    switch (role(node)) {
      case NodeRole::Object:
        return graph_.objects[node].object.key().display();
      case NodeRole::Barrier:
        return "everything else";
      case NodeRole::Outside:
        return order().outside_at(node).display() + " (outside)";
    }
    return {};
  }
  /// "ready", or nothing where presence is enough.
  static std::string demand(const Edge& edge) {
    const EdgePredicate predicate = predicate_of(edge);
    return predicate == EdgePredicate::Present ? std::string() : std::string(to_string(predicate));
  }
  static bool declared(const Edge& edge) {
    return edge.reason.find(apply::kAfterAnnotation) != std::string::npos ||
           edge.reason.find(apply::kBeforeAnnotation) != std::string::npos;
  }
  static std::string label(const Edge& edge) {
    const std::string asked = demand(edge);
    return asked.empty() ? edge.reason : fmt::format("{}: {}", asked, edge.reason);
  }

 private:
  const ReleaseGraph& graph_;
  const std::vector<bool> implied_;
  std::vector<std::size_t> steps_;
  std::size_t step_count_ = 0;
};

// Nodes in the order in which they are listed: by step, then as the package has them.
std::vector<Node> by_step(const Drawing& drawing) {
  std::vector<Node> nodes;
  for (Node node = 0; node < drawing.nodes(); ++node) {
    if (drawing.role(node) != NodeRole::Barrier) nodes.push_back(node);
  }
  std::ranges::stable_sort(nodes, {}, [&](Node node) { return drawing.step(node); });
  return nodes;
}

Value edge_value(const Edge& edge) {
  return Value::object({{"before", edge.before},
                        {"after", edge.after},
                        {"predicate", apply::to_string(predicate_of(edge))},
                        {"reason", edge.reason},
                        {"need", edge.strength == graph::Strength::Hard},
                        {"declared", Drawing::declared(edge)}});
}

}  // namespace

std::string graph_text(const ReleaseGraph& graph, bool color) {
  const Drawing drawing(graph);
  const auto& edges = drawing.order().graph.edges();
  std::string text = graph.objects.empty() ? fmt::format("{} has no objects\n", graph.id.name)
                                           : fmt::format("{}: {} in {}\n\n", graph.id.name,
                                                         plural(graph.objects.size(), "object"),
                                                         plural(drawing.step_count(), "step"));
  Table table({"STEP", "OBJECT", "AFTER", "WHY"});
  std::size_t step = 0;
  for (const Node node : by_step(drawing)) {
    std::vector<std::size_t> reasons;
    for (const std::size_t edge : drawing.order().graph.edges_in(node)) {
      if (!drawing.implied(edge)) reasons.push_back(edge);
    }
    std::ranges::sort(reasons, {}, [&](std::size_t edge) {
      return std::tuple(drawing.name(edges[edge].before), edges[edge].label);
    });
    std::string number = drawing.step(node) == step ? "" : fmt::format("{}", drawing.step(node));
    step = drawing.step(node);
    if (reasons.empty()) table.add({{number, Tone::Strong}, {drawing.name(node)}, {""}, {""}});
    bool first = true;
    for (const std::size_t edge : reasons) {
      const std::string asked = Drawing::demand(edges[edge]);
      table.add({{first ? number : "", Tone::Strong},
                 {first ? drawing.name(node) : ""},
                 {drawing.name(edges[edge].before) + (asked.empty() ? "" : fmt::format(" ({})", asked))},
                 {edges[edge].reason, Tone::Faint}});
      first = false;
    }
  }
  if (!table.empty()) text += table.render(color);
  for (const Edge& edge : drawing.order().dropped)
    text += fmt::format("\nLeft out, because it would close a cycle: {} after {}: {}\n",
                        escape_controls(drawing.name(edge.after)), escape_controls(drawing.name(edge.before)),
                        edge.reason);
  return text;
}

std::string graph_dot(const ReleaseGraph& graph) {
  const Drawing drawing(graph);
  std::string text = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge "
      "[fontname=\"sans-serif\", fontsize=10];\n",
      dot_text(graph.id.name));
  for (Node node = 0; node < drawing.nodes(); ++node) {
    const std::string_view style = drawing.role(node) == NodeRole::Object    ? ""
                                   : drawing.role(node) == NodeRole::Outside ? ", style=dashed"
                                                                             : ", shape=plaintext";
    text += fmt::format("  n{} [label=\"{}\"{}];\n", node, dot_text(drawing.name(node)), style);
  }
  const auto& edges = drawing.order().graph.edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (drawing.implied(i)) continue;
    text +=
        fmt::format("  n{} -> n{} [label=\"{}\"{}];\n", edges[i].before, edges[i].after,
                    dot_text(Drawing::label(edges[i])), Drawing::declared(edges[i]) ? ", style=bold" : "");
  }
  return text + "}\n";
}

std::string graph_mermaid(const ReleaseGraph& graph) {
  const Drawing drawing(graph);
  std::string text = "flowchart LR\n";
  for (Node node = 0; node < drawing.nodes(); ++node) {
    const std::string name = mermaid_text(drawing.name(node));
    text += drawing.role(node) == NodeRole::Object ? fmt::format("  n{}[\"{}\"]\n", node, name)
                                                   : fmt::format("  n{}([\"{}\"])\n", node, name);
  }
  const auto& edges = drawing.order().graph.edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (drawing.implied(i)) continue;
    text +=
        fmt::format("  n{} {}|\"{}\"| n{}\n", edges[i].before, Drawing::declared(edges[i]) ? "==>" : "-->",
                    mermaid_text(Drawing::label(edges[i])), edges[i].after);
  }
  return text;
}

Value graph_value(const ReleaseGraph& graph) {
  const Drawing drawing(graph);
  const apply::Order& order = drawing.order();
  Value::Array nodes, edges, left_out;
  for (Node node = 0; node < drawing.nodes(); ++node) {
    Value value = Value::object({{"id", node}, {"role", "object"}, {"step", drawing.step(node)}});
    Value group, kind, ns, name, file, line, optional = false;
    switch (drawing.role(node)) {
      case NodeRole::Object: {
        const release::RenderedObject& rendered = graph.objects[node];
        const apimachinery::ObjectKey key = rendered.object.key();
        group = key.group_kind.group;
        kind = key.group_kind.kind;
        ns = text_or_null(key.ns);
        name = key.name;
        file = text_or_null(rendered.source_file());
        if (rendered.line > 0) line = rendered.line;
        break;
      }
      case NodeRole::Barrier:
        value.set("role", "barrier");
        break;
      case NodeRole::Outside: {
        const apply::OutsideObject& outside = order.outside_at(node);
        value.set("role", "outside");
        if (outside.group) group = *outside.group;
        kind = outside.kind;
        ns = text_or_null(outside.ns);
        name = outside.name;
        optional = outside.optional;
        break;
      }
    }
    value.set("group", std::move(group));
    value.set("kind", std::move(kind));
    value.set("namespace", std::move(ns));
    value.set("name", std::move(name));
    value.set("optional", std::move(optional));
    value.set("file", std::move(file));
    value.set("line", std::move(line));
    nodes.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < order.graph.edges().size(); ++i) {
    Value value = edge_value(order.graph.edges()[i]);
    value.set("implied", drawing.implied(i));
    edges.push_back(std::move(value));
  }
  for (const Edge& edge : order.dropped) left_out.push_back(edge_value(edge));
  return Value::object({{"release", graph.id.name},
                        {"namespace", graph.id.ns},
                        {"revision", number_or_null(graph.revision)},
                        {"nodes", Value(std::move(nodes))},
                        {"edges", Value(std::move(edges))},
                        {"leftOut", Value(std::move(left_out))}});
}

}  // namespace mist::view
