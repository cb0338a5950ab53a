#include "view/blueprint_drawing.h"

#include <algorithm>

#include "base/text.h"
#include "view/drawing_text.h"
#include "view/table.h"
#include "view/values.h"

namespace mist::view {

using blueprint::Blueprint;
using blueprint::Extraction;
using blueprint::Gate;
using blueprint::SequenceEdge;
using encoding::Value;

namespace {

class AlsoTree {
 public:
  AlsoTree(const Blueprint& blueprint, bool color, const std::function<std::string(graph::Node)>& line,
           const std::function<std::vector<std::string>(graph::Node)>& below)
      : blueprint_(blueprint),
        color_(color),
        line_(line),
        below_(below),
        drawn_(blueprint.nodes().size() + 1) {}

  std::string print() {
    text_ = paint(color_, Tone::Strong, "instance") + "\n";
    children(blueprint_.root(), "");
    return std::move(text_);
  }

 private:
  void children(graph::Node node, const std::string& indent) {
    drawn_[node] = true;
    std::vector<const graph::AlsoEdge*> edges;
    for (const std::size_t i : blueprint_.also().edges_out(node))
      edges.push_back(&blueprint_.also().edges()[i]);
    std::ranges::stable_sort(edges, {}, [](const graph::AlsoEdge* edge) { return edge->to; });
    for (const graph::AlsoEdge* const edge : edges) {
      const bool last = edge == edges.back();
      const bool again = drawn_[edge->to];
      const std::string guard = edge->reason.empty() ? "" : fmt::format(" ({})", edge->reason);
      text_ += paint(color_, Tone::Faint, indent + (last ? "└─ " : "├─ ")) +
               (again ? escape_controls(blueprint_.name_of(edge->to)) : line_(edge->to)) +
               paint(color_, Tone::Faint, escape_controls(guard) + (again ? " (see above)" : "")) + "\n";
      if (again) continue;
      const std::string inner = indent + (last ? "   " : "│  ");
      for (const std::string& each : below_(edge->to))
        for (const std::string_view line : split(each, '\n'))
          text_ += paint(color_, Tone::Faint, inner) + "  " + escape_controls(line) + "\n";
      children(edge->to, inner);
    }
  }

  const Blueprint& blueprint_;
  const bool color_;
  const std::function<std::string(graph::Node)>& line_;
  const std::function<std::vector<std::string>(graph::Node)>& below_;
  std::vector<bool> drawn_;
  std::string text_;
};

// "ready", "ready and its shape", "soft".
std::string demand(const SequenceEdge& edge) {
  std::string text = edge.gate == Gate::Soft ? "soft" : std::string(word(edge.until));
  if (edge.contract) text += ", shape";
  if (edge.gate == Gate::Continuous) text += ", continuous";
  return text;
}

std::string gives(const SequenceEdge& edge) {
  std::vector<std::string> all;
  for (const Extraction& each : edge.extract)
    all.push_back(fmt::format("{} = {}", each.name, each.path.text));
  return join(all, ", ");
}

std::string_view gate_word(Gate gate) {
  switch (gate) {
    case Gate::Latched:
      return "latched";
    case Gate::Continuous:
      return "continuous";
    case Gate::Soft:
      return "soft";
  }
  return {};
}

// Of each node the length of the longest path of hard edges that ends there.
std::vector<std::size_t> steps_of(const Blueprint& blueprint) {
  std::vector<std::size_t> steps(blueprint.nodes().size(), 1);
  for (const graph::Node node : blueprint.order())
    for (const std::size_t i : blueprint.edges_into(node))
      if (const SequenceEdge& edge = blueprint.sequence()[i]; edge.gate != Gate::Soft)
        steps[node] = std::max(steps[node], steps[edge.from] + 1);
  return steps;
}

std::string summary(const std::string& name, const Blueprint& blueprint) {
  const auto& kind = blueprint.instances();
  return fmt::format("{}: {} of {}, {}", name, kind.kind, kind.api_version(),
                     plural(blueprint.nodes().size(), "node"));
}

}  // namespace

std::string also_tree(const Blueprint& blueprint, bool color,
                      const std::function<std::string(graph::Node)>& line,
                      const std::function<std::vector<std::string>(graph::Node)>& below) {
  return AlsoTree(blueprint, color, line, below).print();
}

std::string blueprint_text(const std::string& name, const Blueprint& blueprint, bool color) {
  std::string text =
      escape_controls(summary(name, blueprint)) + "\n\nAlso: what is wanted because of what\n\n";
  text += also_tree(
      blueprint, color,
      [&](graph::Node node) {
        return fmt::format("{}{}", paint(color, Tone::Name, escape_controls(blueprint.name_of(node))),
                           paint(color, Tone::Faint, fmt::format(" {}", word(blueprint.nodes()[node].type))));
      },
      [](graph::Node) { return std::vector<std::string>(); });
  text += "\nSequence: what comes before what\n\n";
  const std::vector<std::size_t> steps = steps_of(blueprint);
  std::vector<graph::Node> nodes = blueprint.order();
  std::ranges::stable_sort(nodes, {}, [&](graph::Node node) { return std::pair(steps[node], node); });
  Table table({"STEP", "NODE", "AFTER", "UNTIL", "WHAT FLOWS"});
  std::size_t step = 0;
  for (const graph::Node node : nodes) {
    const std::string number = steps[node] == step ? "" : fmt::format("{}", steps[node]);
    step = steps[node];
    bool first = true;
    for (const std::size_t i : blueprint.edges_into(node)) {
      const SequenceEdge& edge = blueprint.sequence()[i];
      table.add({{first ? number : ""},
                 {first ? blueprint.name_of(node) : "", Tone::Name},
                 {blueprint.name_of(edge.from)},
                 {demand(edge)},
                 {gives(edge)}});
      first = false;
    }
    if (first) table.add({{number}, {blueprint.name_of(node), Tone::Name}, {""}, {""}, {""}});
  }
  return text + table.render(color);
}

std::string blueprint_dot(const std::string& name, const Blueprint& blueprint) {
  std::string text = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge "
      "[fontname=\"sans-serif\", fontsize=10];\n  n{} [label=\"{}\", shape=ellipse];\n",
      dot_text(name), blueprint.root(), dot_text(blueprint.instances().kind));
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node)
    text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", node, dot_text(blueprint.name_of(node)),
                        word(blueprint.nodes()[node].type));
  for (const graph::AlsoEdge& edge : blueprint.also().edges())
    text += fmt::format("  n{} -> n{} [style=dashed, label=\"{}\"];\n", edge.from, edge.to,
                        dot_text(edge.reason));
  for (const SequenceEdge& edge : blueprint.sequence()) {
    const std::string flows = gives(edge);
    text += fmt::format("  n{} -> n{} [label=\"{}{}{}\"];\n", edge.from, edge.to, dot_text(demand(edge)),
                        flows.empty() ? "" : "\\n", dot_text(flows));
  }
  return text + "}\n";
}

