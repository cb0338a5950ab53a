#include "blueprint/check.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "blueprint/converted_parts.h"
#include "blueprint/scan.h"
#include "blueprint/structural_schema.h"
#include "encoding/json.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kLibraryFile = "mistletoe.ncl";

// The line itself, for a place that was found by reading.
SourceLocation place_in(std::string_view file, std::string_view text, std::uint32_t line,
                        std::uint32_t column) {
  for (std::uint32_t i = 1; i < line; ++i) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  return {.file = std::string(file),
          .line = line,
          .column = column,
          .excerpt = std::string(text.substr(0, text.find('\n')))};
}

class Checker {
 public:
  Checker(std::string name, const package::Files& files, const std::vector<Example>& examples,
          package::Renderer& renderer, const Context& context)
      : name_(std::move(name)), files_(files), examples_(examples), renderer_(renderer), context_(context) {}

  Result<Checked> run() {
    for (const auto& [file, text] : files_)
      if (file.ends_with(".ncl")) scans_.emplace(file, scan(text));
    auto evaluator = Evaluator::of(name_, files_, renderer_);
    if (!evaluator.ok()) {
      MIST_TRY_VOID(add_refusal("nickel", evaluator.error()));
      return finished();
    }
    add_self_references();
    const auto description = evaluator->description(context_);
    if (!description.ok()) {
      // With a diagnostic there is no more to say; without one (a limit was reached) the message does.
      const bool is_told = !description.error().because.empty();
      MIST_TRY_VOID(add_refusal("nickel", description.error(), is_told ? "it can't be evaluated" : ""));
      return finished();
    }
    std::vector<Error> faults;
    const Blueprint blueprint = Blueprint::read(*description, faults);
    for (const Error& each : faults) MIST_TRY_VOID(add_refusal("graph", each));
    // A value that an unreadable edge gives would be reported as missing.
    if (!faults.empty()) return finished();
    add_unknown_fields(blueprint, *description);
    add_contract_faults(blueprint, *description);
    add_unfilled_defaults(blueprint, *description);
    add_unused(blueprint);
    add_gaps(blueprint);
    for (graph::Node node = 0; node < blueprint.nodes().size(); ++node)
      MIST_TRY_VOID(check_function(blueprint, node, *evaluator));
    MIST_TRY_VOID(check_contracts(blueprint, *evaluator));
    MIST_TRY_VOID(check_conversions(blueprint, *evaluator));
    for (const std::string& each : blueprint.warnings())
      checked_.findings.push_back({.error = false, .rule = "convergence", .message = each});
    checked_.blueprint = blueprint;
    return finished();
  }

 private:
  Checked finished() {
    std::ranges::stable_sort(checked_.findings, {}, [](const Finding& each) {
      const SourceLocation place = each.where.value_or(SourceLocation());
      return std::tuple(!each.error, place.file, place.line, place.column);
    });
    return std::move(checked_);
  }

  // Only what is the blueprint's own fault.
  Status add_refusal(std::string_view rule, const Error& failure, std::string_view message = {}) {
    if (failure.kind != ErrorKind::Invalid && failure.kind != ErrorKind::Trap) return failure;
    Finding finding{.rule = rule,
                    .where = failure.where,
                    .message = message.empty() ? failure.message : std::string(message),
                    .because = failure.because,
                    .hint = failure.hint};
    // A place in the library helps nobody; the diagnostic has the others.
    if (finding.where && finding.where->file == kLibraryFile) finding.where.reset();
    // Of the schema of a contract, the message is Nickel's diagnostic.
    const std::size_t first_line = split(finding.message, '\n').front().size();
    if (finding.because.empty() && first_line < finding.message.size()) {
      finding.because = finding.message.substr(first_line + 1);
      finding.message.resize(first_line);
    }
    checked_.findings.push_back(std::move(finding));
    return {};
  }

