#include "blueprint/blueprint.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/duration.h"
#include "base/text.h"

namespace mist::blueprint {
namespace {

// Times in a status have whole seconds.
constexpr Duration kShortestDeadline = std::chrono::seconds(1);

constexpr std::string_view kInstance = "instance";

struct TypeWord {
  std::string_view word;
  NodeType type;
};
constexpr std::array<TypeWord, 8> kTypes{{{"own", NodeType::Own},
                                          {"read", NodeType::Read},
                                          {"list", NodeType::List},
                                          {"value", NodeType::Value},
                                          {"absent", NodeType::Absent},
                                          {"act", NodeType::Act},
                                          {"http", NodeType::Http},
                                          {"package", NodeType::Package}}};

struct ConditionWord {
  std::string_view word;
  Condition condition;
};
constexpr std::array<ConditionWord, 5> kConditions{{{"present", Condition::Present},
                                                    {"ready", Condition::Ready},
                                                    {"gone", Condition::Gone},
                                                    {"terminating", Condition::Terminating},
                                                    {"done", Condition::Done}}};

struct PolicyWord {
  std::string_view word;
  Policy policy;
};
constexpr std::array<PolicyWord, 3> kPolicies{
    {{"delete", Policy::Delete}, {"orphan", Policy::Orphan}, {"retain", Policy::Retain}}};

const Value::Array& list_at(const Value& description, std::string_view name) {
  static const Value::Array kNone;
  const Value* found = description.find(name);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}

// The condition of an edge to a node of that type, if the edge names none.
Condition usual_condition(NodeType type) {
  switch (type) {
    case NodeType::Own:
    case NodeType::Read:
    case NodeType::Http:
    case NodeType::Package:
      return Condition::Ready;
    case NodeType::List:
    case NodeType::Value:
      return Condition::Present;
    case NodeType::Absent:
      return Condition::Gone;
    case NodeType::Act:
      return Condition::Done;
  }
  return Condition::Ready;
}

void refuse_unwanted(const graph::AlsoGraph& also, const std::vector<Node>& nodes,
                     std::vector<Error>& faults) {
  const graph::Closure all = also.closure({nodes.size()}, [](graph::Guard) { return graph::Truth::True; });
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (all.wanted(i) == graph::Truth::False)
      faults.push_back(
          error(ErrorKind::Invalid, "no Also edge leads to the node {}, so that nothing ever wants it",
                nodes[i].name)
              .with_hint(fmt::format("add {{ from = \"instance\", to = \"{}\" }} to also", nodes[i].name)));
}

// A path, or { path, default }.
Result<Extraction> extraction_of(const Value::Member& member) {
  const bool plain = member.value.is_string();
  const std::string_view path = plain ? member.value.as_string() : member.value.string_at("path");
  Extraction extraction{member.key, {}, {}};
  MIST_TRY(extraction.path, FieldPath::parse(path));
  if (const Value* fallback = plain ? nullptr : member.value.find("default")) extraction.fallback = *fallback;
  return extraction;
}

// The value that was read, or nullopt and one more fault.
template <typename T>
std::optional<T> kept(Result<T> result, std::vector<Error>& faults) {
  if (result.ok()) return *std::move(result);
  faults.push_back(std::move(result).error());
  return std::nullopt;
}
bool note(Status status, std::vector<Error>& faults) {
  if (status.ok()) return true;
  faults.push_back(std::move(status).error());
  return false;
}

}  // namespace

std::string_view word(NodeType type) { return std::ranges::find(kTypes, type, &TypeWord::type)->word; }
std::string_view word(Condition condition) {
  return std::ranges::find(kConditions, condition, &ConditionWord::condition)->word;
}
std::string_view word(Policy policy) {
  return std::ranges::find(kPolicies, policy, &PolicyWord::policy)->word;
}

graph::Truth truth(const Value* value) {
  if (value == nullptr || value->is_null()) return graph::Truth::False;
  return value->is_bool() && !value->as_bool() ? graph::Truth::False : graph::Truth::True;
}

Result<Blueprint> Blueprint::parse(const Value& description, Standing standing) {
  std::vector<Error> faults;
  Blueprint blueprint = read(description, faults, standing);
  if (!faults.empty()) return std::move(faults.front());
  return blueprint;
}

void Blueprint::read_deadline(const Value& description, std::vector<Error>& faults) {
  const Value* const told = description.find("progress_deadline");
  if (told == nullptr) return;
  const auto deadline = parse_duration(told->is_string() ? told->as_string() : std::string());
  if (deadline.ok() && *deadline >= kShortestDeadline)
    progress_deadline_ = *deadline;
  else
    faults.push_back(
        error(ErrorKind::Invalid, "progress_deadline is not a time of 1s or more, such as \"10m\""));
}

Blueprint Blueprint::read(const Value& description, std::vector<Error>& faults, Standing standing) {
  Blueprint blueprint;
  blueprint.standing_ = standing;
  if (const Value* kind = description.find("kind"); kind != nullptr && kind->is_object())
    blueprint.instances_ = {std::string(kind->string_at("group")), std::string(kind->string_at("version")),
                            std::string(kind->string_at("kind"))};
  else
    faults.push_back(error(ErrorKind::Invalid, "the blueprint names no kind of instances"));
  if (const Value* kind = description.find("kind")) blueprint.checks_spec_ = kind->is_true_at("has_spec");
  if (const Value* kind = description.find("kind")) blueprint.checks_status_ = kind->is_true_at("has_status");
  blueprint.resource_ = read_resource(description, faults, standing);
  blueprint.read_deadline(description, faults);
  blueprint.read_nodes(description, faults);
  blueprint.read_also(description, faults);
  blueprint.read_sequence(description, faults);
  blueprint.check_paths(faults);
  blueprint.check_guards(faults);
  return blueprint;
}

std::string Blueprint::name_of(graph::Node node) const {
  return node == root() ? std::string(kInstance) : nodes_[node].name;
}

std::optional<graph::Node> Blueprint::node_called(std::string_view name) const {
  const auto found = std::ranges::find(nodes_, name, &Node::name);
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<graph::Node>(found - nodes_.begin());
}

void Blueprint::read_nodes(const Value& description, std::vector<Error>& faults) {
  const Value* nodes = description.find("nodes");
  if (nodes == nullptr || !nodes->is_object() || nodes->as_object().empty()) {
    faults.push_back(error(ErrorKind::Invalid, "the blueprint has no nodes"));
    return;
  }
  for (const Value::Member& member : nodes->as_object()) {
    if (member.key == kInstance)
      faults.push_back(error(ErrorKind::Invalid,
                             "no node can be called {}: that is the custom resource itself", kInstance));
    // A word alone stands for a node with nothing but that.
    const Value& told = member.value;
    auto type = std::ranges::find(
        kTypes, told.is_string() ? std::string_view(told.as_string()) : told.string_at("type"),
        &TypeWord::word);
    if (type == kTypes.end()) {
      faults.push_back(error(ErrorKind::Invalid, "the node {} is of no type that is known", member.key));
      type = kTypes.begin();
    }
    const auto policy = std::ranges::find(kPolicies, told.string_at("policy"), &PolicyWord::word);
    nodes_.push_back({.name = member.key,
                      .type = type->type,
                      .policy = policy == kPolicies.end() ? Policy::Delete : policy->policy,
                      .adopt = told.is_true_at("adopt"),
                      .force = told.is_true_at("force"),
                      .replace = told.is_true_at("replace"),
                      .contract = told.is_true_at("contract"),
                      .at_teardown = told.is_true_at("teardown")});
    if (nodes_.back().at_teardown && type->type != NodeType::Act)
      faults.push_back(error(ErrorKind::Invalid,
                             "the node {} has teardown, and only an act can run when the instance is deleted",
                             member.key));
  }
  std::ranges::sort(nodes_, {}, &Node::name);
  read_evidence(*nodes, faults);
  read_status(*nodes, faults);
}

// Each name once, and none that the operator itself writes.
void Blueprint::read_status(const Value& nodes, std::vector<Error>& faults) {
  std::map<std::string, std::string> given;
  for (Node& each : nodes_) {
    const Value* const status = nodes.find(each.name)->find("status");
    if (status == nullptr || !status->is_object() || status->empty()) continue;
    if (each.type == NodeType::Absent || each.type == NodeType::Act)
      faults.push_back(error(ErrorKind::Invalid,
                             "the node {} has values for the status, and a node with {} has none", each.name,
                             word(each.type)));
    for (const Value::Member& member : status->as_object()) {
      if (auto one = kept(extraction_of(member), faults)) each.status.push_back(*std::move(one));
      if (member.key == "conditions")
        faults.push_back(error(ErrorKind::Invalid,
                               "the node {} writes status.conditions, which is the operator's own",
                               each.name));
      else if (const auto [other, is_new] = given.emplace(member.key, each.name); !is_new)
        faults.push_back(error(ErrorKind::Invalid, "both {} and {} write status.{}", other->second, each.name,
                               member.key));
    }
  }
}

void Blueprint::read_evidence(const Value& nodes, std::vector<Error>& faults) {
  for (Node& each : nodes_) {
    const std::string_view name = nodes.find(each.name)->string_at("evidence");
    if (name.empty()) continue;
    if (!each.keeps_objects() && each.type != NodeType::Absent)
      faults.push_back(error(ErrorKind::Invalid,
                             "the node {} has evidence, and only states of an object can have that",
                             each.name));
    else
      each.evidence = kept(value_node(name, fmt::format("the evidence of {}", each.name)), faults);
  }
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

Result<graph::Node> Blueprint::value_node(std::string_view name, std::string_view where) const {
  MIST_TRY(const graph::Node found, node(name, where));
  if (nodes_[found].type != NodeType::Value)
    return error(ErrorKind::Invalid, "{} names the node {}, which isn't a value", where, name)
        .with_hint("a value node takes what it needs along Sequence edges and computes true or false");
  return found;
}

void Blueprint::read_also(const Value& description, std::vector<Error>& faults) {
  also_ = graph::AlsoGraph(nodes_.size() + 1);
  const std::size_t before = faults.size();
  for (const Value& each : list_at(description, "also")) {
    std::optional<graph::AlsoEdge> edge = kept(read_also_edge(each), faults);
    if (edge) also_.add(*std::move(edge));
  }
  // A node that an unreadable edge leads to would be reported as unwanted.
  if (faults.size() == before) refuse_unwanted(also_, nodes_, faults);
}

Result<graph::AlsoEdge> Blueprint::read_also_edge(const Value& each) {
  const std::string_view from = each.string_at("from");
  MIST_TRY(const graph::Node begin,
           from == kInstance ? Result<graph::Node>(root()) : node(from, "an Also edge"));
  MIST_TRY(const graph::Node end, node(each.string_at("to"), "an Also edge"));
  graph::AlsoEdge edge{begin, end, graph::kAlways, {}};
  const std::string_view when = each.string_at("when"), given = each.string_at("given");
  if (!when.empty() && !given.empty())
    return error(ErrorKind::Invalid, "the Also edge from {} to {} has both when and given", from,
                 name_of(end))
        .with_hint("a value node can look at the instance too");
  if (!when.empty()) {
    MIST_TRY(FieldPath path, FieldPath::parse(when));
    edge.guard = guards_.size();
    edge.reason = fmt::format("when {}", path.text);
    guards_.push_back({std::move(path)});
  } else if (!given.empty()) {
    MIST_TRY(const graph::Node value, value_node(given, "the guard of an Also edge"));
    edge.guard = guards_.size();
    edge.reason = fmt::format("given {}", given);
    guards_.push_back({std::nullopt, value});
    has_value_guards_ = true;
  }
  return edge;
}

Result<Extraction> Blueprint::read_extraction(const Value::Member& member, const SequenceEdge& edge) const {
  MIST_TRY(Extraction extraction, extraction_of(member));
  const NodeType source = nodes_[edge.from].type;
  if (source == NodeType::Absent || source == NodeType::Act)
    return error(ErrorKind::Invalid,
                 "the Sequence edge from {} to {}: a node with {} has no values to extract",
                 name_of(edge.from), name_of(edge.to), word(source));
  if (edge.gate == Gate::Soft && !extraction.fallback)
    return error(ErrorKind::Invalid, "the soft edge from {} to {} gives {} no default", name_of(edge.from),
                 name_of(edge.to), member.key)
        .with_hint(fmt::format("nothing waits for a soft edge: {} = {{ path = \"{}\", default = … }}",
                               member.key, extraction.path.text));
  return extraction;
}

void Blueprint::refuse_if_new(Error fault, std::vector<Error>& faults) {
  if (standing_ == Standing::InForce)
    tolerated_.push_back(std::move(fault.message));
  else
    faults.push_back(std::move(fault));
}

// A value that is looked for under a name with an index is waited for without end.
void Blueprint::check_paths(std::vector<Error>& faults) {
  const auto check = [&](const FieldPath& path, std::string_view where) {
    if (path.bracketed.empty()) return;
    refuse_if_new(error(ErrorKind::Invalid, "{}: {} looks for a field that is called {}", where, path.text,
                        path.bracketed)
                      .with_hint("the item of a list is a number between dots, as in status.nodes.0.ip, and "
                                 "a name there means that field of each item; a bracket of a name is "
                                 "written \\["),
                  faults);
  };
  for (const Node& each : nodes_)
    for (const Extraction& one : each.status)
      check(one.path, fmt::format("the status of the node {}", each.name));
  for (const SequenceEdge& edge : sequence_)
    for (const Extraction& one : edge.extract)
      check(one.path, fmt::format("the Sequence edge from {} to {}", name_of(edge.from), name_of(edge.to)));
  for (const graph::AlsoEdge& edge : also_.edges())
    if (const FieldPath* const field = guarding_field(edge))
      check(*field, fmt::format("the Also edge from {} to {}", name_of(edge.from), name_of(edge.to)));
}

// Its path begins at the custom resource, not at what functions are given.
void Blueprint::check_guards(std::vector<Error>& faults) {
  constexpr std::array<std::string_view, 5> kParts{"apiVersion", "kind", "metadata", "spec", "status"};
  for (const graph::AlsoEdge& edge : also_.edges()) {
    const FieldPath* const field = guarding_field(edge);
    if (field == nullptr || field->fields.empty() ||
        std::ranges::find(kParts, field->fields.front()) != kParts.end())
      continue;
    const bool is_named = field->fields.front() == kInstance && field->fields.size() > 1;
    refuse_if_new(
        error(ErrorKind::Invalid, "the Also edge from {} to {} never holds: no instance has a field {}",
              name_of(edge.from), name_of(edge.to), field->text)
            .with_hint(is_named ? fmt::format("the path begins in the instance: when = \"{}\"",
                                              field->text.substr(kInstance.size() + 1))
                                : "the path begins with apiVersion, kind, metadata, spec or status"),
        faults);
  }
}

Status Blueprint::check_condition(const SequenceEdge& edge) const {
  const Node& from = nodes_[edge.from];
  const auto refused = [&](std::string_view why) {
    return error(ErrorKind::Invalid, "the Sequence edge from {} to {}: {}", from.name, name_of(edge.to), why);
  };
  const bool of_object =
      from.type != NodeType::Value && from.type != NodeType::List && from.type != NodeType::Http;
  if (edge.until == Condition::Done && from.type != NodeType::Act) return refused("only an act can be done");
  if ((edge.until == Condition::Gone || edge.until == Condition::Terminating) && !of_object)
    return refused(fmt::format("a {} can't be gone", word(from.type)));
  if (from.type == NodeType::Absent && edge.until != Condition::Gone && edge.until != Condition::Terminating)
    return refused("what must be absent can only be waited for until it is gone or terminating");
  if (edge.contract && (from.type == NodeType::Absent || from.type == NodeType::Act))
    return refused(fmt::format("a node with {} has nothing that a contract could match", word(from.type)));
  return {};
}

void Blueprint::read_sequence(const Value& description, std::vector<Error>& faults) {
  into_.resize(nodes_.size());
  std::set<std::pair<graph::Node, std::string>> given;
  for (const Value& each : list_at(description, "sequence")) {
    std::optional<SequenceEdge> edge = kept(read_sequence_edge(each), faults);
    if (!edge) continue;
    note(check_condition(*edge), faults);
    if (const Value* extract = each.find("extract"); extract != nullptr && extract->is_object())
      for (const Value::Member& member : extract->as_object())
        if (auto one = kept(read_extraction(member, *edge), faults)) edge->extract.push_back(*std::move(one));
    for (const Extraction& one : edge->extract)
      if (one.name == kInstance || !given.emplace(edge->to, one.name).second)
        faults.push_back(error(ErrorKind::Invalid, "the node {} is given two values called {}",
                               name_of(edge->to), one.name));
    into_[edge->to].push_back(sequence_.size());
    sequence_.push_back(*std::move(edge));
  }
  note(order_nodes(), faults);
}

Result<SequenceEdge> Blueprint::read_sequence_edge(const Value& each) const {
  SequenceEdge edge;
  MIST_TRY(edge.from, node(each.string_at("from"), "a Sequence edge"));
  MIST_TRY(edge.to, node(each.string_at("to"), "a Sequence edge"));
  if (edge.from == edge.to)
    return error(ErrorKind::Invalid, "the node {} can't come before itself", name_of(edge.from));
  if (nodes_[edge.from].at_teardown && !nodes_[edge.to].at_teardown)
    return error(ErrorKind::Invalid,
                 "the Sequence edge from {} to {}: {} runs when the instance is deleted, when nothing is "
                 "written "
                 "any more",
                 name_of(edge.from), name_of(edge.to), name_of(edge.from))
        .with_hint("turn the edge round: an act with teardown runs before what it comes after is deleted");
  const NodeType source = nodes_[edge.from].type;
  const auto until = std::ranges::find(kConditions, each.string_at("until"), &ConditionWord::word);
  edge.until = until == kConditions.end() ? usual_condition(source) : until->condition;
  if (edge.until == Condition::Ready && usual_condition(source) != Condition::Ready)
    edge.until = usual_condition(source);
  const std::string_view gate = each.string_at("gate");
  edge.gate = gate == "continuous" ? Gate::Continuous : gate == "soft" ? Gate::Soft : Gate::Latched;
  edge.contract = each.is_true_at("contract");
  // Waiting until something is gone is no dependency on it.
  edge.teardown = each.string_at("teardown") != "none" && edge.gate != Gate::Soft &&
                  edge.until != Condition::Gone && edge.until != Condition::Terminating;
  return edge;
}

Status Blueprint::order_nodes() {
  const auto name = [this](graph::Node each) { return name_of(each); };
  graph::SequenceGraph graph(nodes_.size());
  for (const SequenceEdge& edge : sequence_)
    graph.add({edge.from, edge.to, 0, "Sequence",
               edge.gate == Gate::Soft ? graph::Strength::Soft : graph::Strength::Hard});
  const graph::Relaxed relaxed = graph.relaxed();
  MIST_TRY(order_, relaxed.graph.topological_order(name));
  std::vector<std::size_t> place(nodes_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) place[order_[i]] = i;
  reach_.assign(nodes_.size(), std::vector<bool>(nodes_.size()));
  for (SequenceEdge& edge : sequence_)
    if (edge.gate == Gate::Soft) edge.cyclic = place[edge.from] > place[edge.to];
  // Those that come before a node have their own predecessors already.
  for (const graph::Node each : order_)
    for (const std::size_t i : into_[each]) {
      const SequenceEdge& edge = sequence_[i];
      if (edge.gate == Gate::Soft) continue;
      reach_[edge.from][each] = true;
      for (graph::Node before = 0; before < nodes_.size(); ++before)
        if (reach_[before][edge.from]) reach_[before][each] = true;
    }
  return {};
}

graph::Closure Blueprint::wanted(const Value& instance,
                                 const std::function<graph::Truth(graph::Node)>& value_of) const {
  return also_.closure({root()}, [&](graph::Guard guard) {
    const Guard& asked = guards_[guard];
    // Its spec is known whole, so that there is no third answer.
    return asked.field ? truth(asked.field->find(instance)) : value_of(asked.value);
  });
}

Blueprint Blueprint::without_guards() const {
  Blueprint all = *this;
  all.also_ = graph::AlsoGraph(nodes_.size() + 1);
  for (const graph::AlsoEdge& edge : also_.edges())
    all.also_.add({edge.from, edge.to, graph::kAlways, edge.reason});
  all.has_value_guards_ = false;
  return all;
}

std::optional<graph::Node> Blueprint::guarding_value(const graph::AlsoEdge& edge) const {
  if (edge.guard == graph::kAlways || guards_[edge.guard].field) return std::nullopt;
  return guards_[edge.guard].value;
}

const FieldPath* Blueprint::guarding_field(const graph::AlsoEdge& edge) const {
  if (edge.guard == graph::kAlways || !guards_[edge.guard].field) return nullptr;
  return &*guards_[edge.guard].field;
}

std::vector<std::string> Blueprint::warnings() const {
  std::vector<std::string> found = resource_ ? resource_->tolerated : std::vector<std::string>();
  found.insert(found.end(), tolerated_.begin(), tolerated_.end());
  // Nodes whose values may reach a node, along edges of either strength.
  const auto sources_of = [this](graph::Node node) {
    std::vector<bool> seen(nodes_.size());
    std::vector<graph::Node> open{node};
    while (!open.empty()) {
      const graph::Node at = open.back();
      open.pop_back();
      for (const std::size_t i : into_[at])
        if (!seen[sequence_[i].from]) {
          seen[sequence_[i].from] = true;
          open.push_back(sequence_[i].from);
        }
    }
    return seen;
  };
  for (const graph::AlsoEdge& edge : also_.edges()) {
    if (edge.guard == graph::kAlways || guards_[edge.guard].field) continue;
    const std::vector<bool> sources = sources_of(guards_[edge.guard].value);
    const graph::Closure from_here =
        also_.closure({edge.to}, [](graph::Guard) { return graph::Truth::True; });
    for (graph::Node node = 0; node < nodes_.size(); ++node)
      if (sources[node] && from_here.wanted(node) != graph::Truth::False)
        found.push_back(fmt::format(
            "{} is wanted given {}, and {} depends on {}: it may come and go without end", name_of(edge.to),
            name_of(guards_[edge.guard].value), name_of(guards_[edge.guard].value), name_of(node)));
  }
  for (const SequenceEdge& edge : sequence_) {
    if (edge.cyclic)
      found.push_back(
          fmt::format("the soft edge from {} to {} closes a cycle: a value that depends on itself may change "
                      "without end",
                      name_of(edge.from), name_of(edge.to)));
    const bool needs = std::ranges::any_of(edge.extract, [](const Extraction& e) { return !e.fallback; });
    if (!needs) continue;
    const auto always = [](graph::Guard) { return graph::Truth::False; };
    if (also_.closure({edge.to, root()}, always).wanted(edge.from) != graph::Truth::True)
      found.push_back(
          fmt::format("{} needs values of {}, which may not be wanted while it is: give them a default, or "
                      "add an Also edge from {} to {}",
                      name_of(edge.to), name_of(edge.from), name_of(edge.to), name_of(edge.from)));
  }
  return found;
}

}  // namespace mist::blueprint
