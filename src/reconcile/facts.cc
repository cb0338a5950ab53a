#include "reconcile/facts.h"

#include <algorithm>

#include "apply/fields/server_made.h"
#include "base/cut_text.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "reconcile/list_selector.h"
#include "reconcile/member_order.h"
#include "reconcile/ownership.h"
#include "reconcile/prune.h"
#include "reconcile/release_node.h"

namespace mist::reconcile {
namespace {

using apimachinery::GroupKind;
using blueprint::Blueprint;
using blueprint::Condition;
using blueprint::Extraction;
using blueprint::Gate;
using blueprint::NodeType;
using blueprint::SequenceEdge;
using graph::Truth;

// The length of the hash at the end of the name of an act's Job; names of Jobs become labels of Pods.
constexpr std::size_t kSuffix = 10;
constexpr std::size_t kMostLabel = 63;

std::string digest_of(std::string_view text) {
  return crypto::sha256(crypto::as_bytes(std::string(text))).hex().substr(0, 32);
}

std::string hash_of(Value object) {
  object.sort_keys();
  return digest_of(encoding::to_json(object));
}

// With what it is known by.
Value marked(Value object, std::string_view uid) {
  const std::string hash = hash_of(object);
  object["metadata"]["labels"].set(kInstanceLabel, uid);
  object["metadata"]["annotations"].set(kInstanceLabel, uid);
  object["metadata"]["annotations"].set(kHashAnnotation, hash);
  return object;
}

bool is_dirty(const Member& member) {
  std::vector<apply::FieldDifference> found =
      apply::differences(member.desired, member.observed.object, kManager);
  apply::leave_out(found, member.observed.made);
  return std::ranges::any_of(found, [](const apply::FieldDifference& each) { return !each.made; });
}

void fail(Facts& facts, std::string_view why) {
  facts.made = Facts::Made::Failed;
  facts.known = false;
  facts.why = cut_text(why, kMostWords);
  facts.members.clear();
}

}  // namespace

// The parts that functions may depend on: not the status, which the operator writes itself, nor the fields
// that each write changes.
Value for_functions(const Value& instance) {
  Value seen = Value::object();
  for (const std::string_view name : {"apiVersion", "kind", "spec"})
    if (const Value* value = instance.find(name)) seen.set(name, *value);
  for (const std::string_view name : {"name", "namespace", "uid", "labels"})
    if (const Value* value = instance.at_path({"metadata", name})) seen["metadata"].set(name, *value);
  // An instance without labels has none of any name.
  if (seen.at_path({"metadata", "labels"}) == nullptr) seen["metadata"].set("labels", Value::object());
  return seen;
}

Survey::Survey(const Blueprint& blueprint, const Value& instance, const Record& record,
               const Queries& queries)
    : blueprint_(blueprint),
      instance_(instance),
      record_(record),
      queries_(queries),
      uid_(instance.string_at({"metadata", "uid"})) {
  facts_.resize(blueprint.nodes().size());
  closure_ = blueprint.wanted(instance, [](graph::Node) { return Truth::Unknown; });
  wanted_ = targets();
  // Each round but the last learns what at least one guard has come to.
  for (std::size_t round = 0; round <= blueprint.also().edges().size(); ++round) {
    facts_.assign(blueprint.nodes().size(), {});
    writers_.clear();
    for (const graph::Node node : blueprint.order()) look_at(node);
    find_writers();
    for (const graph::Node node : blueprint.order()) judge_edges(node);
    if (!blueprint.has_value_guards()) break;
    closure_ = blueprint.wanted(instance, [this](graph::Node value) { return guard(value); });
    std::vector<Truth> next = targets();
    if (next == wanted_) break;
    wanted_ = std::move(next);
  }
}

std::vector<Truth> Survey::targets() {
  std::vector<Truth> all;
  const bool is_going = apimachinery::is_terminating(instance_);
  for (graph::Node node = 0; node < blueprint_.nodes().size(); ++node)
    if (const blueprint::Node& told = blueprint_.nodes()[node];
        told.at_teardown && (!is_going || goes_out_of_order(instance_, told.name)))
      all.push_back(Truth::False);
    else
      all.push_back(queries_.frozen && queries_.frozen(told.name) ? Truth::Unknown : closure_.wanted(node));
  return all;
}

// Only from what is surely wanted or surely not: then no later round takes it back.
Truth Survey::guard(graph::Node value) const {
  const Facts& facts = facts_[value];
  if (wanted_[value] != Truth::True || facts.made != Facts::Made::Yes || !facts.gate.empty())
    return Truth::Unknown;
  std::vector<bool> seen(blueprint_.nodes().size());
  std::vector<graph::Node> open{value};
  while (!open.empty()) {
    const graph::Node at = open.back();
    open.pop_back();
    for (const std::size_t i : blueprint_.edges_into(at)) {
      const SequenceEdge& edge = blueprint_.sequence()[i];
      if (seen[edge.from]) continue;
      if (wanted_[edge.from] == Truth::Unknown) return Truth::Unknown;
      // Its value is now that of a later state of the object, which may be wanted because of it.
      if (at == value && edge.gate != Gate::Soft && is_passed(edge)) return Truth::Unknown;
      seen[edge.from] = true;
      if (wanted_[edge.from] == Truth::True) open.push_back(edge.from);
    }
  }
  return blueprint::truth(&*facts.live);
}

void Survey::look_at(graph::Node node) {
  Facts& facts = facts_[node];
  if (wanted_[node] == Truth::False) return;
  Value environment = Value::object({{"instance", for_functions(instance_)}});
  if (!gather(node, environment)) {
    // An object that is there is known not to have the value.
    if (blueprint_.nodes()[node].type == NodeType::Http && facts.waits_on &&
        (facts_[*facts.waits_on].live ? has_answered(node) : may_answer_again(node, *facts.waits_on))) {
      facts.waits_to_ask |= facts.known;
      facts.known = false;
    }
    return;
  }
  auto made = queries_.make(blueprint_.nodes()[node].name, environment);
  if (!made.ok()) return fail(facts, made.error().to_line());
  facts.made = Facts::Made::Yes;
  facts.known = true;
  switch (blueprint_.nodes()[node].type) {
    case NodeType::Value:
      facts.live = *std::move(made);
      return;
    case NodeType::List:
      return take_collection(facts, *made);
    case NodeType::Http:
      return take_answer(node, *made);
    case NodeType::Own:
    case NodeType::Package:
    case NodeType::Read:
    case NodeType::Absent:
    case NodeType::Act:
      break;
  }
  const bool is_list = made->is_array();
  take_members(node, *std::move(made));
  if (facts.made != Facts::Made::Yes) return;
  observe(node, facts);
  if (is_list) facts.live = Value(Value::Array());
  take_live(node, facts);
}

// The values for a node's function. False: it can't be called; the facts say why.
bool Survey::gather(graph::Node node, Value& environment) {
  Facts& facts = facts_[node];
  for (const std::size_t i : blueprint_.edges_into(node)) {
    const SequenceEdge& edge = blueprint_.sequence()[i];
    const blueprint::Node& source = blueprint_.nodes()[edge.from];
    const bool is_wanted = wanted_[edge.from] != Truth::False;
    for (const Extraction& each : edge.extract) {
      auto value = given(edge, each);
      if (!value.ok()) {
        fail(facts, fmt::format("the value {} from {}: {}", each.name, source.name, value.error().message));
        return false;
      }
      if (!*value) {
        if (is_wanted) facts.waits_on = edge.from;
        facts.known = !is_wanted || is_known(edge);
        facts.waits_to_ask = !facts.known && !edge.cyclic && facts_[edge.from].waits_to_ask;
        facts.why = is_wanted ? why_missing(edge, each)
                              : fmt::format("the node {}, whose values it needs, is not wanted", source.name);
        facts.needs_unread = needs_unread(node);
        return false;
      }
      environment.set(each.name, **std::move(value));
    }
    if (edge.extract.empty() || !is_wanted) continue;
    if (edge.cyclic) {
      for (const Recorded& each : record_.objects)
        if (each.node == source.name && source.keeps_objects()) facts.uses.insert(each.id.text());
      continue;
    }
    facts.uses.insert(facts_[edge.from].uses.begin(), facts_[edge.from].uses.end());
    if (source.keeps_objects())
      for (const Member& member : facts_[edge.from].members) facts.uses.insert(member.id.text());
  }
  return true;
}

// Of all its edges: the first value that is missing tells nothing of the others.
bool Survey::needs_unread(graph::Node node) const {
  for (const std::size_t i : blueprint_.edges_into(node)) {
    const SequenceEdge& edge = blueprint_.sequence()[i];
    if (wanted_[edge.from] == Truth::False) continue;
    const bool is_unread = edge.cyclic ? !is_known(edge) : facts_[edge.from].is_unread();
    for (const Extraction& each : edge.extract) {
      const auto value = given(edge, each);
      if (!value.ok() || (!*value && is_unread)) return true;
    }
  }
  return false;
}

std::string Survey::why_missing(const SequenceEdge& edge, const Extraction& extraction) const {
  const blueprint::Node& source = blueprint_.nodes()[edge.from];
  const Facts& facts = facts_[edge.from];
  std::string why = fmt::format("waits for {} of {}", extraction.path.text, source.name);
  if (edge.cyclic) return fmt::format("{}: {}", why, uncertain_record(edge.from));
  if (facts.live && source.type == NodeType::Package && hides_export(*facts.live, extraction.path.text))
    why += ", which is secret, so that no status shows it: read the Secret that holds it";
  if (facts.why.empty()) return why;
  if (facts.made != Facts::Made::Yes) return fmt::format("{}, which {}", why, facts.why);
  // That the source isn't known is the only reason why a soft edge gives no default.
  return edge.gate == Gate::Soft ? fmt::format("{}: {}", why, facts.why) : why;
}

std::optional<Survey::Inputs> Survey::inputs(graph::Node node) const {
  Inputs found{Value::object({{"instance", for_functions(instance_)}}), {}};
  for (const std::size_t i : blueprint_.edges_into(node)) {
    const SequenceEdge& edge = blueprint_.sequence()[i];
    for (const Extraction& each : edge.extract) {
      auto value = given(edge, each);
      if (!value.ok() || (!*value && wanted_[edge.from] == Truth::False)) return std::nullopt;
      if (*value)
        found.environment.set(each.name, **std::move(value));
      else
        found.unknown.push_back(each.name);
    }
  }
  return found;
}

// The value that flows along an edge into a function, or the one that stands in for it.
Result<std::optional<Value>> Survey::given(const SequenceEdge& edge, const Extraction& extraction) const {
  const bool is_wanted = wanted_[edge.from] != Truth::False;
  std::optional<Value> value;
  if (is_wanted) {
    MIST_TRY(value, extracted(edge, extraction));
  }
  if (!value && (!is_wanted || (edge.gate == Gate::Soft && is_known(edge)))) value = extraction.fallback;
  return value;
}

// Whether what is there of a source is all that there is. An operator that has just started, or may not look,
// would else take the default for the truth, and delete what is wanted by it.
bool Survey::is_known(const SequenceEdge& edge) const {
  if (edge.cyclic || wanted_[edge.from] == Truth::False) return uncertain_record(edge.from).empty();
  return facts_[edge.from].known;
}

bool Survey::was_there(graph::Node node) const {
  const std::string& name = blueprint_.nodes()[node].name;
  // One that was only planned never was.
  const auto was_made = [&](const Recorded& each) {
    return each.node == name && !(each.hash.empty() && queries_.observe(each.id, true).absent());
  };
  return std::ranges::any_of(facts_[node].members,
                             [](const Member& each) { return each.observed.there(); }) ||
         std::ranges::any_of(record_.objects, was_made);
}

// Of an HTTP node that waits for another one. An object that is only not ready, as in a rolling update, or
// that is replaced, may answer in a moment as it did before. One of others that doesn't come back is gone for
// good after a while, which queries.answered knows.
bool Survey::may_answer_again(graph::Node node, graph::Node on) const {
  return was_there(on) || has_answered(node);
}

bool Survey::has_answered(graph::Node node) const {
  return queries_.answered && queries_.answered(blueprint_.nodes()[node].name);
}

bool Survey::is_certain(const ObjectId& id, const Observation& observed) const {
  return observed.state != Observation::State::Unknown ||
         (queries_.unserved && queries_.unserved(id.gvk().group_kind()));
}

// Why it isn't known what is there of a node by the record; empty: it is.
std::string Survey::uncertain_record(graph::Node node) const {
  for (const Recorded& each : record_.objects) {
    if (each.node != blueprint_.nodes()[node].name) continue;
    const Observation observed = queries_.observe(each.id, true);
    if (!is_certain(each.id, observed)) return not_known(each.id, observed);
  }
  return {};
}

Result<std::optional<Value>> Survey::extracted(const SequenceEdge& edge, const Extraction& extraction) const {
  if (!edge.cyclic) {
    const Facts& source = facts_[edge.from];
    return source.live ? extraction.path.read(*source.live)
                       : Result<std::optional<Value>>(std::optional<Value>());
  }
  const std::optional<Value> before = recorded_objects(edge.from);
  return before ? extraction.path.read(*before) : Result<std::optional<Value>>(std::optional<Value>());
}

// Of a node that isn't looked at yet: what is there of it by the record. A part of it would be another value.
std::optional<Value> Survey::recorded_objects(graph::Node node) const {
  Value::Array found;
  for (const Recorded& each : record_.objects) {
    if (each.node != blueprint_.nodes()[node].name) continue;
    Observation observed = queries_.observe(each.id, true);
    if (!is_certain(each.id, observed)) return std::nullopt;
    if (!observed.there() || !is_instances(observed.object, uid_)) continue;
    if (blueprint_.nodes()[node].type == NodeType::Package)
      observed.object = with_exports(std::move(observed.object));
    found.push_back(std::move(observed.object));
  }
  if (found.empty()) return std::nullopt;
  return found.size() == 1 ? std::move(found.front()) : Value(std::move(found));
}

// As the record says: a kind that is away for a moment comes back as it was.
void Survey::place(Member& member, Value& object) const {
  ObjectId inside = member.id;
  inside.ns = std::string(instance_.string_at({"metadata", "namespace"}));
  const bool was_inside = record_.find(inside) != nullptr;
  member.placed = was_inside != (record_.find(member.id) != nullptr);
  if (!member.placed || !was_inside) return;
  object["metadata"].set("namespace", inside.ns);
  member.id = std::move(inside);
}

void Survey::take_members(graph::Node node, Value made) {
  Facts& facts = facts_[node];
  const NodeType type = blueprint_.nodes()[node].type;
  if (made.is_array() && type != NodeType::Own)
    return fail(facts, "its function gives a list, and only a node with own can have several objects");
  Value::Array objects = made.is_array() ? std::move(made.as_array()) : Value::Array{std::move(made)};
  const std::string acts = acts_before(node);
  std::string all;
  std::set<apimachinery::ObjectKey> keys;
  for (Value& object : objects) {
    Member member;
    member.id = id_of(object);
    if (member.id.api_version.empty() || member.id.kind.empty() || member.id.name.empty())
      return fail(facts, "its function gives no object with apiVersion, kind and metadata.name");
    if (const auto reserved = apply::find_reserved(object))
      return fail(facts, fmt::format("{} {}", member.id.display(), reserved->words));
    if (member.id.ns.empty() && queries_.unplaced && queries_.unplaced(member.id.gvk().group_kind()))
      place(member, object);
    facts.is_placed &= member.placed;
    const std::string made_hash = hash_of(object);
    member.hash = acts.empty() ? made_hash : digest_of(made_hash + acts);
    if (type == NodeType::Act) {
      if (member.id.kind != "Job" || member.id.api_version != "batch/v1")
        return fail(facts, fmt::format("its function gives {}, and an act is a Job of batch/v1",
                                       member.id.display()));
      // A name can't go on with a dash after a dot.
      std::string begin = member.id.name.substr(0, kMostLabel - kSuffix - 1);
      while (begin.ends_with('.')) begin.pop_back();
      const std::string name = fmt::format("{}-{}", begin, member.hash.substr(0, kSuffix));
      object["metadata"].set("name", name);
      member.id.name = name;
      object["metadata"].set("finalizers", Value::array({kFinalizer}));
    }
    if (!keys.insert(member.id.key()).second)
      return fail(facts, fmt::format("its function gives {} twice", member.id.display()));
    member.desired =
        blueprint_.nodes()[node].writes_objects() ? marked(std::move(object), uid_) : std::move(object);
    all += member.hash;
    facts.members.push_back(std::move(member));
  }
  facts.hash = facts.members.size() == 1 ? facts.members.front().hash : digest_of(all);
}

void Survey::take_collection(Facts& facts, const Value& made) const {
  Collection wanted{std::string(made.string_at("apiVersion")),
                    std::string(made.string_at("kind")),
                    std::string(made.string_at("namespace")),
                    {}};
  if (wanted.api_version.empty() || wanted.kind.empty())
    return fail(facts, "its function gives no apiVersion and kind");
  auto selector = list_selector(made);
  if (!selector.ok()) return fail(facts, selector.error().message);
  wanted.label_selector = *std::move(selector);
  std::optional<Value::Array> items = queries_.list ? queries_.list(wanted) : std::nullopt;
  const GroupKind kind = ObjectId{wanted.api_version, wanted.kind, {}, {}}.gvk().group_kind();
  facts.known = items.has_value() || (queries_.unserved && queries_.unserved(kind));
  if (!items) {
    facts.made = Facts::Made::Pending;
    const std::string why = queries_.unlisted ? queries_.unlisted(wanted) : std::string();
    facts.why = why.empty() ? fmt::format("waits until the list of {} is known", wanted.display())
                            : fmt::format("{} can't be listed: {}", wanted.display(), why);
    return;
  }
  std::erase_if(*items, [](const Value& each) { return apply::is_record(each); });
  std::ranges::sort(*items, {}, [](const Value& each) { return id_of(each); });
  facts.live = Value(*std::move(items));
}

void Survey::take_answer(graph::Node node, const Value& made) {
  Facts& facts = facts_[node];
  const auto question =
      HttpQuestion::parse(made, std::string(instance_.string_at({"metadata", "namespace"})));
  if (!question.ok()) return fail(facts, question.error().message);
  facts.hash = hash_of(made);
  facts.known = false;
  // Nobody is asked before the node's edges hold. Where these surely don't, there surely is no answer.
  for (const std::size_t i : blueprint_.edges_into(node)) {
    const SequenceEdge& edge = blueprint_.sequence()[i];
    std::string why;
    if (edge.gate == Gate::Soft || holds(i, why)) continue;
    facts.known = wanted_[node] == Truth::True && wanted_[edge.from] != Truth::Unknown && is_known(edge) &&
                  !may_answer_again(node, edge.from);
    facts.waits_to_ask = !facts.known && (is_known(edge) || facts_[edge.from].waits_to_ask);
    facts.why = fmt::format("waits for {}{}{}", blueprint_.name_of(edge.from), why.empty() ? "" : ": ", why);
    return;
  }
  if (wanted_[node] != Truth::True) {
    facts.why = "whether it is wanted is not known yet";
    return;
  }
  if (!queries_.ask) return;
  facts.answer = queries_.ask(blueprint_.nodes()[node].name, *question);
  facts.live = facts.answer.body;
  // One try that fails says as little as none.
  facts.known = facts.live.has_value() || facts.answer.stale;
  facts.why = facts.known ? std::string() : unanswered(facts.answer);
}

std::string Collection::display() const {
  return fmt::format("{}{}{}", kind, ns.empty() ? std::string() : " of namespace " + ns,
                     label_selector.empty() ? std::string() : " with " + label_selector);
}

std::string not_known(const ObjectId& id, const Observation& observed) {
  return observed.why.empty() ? fmt::format("the kind of {} is being looked up", id.display())
                              : fmt::format("{} can't be read: {}", id.display(), observed.why);
}

void Survey::observe(graph::Node node, Facts& facts) {
  const blueprint::Node& told = blueprint_.nodes()[node];
  for (Member& member : facts.members) {
    member.observed = queries_.observe(member.id, told.writes_objects() && !told.adopt);
    // Its kind may have come back in between, and then this was asked about another place.
    if (!member.placed) member.observed = {Observation::State::Unknown, {}, std::move(member.observed.why)};
    if (!is_certain(member.id, member.observed)) {
      facts.known = false;
      if (facts.why.empty()) facts.why = not_known(member.id, member.observed);
    }
    if (!member.observed.there()) continue;
    if (member.id.kind == "Secret" && member.id.api_version == "v1" &&
        apply::is_record(member.observed.object))
      return fail(facts, fmt::format("{} is of the record of a release, which no blueprint may touch",
                                     member.id.display()));
    member.ours = is_instances(member.observed.object, uid_);
    member.dirty = told.keeps_objects() && member.ours && is_dirty(member);
  }
  if (told.keeps_objects()) order_members(facts.members);
}

void Survey::take_live(graph::Node node, Facts& facts) const {
  const bool own = blueprint_.nodes()[node].writes_objects();
  const auto is_seen = [own](const Member& each) { return each.observed.there() && (each.ours || !own); };
  if (facts.live) {
    // A part of the list would be another value.
    if (!facts.known) return facts.live.reset();
    for (const Member& each : facts.members)
      if (is_seen(each)) facts.live->push_back(each.observed.object);
  } else if (facts.members.size() == 1 && is_seen(facts.members.front())) {
    facts.live = facts.members.front().observed.object;
    if (blueprint_.nodes()[node].type == NodeType::Package) facts.live = with_exports(*std::move(facts.live));
  }
}

// The inputs of the acts that it waits for: with a new one they have to be done again before it is written.
std::string Survey::acts_before(graph::Node node) {
  std::string all;
  for (const std::size_t i : blueprint_.edges_into(node)) {
    const SequenceEdge& edge = blueprint_.sequence()[i];
    if (edge.until != Condition::Done || edge.gate == Gate::Soft || wanted_[edge.from] == Truth::False)
      continue;
    const Facts& act = facts_[edge.from];
    facts_[node].is_input_known &=
        wanted_[edge.from] == Truth::True && act.made == Facts::Made::Yes && act.is_input_known;
    all += fmt::format(" {}={}", blueprint_.name_of(edge.from), facts_[edge.from].hash);
  }
  return all;
}

void Survey::find_writers() {
  for (const graph::Node node : blueprint_.order()) {
    if (!blueprint_.nodes()[node].writes_objects() && blueprint_.nodes()[node].type != NodeType::Absent)
      continue;
    for (const Member& member : facts_[node].members) writers_[member.id.key()].push_back(node);
  }
}

const Member* Survey::member(graph::Node node, const ObjectId& id) const {
  const auto found = std::ranges::find_if(facts_[node].members,
                                          [&](const Member& each) { return is_same_object(each.id, id); });
  return found == facts_[node].members.end() ? nullptr : &*found;
}

bool Survey::disordered(const std::vector<graph::Node>& states) const {
  for (std::size_t i = 0; i + 1 < states.size(); ++i)
    if (!blueprint_.precedes(states[i], states[i + 1])) return true;
  return false;
}

bool Survey::are_states(graph::Node a, graph::Node b) const {
  return std::ranges::any_of(facts_[a].members, [&](const Member& member) {
    const auto found = writers_.find(member.id.key());
    return found != writers_.end() && std::ranges::find(found->second, a) != found->second.end() &&
           std::ranges::find(found->second, b) != found->second.end();
  });
}

Truth Survey::reached(graph::Node state) const {
  const blueprint::Node& told = blueprint_.nodes()[state];
  if (told.evidence) return guard(*told.evidence);
  if (!facts_[state].is_placed) return Truth::Unknown;
  return record_.reached(told.name, facts_[state].hash) ? Truth::True : Truth::False;
}

std::vector<std::string> Survey::after(graph::Node node) const {
  return names_before(
      node, [&](graph::Node before) { return wanted_[before] == Truth::False; },
      [&](graph::Node before) { return !blueprint_.nodes()[before].writes_objects(); });
}

std::vector<std::string> Survey::held_by(graph::Node last_act) const {
  const std::vector<std::string> before = names_before(
      last_act, [](graph::Node) { return false; },
      [&](graph::Node each) {
        return blueprint_.nodes()[each].at_teardown || !blueprint_.nodes()[each].writes_objects();
      });
  std::set<std::string> held(before.begin(), before.end());
  // The record has an object under the state that it is in.
  for (const auto& [object, states] : writers_)
    if (std::ranges::any_of(states, [&](graph::Node state) {
          return std::ranges::find(before, blueprint_.name_of(state)) != before.end();
        }))
      for (const graph::Node state : states) held.insert(blueprint_.name_of(state));
  // Which objects a node has can't be told as long as its function can't be called: then it is as it was
  // noted.
  const auto is_unclear = [&](const std::string& name) {
    const auto node = blueprint_.node_called(name);
    return node && facts_[*node].made != Facts::Made::Yes;
  };
  const bool is_any_unclear = std::ranges::any_of(before, is_unclear);
  if (const auto noted = record_.last_acts.find(blueprint_.name_of(last_act));
      noted != record_.last_acts.end())
    for (const std::string& name : noted->second)
      if (is_unclear(name) || (is_any_unclear && blueprint_.node_called(name))) held.insert(name);
  return {held.begin(), held.end()};
}

bool Survey::has_something_to_save(graph::Node last_act) const {
  return reconcile::has_something_to_save(held_by(last_act), record_, queries_);
}

bool has_something_to_save(const std::vector<std::string>& held, const Record& recorded,
                           const Queries& queries) {
  return held.empty() || std::ranges::any_of(recorded.objects, [&](const Recorded& each) {
           return std::ranges::find(held, each.node) != held.end() &&
                  !queries.observe(each.id, true).absent();
         });
}

std::vector<std::string> Survey::names_before(graph::Node node,
                                              const std::function<bool(graph::Node)>& left_out,
                                              const std::function<bool(graph::Node)>& led_over) const {
  std::set<std::string> names;
  std::vector<bool> seen(blueprint_.nodes().size());
  std::vector<graph::Node> open{node};
  while (!open.empty()) {
    const graph::Node at = open.back();
    open.pop_back();
    for (const std::size_t i : blueprint_.edges_into(at)) {
      const SequenceEdge& edge = blueprint_.sequence()[i];
      if (!edge.teardown || seen[edge.from] || left_out(edge.from)) continue;
      seen[edge.from] = true;
      if (led_over(edge.from)) open.push_back(edge.from);
      const blueprint::Node& before = blueprint_.nodes()[edge.from];
      if (before.writes_objects()) names.insert(before.name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace mist::reconcile