std::string blueprint_mermaid(const Blueprint& blueprint) {
  std::string text = fmt::format("flowchart LR\n  n{}([\"{}\"])\n", blueprint.root(),
                                 mermaid_text(blueprint.instances().kind));
  for (graph::Node node = 0; node < blueprint.nodes().size(); ++node)
    text += fmt::format("  n{}[\"{}<br/>{}\"]\n", node, mermaid_text(blueprint.name_of(node)),
                        word(blueprint.nodes()[node].type));
  for (const graph::AlsoEdge& edge : blueprint.also().edges())
    text += edge.reason.empty()
                ? fmt::format("  n{} -.-> n{}\n", edge.from, edge.to)
                : fmt::format("  n{} -. \"{}\" .-> n{}\n", edge.from, mermaid_text(edge.reason), edge.to);
  for (const SequenceEdge& edge : blueprint.sequence()) {
    const std::string flows = gives(edge);
    text += fmt::format("  n{} -->|\"{}{}{}\"| n{}\n", edge.from, mermaid_text(demand(edge)),
                        flows.empty() ? "" : "<br/>", mermaid_text(flows), edge.to);
  }
  return text;
}

Value blueprint_value(const std::string& name, const Blueprint& blueprint) {
  Value::Array nodes, also, sequence;
  for (const blueprint::Node& each : blueprint.nodes())
    nodes.push_back(
        Value::object({{"name", each.name},
                       {"type", word(each.type)},
                       {"policy", word(each.policy)},
                       {"contract", each.contract},
                       {"evidence", each.evidence ? Value(blueprint.name_of(*each.evidence)) : Value()}}));
  for (const graph::AlsoEdge& edge : blueprint.also().edges())
    also.push_back(Value::object({{"from", blueprint.name_of(edge.from)},
                                  {"to", blueprint.name_of(edge.to)},
                                  {"guard", text_or_null(edge.reason)}}));
  for (const SequenceEdge& edge : blueprint.sequence()) {
    Value::Array extract;
    for (const Extraction& each : edge.extract)
      extract.push_back(Value::object({{"name", each.name},
                                       {"path", each.path.text},
                                       {"default", each.fallback ? *each.fallback : Value()}}));
    sequence.push_back(Value::object({{"from", blueprint.name_of(edge.from)},
                                      {"to", blueprint.name_of(edge.to)},
                                      {"until", word(edge.until)},
                                      {"gate", gate_word(edge.gate)},
                                      {"shape", edge.contract},
                                      {"teardown", edge.teardown ? "reverse" : "none"},
                                      {"extract", Value(std::move(extract))}}));
  }
  const auto& kind = blueprint.instances();
  return Value::object(
      {{"blueprint", name},
       {"kind", Value::object({{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}})},
       {"nodes", Value(std::move(nodes))},
       {"also", Value(std::move(also))},
       {"sequence", Value(std::move(sequence))}});
}

}  // namespace mist::view