  void add_self_references() {
    for (const auto& [file, found] : scans_)
      for (const SelfReference& each : found.self_references)
        checked_.findings.push_back(
            {.rule = "self-reference",
             .where = place_in(file, files_.at(file), each.line, each.column),
             .message = fmt::format("the field {} refers to itself: evaluating it never ends", each.name),
             .hint =
                 fmt::format("fields of a record see one another: write `include {}` for the value of that "
                             "name outside of the record, or give the function's argument another name: "
                             "fun {{ {} = given, .. }}",
                             each.name, each.name)});
  }

  // Of the contract by which instances are read. nullptr: there is none.
  static const Value* contract_of(std::string_view part, const Blueprint& blueprint,
                                  const Value& description) {
    return description.at_path(
        {"contracts", fmt::format("{}/{}", part, blueprint.instances().version), "schema"});
  }

  // An instance that has such a field breaks the contract; no value of it is ever seen.
  void add_unknown_fields(const Blueprint& blueprint, const Value& description) {
    if (const Value* const spec = contract_of("spec", blueprint, description))
      for (const graph::AlsoEdge& edge : blueprint.also().edges()) {
        const FieldPath* const field = blueprint.guarding_field(edge);
        if (field == nullptr || field->fields.empty() || field->fields.front() != "spec") continue;
        if (const auto unknown = unknown_field(*spec, std::span(field->fields).subspan(1)))
          add_unknown(fmt::format("the Also edge from {} to {} never holds: the contract of the spec has no "
                                  "field {} ({})",
                                  blueprint.name_of(edge.from), blueprint.name_of(edge.to), unknown->name,
                                  field->text),
                      *unknown);
      }
    if (const Value* const status = contract_of("status", blueprint, description))
      for (const Node& node : blueprint.nodes())
        for (const Extraction& each : node.status)
          if (const auto unknown = unknown_field(*status, std::span(&each.name, 1)))
            add_unknown(fmt::format("the node {} writes status.{}, and the contract of the status has no "
                                    "such field",
                                    node.name, each.name),
                        *unknown);
  }

  // Of a kind with a crd they are in the way of that, and were found with the graph.
  void add_contract_faults(const Blueprint& blueprint, const Value& description) {
    if (blueprint.resource()) return;
    for (const std::string_view part : {"spec", "status"})
      for (std::string& each : contract_faults(description, part, blueprint.instances().version))
        checked_.findings.push_back({.rule = "contract", .message = std::move(each)});
  }

  // The operator only checks the spec: the server fills it in, from the CRD.
  void add_unfilled_defaults(const Blueprint& blueprint, const Value& description) {
    const Value* const spec = contract_of("spec", blueprint, description);
    if (spec == nullptr || blueprint.resource()) return;
    std::vector<std::string> places;
    collect_defaults(*spec, "spec", places);
    if (places.empty()) return;
    checked_.findings.push_back(
        {.error = false,
         .rule = "contract",
         .message =
             fmt::format("the kind has no crd, so nobody sees to it that its CRD has the defaults of the "
                         "contract ({}): without them functions find no such field",
                         join(places, ", ")),
         .hint = "have the operator look whether it fits: kind.crd = 'await; or make it from the contract: "
                 "'manage, 'publish"});
  }

