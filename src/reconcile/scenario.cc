#include "reconcile/scenario.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/text.h"
#include "encoding/yaml.h"
#include "reconcile/status.h"

namespace mist::reconcile {
namespace {

using Type = ScenarioEvent::Type;

struct EventWord {
  std::string_view word;
  Type type;
};
constexpr std::array<EventWord, 6> kEvents{{{"write", Type::Write},
                                            {"remove", Type::Remove},
                                            {"instance", Type::ChangeInstance},
                                            {"deleteInstance", Type::DeleteInstance},
                                            {"answer", Type::Answer},
                                            {"release", Type::Release}}};
constexpr std::string_view kEventHint =
    "an event is one of write: OBJECT, remove: OBJECT, instance: CHANGE, deleteInstance: true, "
    "answer: { node: NAME, body: JSON }, release: { node: NAME, exports: VALUES }";

constexpr std::string_view kNoOutcome = "the outcome of a release is what it exports, or a failure";

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Scenario> read(const Value& document) const {
    Scenario scenario;
    if (document.is_array()) {
      MIST_TRY(scenario.events, events(document));
      return scenario;
    }
    if (!document.is_object()) return wrong(document, "a scenario is a list of events, or a record");
    for (const Value::Member& member : document.as_object()) {
      if (member.key == "instance") {
        scenario.instance = member.value;
      } else if (member.key == "controllers" && member.value.is_bool()) {
        scenario.controllers = member.value.as_bool();
      } else if (member.key == "releases" && member.value.is_object()) {
        for (const Value::Member& each : member.value.as_object())
          if (!is_outcome(each.value)) return wrong(each.value, std::string(kNoOutcome));
        scenario.releases = member.value;
      } else if (member.key == "events" && member.value.is_array()) {
        MIST_TRY(scenario.events, events(member.value));
      } else {
        return wrong(member.value,
                     fmt::format("{} is nothing that a scenario has", escape_controls(member.key)))
            .with_hint(
                "it has instance (an object), controllers (true or false), releases (by node: exports, "
                "or failure), and events (a list)");
      }
    }
    return scenario;
  }

 private:
  Result<std::vector<ScenarioEvent>> events(const Value& list) const {
    std::vector<ScenarioEvent> all;
    for (const Value& each : list.as_array()) {
      if (!each.is_object() || each.size() != 1)
        return wrong(each, "this is no event").with_hint(std::string(kEventHint));
      const Value::Member& only = each.as_object().front();
      const auto word = std::ranges::find(kEvents, only.key, &EventWord::word);
      if (word == kEvents.end())
        return wrong(only.value, fmt::format("there is no event {}", escape_controls(only.key)))
            .with_hint(std::string(kEventHint));
      MIST_TRY_VOID(check(word->type, only.value));
      all.push_back({word->type, only.value, place(each)});
    }
    return all;
  }

  static bool is_outcome(const Value& value) {
    return value.is_object() && (value.find("exports") != nullptr) != !value.string_at("failure").empty();
  }

  Status check(Type type, const Value& value) const {
    if (type == Type::DeleteInstance) {
      if (value.is_bool() && value.as_bool()) return {};
      return wrong(value, "deleteInstance has nothing but true");
    }
    if (type == Type::ChangeInstance) {
      if (value.is_object()) return {};
      return wrong(value, "instance takes a record that is merged into it");
    }
    if (type == Type::Answer) {
      const bool has_one = (value.find("body") != nullptr) != (value.find("failure") != nullptr);
      if (!value.string_at("node").empty() && has_one) return {};
      return wrong(value, "an answer has the node that it is for, and a body or a failure");
    }
    if (type == Type::Release) {
      if (!value.string_at("node").empty() && is_outcome(value)) return {};
      return wrong(value, fmt::format("{}, and the node that it is of", kNoOutcome));
    }
    const ObjectId id = id_of(value);
    if (id.api_version.empty() || id.kind.empty() || id.name.empty())
      return wrong(value, "an object has apiVersion, kind and metadata.name");
    return {};
  }

  SourceLocation place(const Value& value) const {
    const encoding::Position position = value.position();
    std::string_view text = text_;
    for (std::uint32_t i = 1; i < position.line; ++i)
      text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
    return {.file = file_,
            .line = position.line,
            .column = position.column,
            .excerpt = std::string(text.substr(0, text.find('\n')))};
  }
  Error wrong(const Value& value, std::string message) const {
    return error(ErrorKind::Invalid, "{}", message).at(place(value));
  }

