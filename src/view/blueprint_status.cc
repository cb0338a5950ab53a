#include "view/blueprint_status.h"

#include <algorithm>

#include "base/some_of.h"
#include "base/text.h"
#include "reconcile/status.h"
#include "release/command_text.h"
#include "view/blueprint_drawing.h"
#include "view/style.h"
#include "view/values.h"

namespace mist::view {

using action::InstanceGraph;
using action::ObjectId;
using action::Why;
using action::WhyNode;
using encoding::Value;
using graph::Truth;
using reconcile::NodeReport;
using reconcile::NodeState;

namespace {

Tone tone_of(NodeState state) {
  switch (state) {
    case NodeState::Ready:
      return Tone::Good;
    case NodeState::Failed:
      return Tone::Bad;
    case NodeState::Waiting:
    case NodeState::Changing:
    case NodeState::Progressing:
    case NodeState::Deleting:
      return Tone::Warning;
    case NodeState::NotWanted:
    case NodeState::Superseded:
      return Tone::Faint;
  }
  return Tone::Plain;
}

// Null: nothing was decided about nodes (the instance is suspended, or being deleted).
const NodeReport* report_of(const InstanceGraph& graph, graph::Node node) {
  for (const NodeReport& each : graph.plan.nodes)
    if (each.node == graph.blueprint.name_of(node) && each.state != NodeState::Deleting) return &each;
  return nullptr;
}

std::vector<const NodeReport*> going(const InstanceGraph& graph) {
  std::vector<const NodeReport*> all;
  for (const NodeReport& each : graph.plan.nodes)
    if (each.state == NodeState::Deleting) all.push_back(&each);
  return all;
}

std::string names(const std::vector<ObjectId>& ids) {
  // Of a collection the first ones say enough.
  constexpr std::size_t kMost = 3;
  std::vector<std::string> all;
  for (const ObjectId& id : ids) all.push_back(id.display());
  return some_of(std::move(all), kMost);
}

std::string node_line(const InstanceGraph& graph, graph::Node node, bool color) {
  std::string line = paint(color, Tone::Name, escape_controls(graph.blueprint.name_of(node)));
  if (const NodeReport* const report = report_of(graph, node))
    line += "  " + paint(color, tone_of(report->state), word(report->state));
  if (!graph.objects[node].empty()) line += "  " + escape_controls(names(graph.objects[node]));
  return line;
}

// Null: they aren't known.
const std::vector<action::ObjectStatus>* release_objects(const InstanceGraph& graph, graph::Node node) {
  if (node >= graph.release_objects.size() || !graph.release_objects[node]) return nullptr;
  return &*graph.release_objects[node];
}

// Where its objects are shown.
std::string objects_of(const InstanceGraph& graph, graph::Node node) {
  const auto& [ns, name] = *graph.releases[node];
  return fmt::format("{}: {}", release_objects(graph, node) == nullptr ? "its objects" : "more of these",
                     release::command_text("status", {ns, name, graph.cluster_words}));
}

std::string object_line(const action::ObjectStatus& object) {
  return fmt::format("{}: {}{}{}", object.key.display(), object.hook ? "hook, " : "",
                     object.retained ? "retained" : action::to_string(object.health),
                     object.detail.empty() ? "" : ": " + object.detail);
}

// Null: of another node, or not known.
Value release_objects_value(const InstanceGraph& graph, graph::Node node) {
  const std::vector<action::ObjectStatus>* const objects = release_objects(graph, node);
  if (objects == nullptr) return {};
  Value::Array all;
  for (const action::ObjectStatus& each : *objects)
    all.push_back(identity_value(each.key, {{"health", action::to_string(each.health)},
                                            {"detail", text_or_null(each.detail)},
                                            {"retained", each.retained},
                                            {"hook", each.hook}}));
  return Value(std::move(all));
}

Value release_name_value(const std::optional<std::pair<std::string, std::string>>& release) {
  if (!release) return {};
  return Value::object({{"namespace", release->first}, {"name", release->second}});
}

std::vector<std::string> node_details(const InstanceGraph& graph, graph::Node node) {
  const NodeReport* const report = report_of(graph, node);
  if (report == nullptr) return {};
  if (report->state == NodeState::NotWanted) return action::reasons(graph, node);
  std::vector<std::string> details;
  if (!report->detail.empty()) details.push_back(report->detail);
  if (const std::vector<action::ObjectStatus>* const objects = release_objects(graph, node))
    for (const action::ObjectStatus& each : *objects) details.push_back(object_line(each));
  if (graph.releases[node]) details.push_back(objects_of(graph, node));
  return details;
}

std::string condition_text(const InstanceGraph& graph, bool color) {
  if (graph.condition.is_null()) return "the operator has not written its status yet";
  const bool ready = graph.condition.string_at("status") == "True";
  return fmt::format(
      "{}: {}",
      paint(color, ready ? Tone::Good : Tone::Warning, escape_controls(graph.condition.string_at("reason"))),
      escape_lines(graph.condition.string_at("message"), 2));
}

std::string troubles_text(const std::vector<std::string>& troubles, bool color) {
  std::string text;
  for (const std::string& each : troubles)
    text += paint(color, Tone::Warning, "not known: ") + escape_lines(each, 2) + "\n";
  return text.empty() ? text : "\n" + text;
}

Value condition_value(const Value& condition) {
  if (condition.is_null()) return {};
  return Value::object({{"status", condition.string_at("status")},
                        {"reason", condition.string_at("reason")},
                        {"message", condition.string_at("message")}});
}

Value id_value(const ObjectId& id) {
  return Value::object({{"apiVersion", id.api_version},
                        {"kind", id.kind},
                        {"namespace", text_or_null(id.ns)},
                        {"name", id.name}});
}

std::string_view wanted_word(Truth truth) {
  switch (truth) {
    case Truth::True:
      return "yes";
    case Truth::False:
      return "no";
    case Truth::Unknown:
      return "unknown";
  }
  return {};
}

Value node_value(const InstanceGraph& graph, graph::Node node) {
  const NodeReport* const report = report_of(graph, node);
  Value::Array objects;
  for (const ObjectId& each : graph.objects[node]) objects.push_back(id_value(each));
  return Value::object({{"name", graph.blueprint.name_of(node)},
                        {"type", word(graph.blueprint.nodes()[node].type)},
                        {"wanted", wanted_word(graph.wanted[node])},
                        {"reasons", texts_value(action::reasons(graph, node))},
                        {"state", report == nullptr ? Value() : Value(word(report->state))},
                        {"why", report == nullptr ? Value() : text_or_null(report->detail)},
                        {"objects", Value(std::move(objects))},
                        {"release", release_name_value(graph.releases[node])},
                        {"releaseObjects", release_objects_value(graph, node)}});
}

std::string of_blueprint(const InstanceGraph& graph) {
  return fmt::format("blueprint {}/{}", graph.blueprint_ns, graph.blueprint_name);
}

std::string why_node_text(const WhyNode& each, bool color) {
  const InstanceGraph& graph = each.graph;
  const blueprint::Node& node = graph.blueprint.nodes()[each.node];
  const bool writes = node.writes_objects();
  const std::string through =
      each.of_release ? fmt::format("of the release {}, ", escape_controls(graph.releases[each.node]->second))
                      : "";
  std::string text = fmt::format(
      "\n{}{} the node {} of {} ({})\n", through,
      writes ? "made by" : (node.type == blueprint::NodeType::Absent ? "kept away by" : "looked at by"),
      paint(color, Tone::Name, escape_controls(node.name)),
      paint(color, Tone::Strong, escape_controls(graph.instance.display())),
      escape_controls(of_blueprint(graph)));
  const std::string_view verdict = graph.wanted[each.node] == Truth::True    ? "wanted"
                                   : graph.wanted[each.node] == Truth::False ? "not wanted"
                                                                             : "not known whether wanted";
  text += fmt::format("  {}: ", verdict);
  bool first = true;
  for (const std::string& line : action::reasons(graph, each.node)) {
    text += (first ? "" : "    ") + escape_controls(line) + "\n";
    first = false;
  }
  if (first) text += "\n";
  if (const NodeReport* const report = report_of(graph, each.node)) {
    text += fmt::format("  {}{}\n", paint(color, tone_of(report->state), word(report->state)),
                        report->detail.empty() ? "" : ": " + escape_lines(report->detail, 4));
  }
  if (graph.releases[each.node]) text += fmt::format("  {}\n", escape_controls(objects_of(graph, each.node)));
  for (const NodeReport* const report : going(graph))
    if (report->node == node.name)
      text += fmt::format("  {}: {}\n", paint(color, Tone::Warning, word(report->state)),
                          escape_lines(report->detail, 4));
  return text;
}

}  // namespace

std::string instance_graph_text(const InstanceGraph& graph, bool color) {
  std::string text =
      fmt::format("{}: {}\n{}\n\n", paint(color, Tone::Strong, escape_controls(graph.instance.display())),
                  condition_text(graph, color), escape_controls(of_blueprint(graph)));
  if (graph.plan.suspended) {
    text += fmt::format("nothing is done for it while its annotation {} is set and not \"false\"\n",
                        reconcile::kSuspendAnnotation);
    return text + troubles_text(graph.troubles, color);
  }
  if (graph.plan.spec == reconcile::SpecState::Broken)
    text += fmt::format("its spec doesn't meet its contract, so that nothing is done for it: {}\n",
                        escape_lines(graph.plan.spec_fault, 2));
  if (graph.terminating)
    text += "it is being deleted\n";
  else
    text += also_tree(
        graph.blueprint, color, [&](graph::Node node) { return node_line(graph, node, color); },
        [&](graph::Node node) { return node_details(graph, node); });
  if (const auto all = going(graph); !all.empty()) {
    text += "\nno longer wanted\n";
    for (const NodeReport* const each : all)
      text += fmt::format("  {}{}\n", escape_controls(each->id ? each->id->display() : each->node),
                          each->detail.empty() ? "" : ": " + escape_lines(each->detail, 4));
  }
  return text + troubles_text(graph.troubles, color);
}

Value instance_graph_value(const InstanceGraph& graph) {
  Value::Array nodes, leaving;
  if (!graph.terminating)
    for (graph::Node node = 0; node < graph.wanted.size(); ++node) nodes.push_back(node_value(graph, node));
  for (const NodeReport* const each : going(graph))
    leaving.push_back(Value::object({{"node", each->node},
                                     {"object", each->id ? id_value(*each->id) : Value()},
                                     {"why", text_or_null(each->detail)}}));
  return Value::object(
      {{"instance", id_value(graph.instance)},
       {"blueprint", Value::object({{"name", graph.blueprint_name}, {"namespace", graph.blueprint_ns}})},
       {"ready", condition_value(graph.condition)},
       {"suspended", graph.plan.suspended},
       {"deleting", graph.terminating},
       {"nodes", Value(std::move(nodes))},
       {"leaving", Value(std::move(leaving))},
       {"unknown", texts_value(graph.troubles)}});
}

std::string why_text(const Why& why, bool color) {
  std::string text = fmt::format("{} {}\n", paint(color, Tone::Strong, escape_controls(why.object.display())),
                                 why.is_there ? "is there" : "is not there");
  for (const WhyNode& each : why.nodes) text += why_node_text(each, color);
  if (why.nodes.empty()) {
    if (!why.owner.empty())
      text += fmt::format(
          "it carries the mark of an instance with the uid {}, and no node of that makes it now{}\n",
          escape_controls(why.owner),
          why.looked_at == 0 ? ": that instance is gone, or its blueprint is" : "");
    else
      text +=
          fmt::format("no node makes it or looks at it ({} looked at)\n", plural(why.looked_at, "instance"));
  }
  return text + troubles_text(why.troubles, color);
}

Value why_value(const Why& why) {
  Value::Array nodes;
  for (const WhyNode& each : why.nodes)
    nodes.push_back(Value::object({{"instance", id_value(each.graph.instance)},
                                   {"blueprint", Value::object({{"name", each.graph.blueprint_name},
                                                                {"namespace", each.graph.blueprint_ns}})},
                                   {"node", node_value(each.graph, each.node)},
                                   {"ofRelease", each.of_release}}));
  return Value::object({{"object", id_value(why.object)},
                        {"exists", why.is_there},
                        {"instanceUid", text_or_null(why.owner)},
                        {"nodes", Value(std::move(nodes))},
                        {"instances", why.looked_at},
                        {"unknown", texts_value(why.troubles)}});
}

}  // namespace mist::view
