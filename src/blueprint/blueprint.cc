#include "blueprint/blueprint.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kInstance = "instance";

const Value::Array& list_at(const Value& description, std::string_view name) {
  static const Value::Array kNone;
  const Value* found = description.find(name);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}

// Of an instance: is it set, and not to false? Its spec is known whole, so that there is no third answer.
graph::Truth truth(const Value* value) {
  if (value == nullptr || value->is_null()) return graph::Truth::False;
  return value->is_bool() && !value->as_bool() ? graph::Truth::False : graph::Truth::True;
}

Status refuse_unwanted(const graph::AlsoGraph& also, const std::vector<Node>& nodes) {
  const graph::Closure all = also.closure({nodes.size()}, [](graph::Guard) { return graph::Truth::True; });
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (all.wanted(i) == graph::Truth::False)
      return error(ErrorKind::Invalid, "no Also edge leads to the node {}, so that nothing ever wants it",
                   nodes[i].name)
          .with_hint(fmt::format("add {{ from = \"instance\", to = \"{}\" }} to also", nodes[i].name));
  return {};
}

}  // namespace

Result<FieldPath> FieldPath::parse(std::string_view text) {
  FieldPath path{{""}, std::string(text)};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '.')
      path.fields.back() += text[++i];
    else if (text[i] == '.')
      path.fields.emplace_back();
    else
      path.fields.back() += text[i];
  }
  if (std::ranges::any_of(path.fields, &std::string::empty))
    return error(ErrorKind::Invalid, "\"{}\" is not the path of a field", escape_controls(text))
        .with_hint("names with a dot between them, as in spec.clusterIP");
  return path;
}

const Value* FieldPath::find(const Value& object) const {
  const Value* at = &object;
  for (const std::string& field : fields) {
    at = at->find(field);
    if (at == nullptr) return nullptr;
  }
  return at->is_null() ? nullptr : at;
}

Result<Blueprint> Blueprint::parse(const Value& description) {
  Blueprint blueprint;
  const Value* kind = description.find("kind");
  if (kind == nullptr || !kind->is_object())
    return error(ErrorKind::Invalid, "the blueprint names no kind of instances");
  blueprint.instances_ = {std::string(kind->string_at("group")), std::string(kind->string_at("version")),
                          std::string(kind->string_at("kind"))};
  MIST_TRY_VOID(blueprint.read_nodes(description));
  MIST_TRY_VOID(blueprint.read_also(description));
  MIST_TRY_VOID(blueprint.read_sequence(description));
  return blueprint;
}

std::string Blueprint::name_of(graph::Node node) const {
  return node == root() ? std::string(kInstance) : nodes_[node].name;
}

Status Blueprint::read_nodes(const Value& description) {
  const Value* nodes = description.find("nodes");
  if (nodes == nullptr || !nodes->is_object() || nodes->as_object().empty())
    return error(ErrorKind::Invalid, "the blueprint has no nodes");
  for (const Value::Member& member : nodes->as_object()) {
    if (member.key == kInstance)
      return error(ErrorKind::Invalid, "no node can be called {}: that is the custom resource itself",
                   kInstance);
    nodes_.push_back({member.key, member.value == Value("read") ? NodeType::Read : NodeType::Own});
  }
  std::ranges::sort(nodes_, {}, &Node::name);
  return {};
}

Result<graph::Node> Blueprint::node(std::string_view name, std::string_view where) const {
  const auto found = std::ranges::find(nodes_, name, &Node::name);
  if (found != nodes_.end()) return static_cast<graph::Node>(found - nodes_.begin());
  std::vector<std::string> names;
  for (const Node& each : nodes_) names.push_back(each.name);
  return error(ErrorKind::Invalid, "{} names the node \"{}\", which the blueprint doesn't have", where,
               escape_controls(name))
      .with_hint(fmt::format("it has {}", join(names, ", ")));
}

Status Blueprint::read_also(const Value& description) {
  also_ = graph::AlsoGraph(nodes_.size() + 1);
  for (const Value& each : list_at(description, "also")) {
    const std::string_view from = each.string_at("from");
    MIST_TRY(const graph::Node begin,
             from == kInstance ? Result<graph::Node>(root()) : node(from, "an Also edge"));
    MIST_TRY(const graph::Node end, node(each.string_at("to"), "an Also edge"));
    graph::AlsoEdge edge{begin, end, graph::kAlways, {}};
    if (const std::string_view guard = each.string_at("when"); !guard.empty()) {
      MIST_TRY(FieldPath path, FieldPath::parse(guard));
      edge.guard = guards_.size();
      edge.reason = fmt::format("when {}", path.text);
      guards_.push_back(std::move(path));
    }
    also_.add(std::move(edge));
  }
  return refuse_unwanted(also_, nodes_);
}

Status Blueprint::read_sequence(const Value& description) {
  graph::SequenceGraph graph(nodes_.size());
  std::set<std::pair<graph::Node, std::string>> given;
  for (const Value& each : list_at(description, "sequence")) {
    SequenceEdge edge;
    MIST_TRY(edge.from, node(each.string_at("from"), "a Sequence edge"));
    MIST_TRY(edge.to, node(each.string_at("to"), "a Sequence edge"));
    if (edge.from == edge.to)
      return error(ErrorKind::Invalid, "the node {} can't come before itself", name_of(edge.from));
    if (each.string_at("until") == "present") edge.until = Condition::Present;
    if (const Value* extract = each.find("extract"); extract != nullptr && extract->is_object())
      for (const Value::Member& member : extract->as_object()) {
        if (member.key == kInstance || !given.emplace(edge.to, member.key).second)
          return error(ErrorKind::Invalid, "the node {} is given two values called {}", name_of(edge.to),
                       member.key);
        MIST_TRY(FieldPath path,
                 FieldPath::parse(member.value.is_string() ? member.value.as_string() : std::string()));
        edge.extract.push_back({member.key, std::move(path)});
      }
    graph.add({edge.from, edge.to, 0, "Sequence"});
    sequence_.push_back(std::move(edge));
  }
  MIST_TRY(order_, graph.topological_order([this](graph::Node each) { return name_of(each); }));
  return {};
}

graph::Closure Blueprint::wanted(const Value& instance) const {
  return also_.closure({root()}, [&](graph::Guard guard) { return truth(guards_[guard].find(instance)); });
}

}  // namespace mist::blueprint
