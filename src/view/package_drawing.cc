#include "view/package_drawing.h"

#include <vector>

#include "base/text.h"
#include "view/drawing_text.h"
#include "view/style.h"
#include "view/values.h"

namespace mist::view {

using action::PackageGraph;
using encoding::Value;

namespace {

// "mistletoe/databases/mariadb 1.4.0".
std::string package_words(const PackageGraph::Package& package) {
  return package.version.empty() ? package.id : fmt::format("{} {}", package.id, package.version);
}

// Of the release's own package its name; how it was named stands in its reference.
std::string own_words(const PackageGraph& graph) {
  const PackageGraph::Package& own = graph.packages.front();
  return own.version.empty() ? graph.name : fmt::format("{} {}", graph.name, own.version);
}

class TreePrinter {
 public:
  TreePrinter(const PackageGraph& graph, bool color)
      : graph_(graph), color_(color), drawn_(graph.packages.size()) {}

  std::string print() {
    text_ = paint(color_, Tone::Strong, escape_controls(own_words(graph_))) + "\n";
    below(0, "");
    return std::move(text_);
  }

 private:
  void below(std::size_t package, const std::string& indent) {
    std::vector<const PackageGraph::Call*> calls;
    for (const PackageGraph::Call& call : graph_.calls) {
      if (call.caller == package) calls.push_back(&call);
    }
    drawn_[package] = true;
    for (const PackageGraph::Call* const call : calls) {
      const bool last = call == calls.back();
      const PackageGraph::Package& called = graph_.packages[call->called];
      const bool again = drawn_[call->called] && calls_something(call->called);
      text_ +=
          paint(color_, Tone::Faint, indent + (last ? "└─ " : "├─ ")) +
          escape_controls(fmt::format("{}: {} as {}", call->name, package_words(called), called.install)) +
          paint(color_, Tone::Faint, again ? " (see above)" : "") + "\n";
      if (!drawn_[call->called]) below(call->called, indent + (last ? "   " : "│  "));
    }
  }

  bool calls_something(std::size_t package) const {
    for (const PackageGraph::Call& call : graph_.calls) {
      if (call.caller == package) return true;
    }
    return false;
  }

  const PackageGraph& graph_;
  const bool color_;
  std::vector<bool> drawn_;
  std::string text_;
};

}  // namespace

std::string package_graph_text(const PackageGraph& graph, bool color) {
  const std::size_t called = graph.packages.size() - 1;
  return fmt::format("{}: {}\n\n", graph.id.name,
                     called == 0 ? std::string("its package calls no other")
                                 : fmt::format("its package and {} that {} called", plural(called, "other"),
                                               called == 1 ? "is" : "are")) +
         TreePrinter(graph, color).print();
}

std::string package_graph_dot(const PackageGraph& graph) {
  std::string text = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge "
      "[fontname=\"sans-serif\", fontsize=10];\n",
      dot_text(graph.id.name));
  for (std::size_t i = 0; i < graph.packages.size(); ++i) {
    const PackageGraph::Package& package = graph.packages[i];
    text +=
        fmt::format("  p{} [label=\"{}\\n{}\"];\n", i,
                    dot_text(i == 0 ? own_words(graph) : package_words(package)), dot_text(package.install));
  }
  for (const PackageGraph::Call& call : graph.calls)
    text += fmt::format("  p{} -> p{} [label=\"{}\"];\n", call.caller, call.called, dot_text(call.name));
  return text + "}\n";
}

std::string package_graph_mermaid(const PackageGraph& graph) {
  std::string text = "flowchart LR\n";
  for (std::size_t i = 0; i < graph.packages.size(); ++i) {
    const PackageGraph::Package& package = graph.packages[i];
    text += fmt::format("  p{}[\"{}<br/>{}\"]\n", i,
                        mermaid_text(i == 0 ? own_words(graph) : package_words(package)),
                        mermaid_text(package.install));
  }
  for (const PackageGraph::Call& call : graph.calls)
    text += fmt::format("  p{} -->|\"{}\"| p{}\n", call.caller, mermaid_text(call.name), call.called);
  return text;
}

Value package_graph_value(const PackageGraph& graph) {
  Value::Array packages, calls;
  for (const PackageGraph::Package& package : graph.packages)
    packages.push_back(Value::object({{"id", package.id},
                                      {"install", package.install},
                                      {"version", text_or_null(package.version)},
                                      {"digest", text_or_null(package.digest)}}));
  for (const PackageGraph::Call& call : graph.calls)
    calls.push_back(Value::object({{"caller", call.caller}, {"called", call.called}, {"name", call.name}}));
  return Value::object({{"release", graph.id.name},
                        {"namespace", graph.id.ns},
                        {"revision", number_or_null(graph.revision)},
                        {"package", graph.name},
                        {"packages", Value(std::move(packages))},
                        {"calls", Value(std::move(calls))}});
}

}  // namespace mist::view