  std::string_view text_;
  const std::string& file_;
};

std::string what_happens(const ScenarioEvent& event, const ObjectId& instance, bool is_there) {
  switch (event.type) {
    case Type::Write:
      return fmt::format("{} {}", id_of(event.object).display(), is_there ? "changes" : "appears");
    case Type::Remove:
      return fmt::format("{} is removed", id_of(event.object).display());
    case Type::ChangeInstance:
      return fmt::format("{} changes", instance.display());
    case Type::DeleteInstance:
      return fmt::format("{} is deleted", instance.display());
    case Type::Answer:
      return fmt::format("node {} is {}", event.object.string_at("node"),
                         event.object.find("body") != nullptr ? "answered" : "not answered");
    case Type::Release:
      return event.object.find("exports") != nullptr
                 ? fmt::format("the release of node {} exports other values", event.object.string_at("node"))
                 : fmt::format("the release of node {} fails", event.object.string_at("node"));
  }
  return {};
}

// As the blueprint made it: without what the server, the operator's labels and controllers add.
Value as_made(Value object) {
  object.erase("status");
  Value& metadata = object["metadata"];
  for (const std::string_view name : {"uid", "managedFields", "generation"}) metadata.erase(name);
  for (const std::string_view map : {"labels", "annotations"}) {
    Value* const all = metadata.find(map);
    if (all == nullptr) continue;
    all->erase(kInstanceLabel);
    all->erase(kHashAnnotation);
    if (all->empty()) metadata.erase(map);
  }
  return object;
}

Status check_instance(const blueprint::Blueprint& blueprint, const Value& instance) {
  const auto& kind = blueprint.instances();
  if (instance.string_at("kind") != kind.kind || instance.string_at("apiVersion") != kind.api_version())
    return error(ErrorKind::Invalid, "the instance is a {} of {}, and the blueprint is for {} of {}",
                 escape_controls(instance.string_at("kind")),
                 escape_controls(instance.string_at("apiVersion")), kind.kind, kind.api_version());
  if (instance.string_at({"metadata", "name"}).empty())
    return error(ErrorKind::Invalid, "the instance has no metadata.name");
  return {};
}

class Player {
 public:
  Player(Simulation& simulation) : simulation_(simulation) {}

  void settle(std::string event) {
    ScenarioStep step;
    step.event = std::move(event);
    step.rounds = simulation_.settle();
    step.settled = simulation_.ended();
    if (!simulation_.gone()) {
      step.status = simulation_.status();
      step.condition = step.status.find("conditions")->as_array().front();
      step.status.erase("conditions");
    }
    std::map<ObjectId, Value> now;
    for (const Value& each : simulation_.objects()) now.emplace(id_of(each), as_made(each));
    for (const auto& [id, object] : now) {
      step.there.push_back(id);
      const auto before = before_.find(id);
      if (before == before_.end() || before->second != object) step.changed.push_back(object);
    }
    before_ = std::move(now);
    played.steps.push_back(std::move(step));
  }
  bool has(const Value& object) const {
    return std::ranges::any_of(before_, [&](const auto& entry) {
      const ObjectId id = id_of(object);
      return entry.first.kind == id.kind && entry.first.api_version == id.api_version &&
             entry.first.name == id.name && (id.ns.empty() || id.ns == entry.first.ns);
    });
  }

  Played played;

 private:
  Simulation& simulation_;
  std::map<ObjectId, Value> before_;
};

Value report_value(const NodeReport& report) {
  Value value = Value::object({{"node", report.node}, {"state", word(report.state)}});
  value.set("object", report.id ? Value(report.id->display()) : Value());
  value.set("why", report.detail.empty() ? Value() : Value(report.detail));
  return value;
}

Value step_value(const ScenarioStep& step) {
  Value::Array rounds, nodes, there;
  for (const Round& round : step.rounds) {
    Value::Array blocked;
    for (const NodeReport& each : round.nodes)
      if (is_blocked(each)) blocked.push_back(report_value(each));
    rounds.push_back(
        Value::object({{"actions", Value(Value::Array(round.actions.begin(), round.actions.end()))},
                       {"blocked", Value(std::move(blocked))}}));
  }
  if (!step.rounds.empty())
    for (const NodeReport& each : step.rounds.back().nodes) nodes.push_back(report_value(each));
  for (const ObjectId& each : step.there) there.emplace_back(each.display());
  Value ready;
  if (!step.condition.is_null())
    ready = Value::object({{"status", step.condition.string_at("status")},
                           {"reason", step.condition.string_at("reason")},
                           {"message", step.condition.string_at("message")}});
  Value whole = Value::object({{"event", step.event},
                               {"rounds", Value(std::move(rounds))},
                               {"settled", step.settled},
                               {"ready", std::move(ready)},
                               {"nodes", Value(std::move(nodes))},
                               {"objects", Value(std::move(there))},
                               {"changed", Value(Value::Array(step.changed))}});
  // Most blueprints write none.
  if (!step.status.empty()) whole.set("status", step.status);
  return whole;
}

Status answer(const blueprint::Blueprint& blueprint, const ScenarioEvent& event, Simulation& simulation) {
  const std::string node(event.object.string_at("node"));
  const auto found = blueprint.node_called(node);
  if (!found || blueprint.nodes()[*found].type != blueprint::NodeType::Http)
    return error(ErrorKind::Invalid, "the blueprint has no HTTP node {}", escape_controls(node))
        .at(event.where);
  HttpAnswer given;
  if (const Value* body = event.object.find("body"))
    given.body = *body;
  else
    given = {.failure = std::string(event.object.string_at("failure")), .stale = true};
  simulation.answer(node, std::move(given));
  return {};
}

Status set_release(const blueprint::Blueprint& blueprint, const std::string& node, const Value& outcome,
                   const std::optional<SourceLocation>& where, Simulation& simulation) {
  const auto found = blueprint.node_called(node);
  if (!found || blueprint.nodes()[*found].type != blueprint::NodeType::Package) {
    Error failure = error(ErrorKind::Invalid, "the blueprint has no package node {}", escape_controls(node));
    return where ? std::move(failure).at(*where) : std::move(failure);
  }
  const Value* const exports = outcome.find("exports");
  simulation.release(node, {.exports = exports == nullptr ? Value() : *exports,
                            .failure = std::string(outcome.string_at("failure"))});
  return {};
}

}  // namespace