  static void collect_defaults(const Value& schema, const std::string& path,
                               std::vector<std::string>& places) {
    if (schema.find("default") != nullptr) return places.push_back(path);
    if (const Value* const fields = schema.find("properties"); fields != nullptr && fields->is_object())
      for (const Value::Member& each : fields->as_object())
        collect_defaults(each.value, path + "." + each.key, places);
    for (const auto& [part, step] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
             {"items", "[]"}, {"additionalProperties", ".*"}})
      if (const Value* const inner = schema.find(part); inner != nullptr && inner->is_object())
        collect_defaults(*inner, fmt::format("{}{}", path, step), places);
  }

  void add_unknown(std::string message, const UnknownField& unknown) {
    checked_.findings.push_back({.rule = "contract",
                                 .message = std::move(message),
                                 .hint = unknown.known.empty()
                                             ? "add it to the contract"
                                             : fmt::format("it has {}", join(unknown.known, ", "))});
  }

  void add_unused(const Blueprint& blueprint) {
    std::vector<bool> used(blueprint.nodes().size());
    for (const SequenceEdge& edge : blueprint.sequence()) used[edge.from] = true;
    for (const graph::AlsoEdge& edge : blueprint.also().edges())
      if (const auto value = blueprint.guarding_value(edge)) used[*value] = true;
    for (const Node& each : blueprint.nodes())
      if (each.evidence) used[*each.evidence] = true;
    for (graph::Node node = 0; node < used.size(); ++node) {
      const NodeType type = blueprint.nodes()[node].type;
      const bool only_reads = type == NodeType::Value || type == NodeType::List || type == NodeType::Read ||
                              type == NodeType::Http;
      if (used[node] || !only_reads || !blueprint.nodes()[node].status.empty()) continue;
      checked_.findings.push_back(
          {.error = false,
           .rule = "unused",
           .message = fmt::format("nothing uses the node {}: it only looks, and no edge begins at it",
                                  blueprint.name_of(node)),
           .hint = type == NodeType::Value
                       ? "give its value to a node with extract, use it as a guard (given), or remove it"
                       : "give its values to a node with extract, have a node wait for it, or remove it"});
    }
  }

  // An edge from an absent node holds wherever there is no such object, whether or not the node's own edges
  // do.
  void add_gaps(const Blueprint& blueprint) {
    for (const SequenceEdge& after : blueprint.sequence()) {
      if (blueprint.nodes()[after.from].type != NodeType::Absent) continue;
      for (const SequenceEdge& before : blueprint.sequence()) {
        if (before.to != after.from || comes_after(blueprint, before.from, after.to)) continue;
        const std::string &first = blueprint.name_of(before.from), &last = blueprint.name_of(after.to);
        checked_.findings.push_back(
            {.error = false,
             .rule = "order",
             .message =
                 fmt::format("{} doesn't wait for {} where there is nothing to remove: the object of {} "
                             "may be gone from the beginning",
                             last, first, blueprint.name_of(after.from)),
             .hint =
                 fmt::format("if it has to, add {{ from = \"{}\", to = \"{}\" }} to sequence", first, last)});
      }
    }
  }

  // By edges that hold only when `first` was reached.
  static bool comes_after(const Blueprint& blueprint, graph::Node first, graph::Node last) {
    std::vector<bool> seen(blueprint.nodes().size());
    std::vector<graph::Node> open{first};
    seen[first] = true;
    while (!open.empty()) {
      const graph::Node from = open.back();
      open.pop_back();
      if (from == last) return true;
      if (blueprint.nodes()[from].type == NodeType::Absent) continue;
      for (const SequenceEdge& edge : blueprint.sequence()) {
        if (edge.from != from || seen[edge.to]) continue;
        seen[edge.to] = true;
        open.push_back(edge.to);
      }
    }
    return false;
  }

  const FunctionHead* head_of(const Blueprint& blueprint, graph::Node node) const {
    const auto entry = scans_.find(std::string(kEntry));
    if (entry == scans_.end()) return nullptr;
    const std::string field =
        fmt::format("nodes.{}.{}", blueprint.name_of(node), word(blueprint.nodes()[node].type));
    const auto found = std::ranges::find(entry->second.functions, field, &FunctionHead::field);
    return found == entry->second.functions.end() ? nullptr : &*found;
  }

  Status check_function(const Blueprint& blueprint, graph::Node node, Evaluator& evaluator) {
    const std::vector<std::string> given = given_names(blueprint, node);
    const std::string& name = blueprint.nodes()[node].name;
    const FunctionHead* const head = head_of(blueprint, node);
    const std::size_t before = checked_.findings.size();
    if (head != nullptr) check_values(name, given, *head);
    // A fault that was found by its name isn't reported once more in Nickel's words.
    const bool is_said = std::any_of(checked_.findings.begin() + static_cast<std::ptrdiff_t>(before),
                                     checked_.findings.end(), [](const Finding& each) { return each.error; });
    if (is_said) return {};
    const Status tried = evaluator.try_function(name, given, context_);
    if (tried.ok() || is_self_reference(tried.error())) return {};
    std::string message = fmt::format("the function of the node {} fails in every instance", name);
    MIST_TRY_VOID(add_refusal("function", tried.error(), message));
    if (Finding& added = checked_.findings.back(); added.hint.empty())
      added.hint = fmt::format("it is given {}", join(given, ", "));
    return {};
  }

  // It was found by reading already.
  bool is_self_reference(const Error& failure) const {
    if (!failure.where) return false;
    const auto found = scans_.find(failure.where->file);
    return found != scans_.end() &&
           std::ranges::find(found->second.self_references, failure.where->line, &SelfReference::line) !=
               found->second.self_references.end();
  }

  void check_values(const std::string& node, const std::vector<std::string>& given,
                    const FunctionHead& head) {
    const SourceLocation where = place_in(kEntry, files_.at(std::string(kEntry)), head.line, head.column);
    for (const FunctionHead::Taken& each : head.takes)
      if (!each.optional && std::ranges::find(given, each.name) == given.end())
        checked_.findings.push_back(
            {.rule = "values",
             .where = where,
             .message = fmt::format("the function of the node {} takes {}, which no Sequence edge extracts",
                                    node, each.name),
             .hint = fmt::format("{{ from = …, to = \"{}\", extract = {{ {} = \"spec.…\" }} }} in sequence; "
                                 "it is given {}",
                                 node, each.name, join(given, ", "))});
    if (head.whole) return;
    for (const std::string& each : given) {
      if (std::ranges::find(head.takes, each, &FunctionHead::Taken::name) != head.takes.end()) continue;
      if (each == given.front() && head.open) continue;  // the instance isn't needed everywhere
      checked_.findings.push_back(
          {.error = !head.open,
           .rule = "values",
           .where = where,
           .message =
               fmt::format("the function of the node {} doesn't take {}, which it is given", node, each),
           .hint = head.open ? "remove it from extract, or take it"
                             : fmt::format("take it, or allow others: fun {{ {}, .. }}", each)});
    }
  }

  Status check_contracts(const Blueprint& blueprint, Evaluator& evaluator) {
    for (const Node& each : blueprint.nodes()) {
      if (!each.contract) continue;
      const std::string field = fmt::format("the field ready of the node {}", each.name);
      const Status tried = evaluator.try_contract(each.name, context_);
      if (!tried.ok())
        MIST_TRY_VOID(add_refusal("contract", tried.error(), fmt::format("{} is no contract", field)));
      else if (sees_objects(each))
        MIST_TRY_VOID(add_closed(evaluator.refuses_objects(each.name, context_), field));
    }
    for (std::size_t i = 0; i < blueprint.sequence().size(); ++i) {
      const SequenceEdge& edge = blueprint.sequence()[i];
      if (!edge.contract) continue;
      const std::string field = fmt::format("the field shape of the Sequence edge from {} to {}",
                                            blueprint.name_of(edge.from), blueprint.name_of(edge.to));
      const Status tried = evaluator.try_contract(i, context_);
      if (!tried.ok())
        MIST_TRY_VOID(add_refusal("contract", tried.error(), fmt::format("{} is no contract", field)));
      else if (sees_objects(blueprint.nodes()[edge.from]))
        MIST_TRY_VOID(add_closed(evaluator.refuses_objects(i, context_), field));
    }
    return {};
  }

  // A value, a list and an answer are what they are.
  static bool sees_objects(const Node& node) { return node.keeps_objects() || node.type == NodeType::Read; }

  // It can never hold. A limit that is reached here says nothing.
  Status add_closed(const Result<bool>& refuses, const std::string& field) {
    if (!refuses.ok()) return refuses.error().kind == ErrorKind::Trap ? Status() : Status(refuses.error());
    if (!*refuses) return {};
    checked_.findings.push_back(
        {.rule = "contract",
         .message = fmt::format("{} matches no object: it takes no field that it doesn't name, and objects "
                                "have apiVersion, kind and metadata",
                                field),
         .hint = "end its record with `..`: { status.readyReplicas | Number, .. }"});
    return {};
  }

  Status check_conversions(const Blueprint& blueprint, const Evaluator& evaluator) {
    // Functions that never end were found by reading.
    const bool never_ends =
        std::ranges::any_of(scans_, [](const auto& each) { return !each.second.self_references.empty(); });
    if (never_ends) return {};
    MIST_TRY(checked_.conversions, try_round_trips(blueprint, evaluator, examples_, context_));
    for (const ConversionFailure& each : checked_.conversions.failures) {
      MIST_TRY_VOID(add_refusal("conversion", each.error,
                                fmt::format("{} of version {} can't be converted to {}: {}", each.object,
                                            each.from, each.to, each.error.message)));
      checked_.findings.back().hint = fmt::format(
          "objects like it are allowed in {}, and nobody could read them in {}: have the functions take it, "
          "or the contract refuse it; it is {}",
          each.from, each.to, shown(told_parts(each.parts)));
    }
    for (const RoundTrip& each : checked_.conversions.trips) add_changes(each);
    return {};
  }

  void add_changes(const RoundTrip& trip) {
    if (trip.changes.empty()) return;
    const std::string route = fmt::format("{0} → {1} → {0}", trip.version, trip.over);
    Finding finding{.error = false, .rule = "conversion"};
    if (trip.changes.size() == 1) {
      const FieldChange& only = trip.changes.front();
      finding.message = fmt::format("{} {} {} ({}), as {} shows", route,
                                    !only.after    ? "loses"
                                    : !only.before ? "adds"
                                                   : "changes",
                                    only.path, values_of(only), only.object);
    } else {
      finding.message = fmt::format("{} doesn't keep {} fields", route, trip.changes.size());
      for (const FieldChange& change : trip.changes)
        finding.because +=
            fmt::format("{}: {}, as {} shows\n", change.path, values_of(change), change.object);
    }
    finding.hint = fmt::format(
        "keep in an annotation what {} has no field for (docs/operator.md, Versions): objects have to "
        "survive "
        "a round trip between versions without loss (rule 2 of "
        "https://kubernetes.io/docs/reference/using-api/deprecation-policy/)",
        trip.over);
    checked_.findings.push_back(std::move(finding));
  }

  // A sample's metadata are always the same.
  static Value told_parts(const Value& parts) {
    Value told = Value::object();
    for (const std::string_view name : kConvertedRecords)
      if (const Value* const part = parts.find(name); part != nullptr && !part->empty())
        told.set(name, *part);
    return told;
  }

  static std::string values_of(const FieldChange& change) {
    const auto text = [](const std::optional<Value>& value) {
      return value ? shown(*value) : std::string("absent");
    };
    return fmt::format("{} → {}", text(change.before), text(change.after));
  }

  // As JSON, and not all of what is long.
  static std::string shown(const Value& value) {
    constexpr std::size_t kMostShown = 300;
    return clipped(encoding::to_json(value), kMostShown);
  }

  const std::string name_;
  const package::Files& files_;
  const std::vector<Example>& examples_;
  package::Renderer& renderer_;
  const Context& context_;
  std::map<std::string, Scan> scans_;
  Checked checked_;
};

}  // namespace

std::vector<std::string> given_names(const Blueprint& blueprint, graph::Node node) {
  std::vector<std::string> names{"instance"};
  for (const std::size_t i : blueprint.edges_into(node))
    for (const Extraction& each : blueprint.sequence()[i].extract) names.push_back(each.name);
  return names;
}

Result<Checked> check(const std::string& name, const package::Files& files,
                      const std::vector<Example>& examples, package::Renderer& renderer,
                      const Context& context) {
  return Checker(name, files, examples, renderer, context).run();
}

}  // namespace mist::blueprint