Result<Scenario> Scenario::parse(std::string_view text, const std::string& file) {
  MIST_TRY(const Value document, encoding::parse_yaml(text, {.strict = true, .file = file}));
  return Reader(text, file).read(document);
}

bool Played::settled() const {
  return std::ranges::all_of(steps, [](const ScenarioStep& each) { return each.settled; });
}

Result<Played> play(const blueprint::Blueprint& blueprint, const Scenario& scenario,
                    Simulation::Functions functions) {
  MIST_TRY_VOID(check_instance(blueprint, scenario.instance));
  Simulation simulation(blueprint, scenario.instance, std::move(functions), scenario.controllers);
  for (const Value::Member& each : scenario.releases.as_object())
    MIST_TRY_VOID(set_release(blueprint, each.key, each.value, std::nullopt, simulation));
  Player player(simulation);
  ObjectId instance = id_of(scenario.instance);
  if (instance.ns.empty()) instance.ns = "default";
  player.settle(fmt::format("{} appears", instance.display()));
  for (const ScenarioEvent& each : scenario.events) {
    std::string event = what_happens(each, instance, player.has(each.object));
    switch (each.type) {
      case Type::Write:
        simulation.write(each.object);
        break;
      case Type::Remove:
        if (Status removed = simulation.remove(each.object); !removed.ok())
          return std::move(removed).error().at(each.where);
        break;
      case Type::ChangeInstance:
        simulation.change_instance(each.object);
        break;
      case Type::DeleteInstance:
        simulation.delete_instance();
        break;
      case Type::Answer:
        MIST_TRY_VOID(answer(blueprint, each, simulation));
        break;
      case Type::Release:
        MIST_TRY_VOID(set_release(blueprint, std::string(each.object.string_at("node")), each.object,
                                  each.where, simulation));
        break;
    }
    player.settle(std::move(event));
  }
  return std::move(player.played);
}

Simulation::Functions functions_of(blueprint::Evaluator& evaluator, const Context& context) {
  struct Memory {
    std::map<std::string, std::pair<Value, Result<Value>>> made;
    std::map<std::string, std::pair<Value, Status>> checked;
  };
  const auto memory = std::make_shared<Memory>();
  const auto checked = [memory](const std::string& what, const Value& object, const auto& check) {
    const auto known = memory->checked.find(what);
    if (known != memory->checked.end() && known->second.first == object) return known->second.second;
    Status said = check();
    memory->checked.insert_or_assign(what, std::pair(object, said));
    return said;
  };
  return {.make =
              [memory, &evaluator, &context](const std::string& node, const Value& environment) {
                const auto known = memory->made.find(node);
                if (known != memory->made.end() && known->second.first == environment)
                  return known->second.second;
                Result<Value> made = evaluator.make(node, environment, context);
                memory->made.insert_or_assign(node, std::pair(environment, made));
                return made;
              },
          .check_node =
              [checked, &evaluator, &context](const std::string& node, const Value& object) {
                return checked(node, object, [&] { return evaluator.check(node, object, context); });
              },
          .check_edge =
              [checked, &evaluator, &context](std::size_t edge, const Value& object) {
                return checked(fmt::format("#{}", edge), object,
                               [&] { return evaluator.check(edge, object, context); });
              },
          .check_spec =
              [checked, &evaluator, &context](const Value& spec) {
                return checked("#spec", spec, [&] { return evaluator.check_spec(spec, context); });
              },
          .check_status =
              [checked, &evaluator, &context](const Value& status) {
                return checked("#status", status, [&] { return evaluator.check_status(status, context); });
              }};
}

bool is_blocked(const NodeReport& report) {
  return report.state == NodeState::Waiting || report.state == NodeState::Failed ||
         report.state == NodeState::Progressing ||
         (report.state == NodeState::Deleting && !report.detail.empty());
}

Value to_value(const Played& played) {
  Value::Array steps;
  for (const ScenarioStep& each : played.steps) steps.push_back(step_value(each));
  return Value::object({{"settled", played.settled()}, {"steps", Value(std::move(steps))}});
}

}  // namespace mist::reconcile
