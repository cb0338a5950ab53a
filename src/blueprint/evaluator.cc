#include "blueprint/evaluator.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "blueprint/contracts_library.h"
#include "blueprint/library.h"
#include "blueprint/shown_names.h"
#include "crypto/digest.h"
#include "encoding/yaml.h"
#include "package/capabilities.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kInputFile = "mistletoe/input.json";
constexpr std::string_view kUnknownFile = "mistletoe-unknown.ncl";
constexpr std::string_view kEarlyFile = "mistletoe-early.ncl";
constexpr std::string_view kContractsFile = "mistletoe-contracts.ncl";
constexpr std::array<std::string_view, 6> kOurs{"main.ncl",   "mistletoe.ncl", kContractsFile,
                                                kUnknownFile, kEarlyFile,      package::kPackageFile};
// Questions about one broken contract: which place it is.
constexpr int kMostQuestions = 200;

std::string digest_of(const package::Files& files) {
  std::string all;
  for (const auto& [path, text] : files)
    all += fmt::format("{} {}\n{}", path, crypto::sha256(crypto::as_bytes(text)).hex(), '\n');
  return crypto::sha256(crypto::as_bytes(all)).str();
}

Value names_value(const std::vector<std::string>& names) {
  Value::Array list;
  for (const std::string& name : names) list.emplace_back(name);
  return Value(std::move(list));
}

Value about_part(std::string_view what, const std::string& node, const Value& environment,
                 const std::vector<std::string>& unknown) {
  return Value::object(
      {{what,
        Value::object({{"node", node}, {"environment", environment}, {"unknown", names_value(unknown)}})}});
}

// Of a diagnostic all but the pictures of lines of the input, which is one line with every value that the
// function was given: whoever may read the status of an instance need not be allowed to read those.
std::string without_input(std::string_view diagnostic) {
  std::string shown;
  bool of_input = false;
  for (const std::string_view line : split(diagnostic, '\n')) {
    const auto place = line.find("┌─ ");
    if (place != std::string_view::npos)
      of_input = line.find(kInputFile, place) != std::string_view::npos;
    else if (of_input && line.find("│") != std::string_view::npos)
      continue;
    shown += fmt::format("{}{}", shown.empty() ? "" : "\n", line);
  }
  return shown;
}

Error without_input(Error failure) {
  failure.because = without_input(failure.because);
  failure.message = without_input(failure.message);
  if (failure.where && failure.where->file == kInputFile) failure.where->excerpt.clear();
  return failure;
}

// Whether a question calls a function with what edges give it.
bool gives_values(const Value& question) {
  return question.find("environment") != nullptr ||
         std::ranges::any_of(question.as_object(), [](const Value::Member& part) {
           return part.value.is_object() && part.value.find("environment") != nullptr;
         });
}

// A function may have made names of what edges give it.
Error with_names_of(const package::Files& files, Error failure) {
  std::string known;
  for (const auto& [path, text] : files) known += text;
  failure.because = with_known_names(failure.because, known);
  failure.message = with_known_names(failure.message, known);
  return failure;
}

// It needed a value that isn't known.
bool is_unknown(const Error& failure) { return failure.where && failure.where->file == kUnknownFile; }

// Of Nickel's diagnostic what it says, without the pictures of places: "a broken contract: its own words".
std::string words_of(const Error& failure) {
  const std::string& all = failure.because.empty() ? failure.message : failure.because;
  std::string title, words;
  for (const std::string_view line : split(all, '\n')) {
    if (line.find("┌─") != std::string_view::npos) break;
    const std::string_view part = trim(line);
    if (part.empty()) continue;
    if (title.empty())
      title = part;
    else
      words += fmt::format("{}{}", words.empty() ? ": " : " ", part);
  }
  return title + words;
}

// The picture of the place is one of the library, so that the message says what is wrong.
Error in_words(Error failure) {
  if (failure.kind == ErrorKind::Invalid) failure.message = words_of(failure);
  return failure;
}

// Of Nickel's diagnostic, what it says of the place that is to blame: "^^^ this expression has type Number".
std::string blame_of(std::string_view diagnostic) {
  bool in_picture = false;
  for (const std::string_view line : split(diagnostic, '\n')) {
    in_picture |= line.find("┌─") != std::string_view::npos;
    const auto mark = line.rfind('^');
    if (in_picture && mark != std::string_view::npos && line.find("│") < mark)
      return std::string(trim(line.substr(mark + 1)));
  }
  return {};
}

// A package that "could not be rendered" is news to nobody who wrote a blueprint. Its diagnostic stays below.
Error in_short(Error failure) {
  if (failure.kind != ErrorKind::Invalid || !failure.where || failure.because.empty()) return failure;
  const std::string blame = blame_of(failure.because);
  failure.message = words_of(failure);
  if (!blame.empty()) failure.message += fmt::format(": {}", blame);
  failure.frames.clear();
  return failure;
}

Status unless_unknown(const Result<Value>& evaluated) {
  return evaluated.ok() || is_unknown(evaluated.error()) ? Status() : Status(evaluated.error());
}

}  // namespace

package::Files files_of(const Value& config_map) {
  package::Files files;
  if (const Value* data = config_map.find("data"); data != nullptr && data->is_object())
    for (const Value::Member& member : data->as_object())
      if (member.value.is_string()) files.emplace(member.key, member.value.as_string());
  return files;
}

Result<Evaluator> Evaluator::of(std::string name, package::Files files, package::Renderer& renderer) {
  if (!files.contains(std::string(kEntry)))
    return error(ErrorKind::Invalid, "blueprint {} has no {}", name, kEntry)
        .with_hint("that file gives the blueprint's record; others are there to be imported");
  for (const std::string_view ours : kOurs)
    if (files.contains(std::string(ours)))
      return error(ErrorKind::Invalid, "blueprint {} has a file {}, which has a meaning of its own here",
                   name, ours)
          .with_hint("give it another name");
  files.emplace("main.ncl", kMain);
  files.emplace("mistletoe.ncl", kLibrary);
  files.emplace(kContractsFile, kContractsLibrary);
  files.emplace(kUnknownFile, kUnknown);
  files.emplace(kEarlyFile, kEarly);
  package::Source source;
  source.reference = source.name = std::move(name);
  source.digest = digest_of(files);
  source.content = std::move(files);
  source.engine = "nickel";
  return Evaluator(std::move(source), renderer);
}

Result<Value> Evaluator::evaluate(Value input, const Context& context) const {
  MIST_TRY(const Value whole, document(Value::Array{std::move(input)}, context));
  const Value* result = whole.find("result");
  return result == nullptr ? Value() : *result;
}

Result<Value> Evaluator::description(const Context& context) {
  MIST_TRY(const Value whole, document(Value::Array{Value::object({{"describe", true}})}, context));
  Value described = whole.find("result") == nullptr ? Value() : *whole.find("result");
  if (const Value* contracts = whole.find("contracts")) described.set("contracts", *contracts);
  return described;
}

Result<Value> Evaluator::document(Value::Array inputs, const Context& context) const {
  package::RenderRequest request;
  request.release_name = source_.name;
  request.release_namespace = "default";
  // A null among the values of a package unsets a default, except in a list.
  const bool has_values = std::ranges::any_of(inputs, gives_values);
  request.user_values = Value::object({{"calls", Value(std::move(inputs))}});
  request.quiet = true;
  request.often = true;
  package::assume_cluster(request, {}, {});
  const auto evaluated = renderer_->render_files(source_, request, context);
  if (!evaluated.ok()) {
    Error failure = in_short(without_input(evaluated.error()));
    return has_values ? with_names_of(std::get<package::Files>(source_.content), std::move(failure))
                      : failure;
  }
  const package::Rendered& rendered = *evaluated;
  if (rendered.files.size() != 1)
    return error(ErrorKind::Internal, "blueprint {} was evaluated to {} documents", source_.name,
                 rendered.files.size());
  return encoding::parse_yaml(rendered.files.begin()->second);
}

Result<Blueprint> Evaluator::describe(const Context& context, Standing standing) {
  MIST_TRY(const Value described, description(context));
  return Blueprint::parse(described, standing);
}

Value Evaluator::to_make(const std::string& node, const Value& environment) {
  return Value::object({{"node", node}, {"environment", environment}});
}

Value Evaluator::to_check(const std::string& node, const Value& object) {
  return Value::object({{"contract_of", Value::object({{"node", node}})}, {"object", object}});
}

Value Evaluator::to_check(std::size_t edge, const Value& object) {
  return Value::object({{"contract_of", Value::object({{"edge", edge}})}, {"object", object}});
}

Value Evaluator::to_check_spec(const Value& spec) {
  return Value::object({{"contract_of", Value::object({{"spec", true}})}, {"object", spec}});
}

// Only of the parts that it has: the others aren't known yet.
Value Evaluator::to_check_status(const Value& status) {
  Value question = Value::object({{"contract_of", Value::object({{"status", true}})}, {"object", status}});
  Value::Array parts;
  if (status.is_object())
    for (const Value::Member& each : status.as_object()) parts.emplace_back(each.key);
  question.set("parts", Value(std::move(parts)));
  return question;
}

Value Evaluator::to_identify(const std::string& node, const Value& environment,
                             const std::vector<std::string>& unknown) {
  return about_part("identities_of", node, environment, unknown);
}

Value Evaluator::to_ask_kinds(const std::string& node, const Value& environment,
                              const std::vector<std::string>& unknown) {
  return about_part("kinds_of", node, environment, unknown);
}

Value Evaluator::to_convert(const std::string& from, const std::string& to, const Value& parts, Whole whole) {
  return Value::object(
      {{"convert",
        Value::object({{"from", from}, {"to", to}, {"object", parts}, {"partial", whole == Whole::No}})}});
}

Result<Value> Evaluator::convert_partial(const std::string& from, const std::string& to, const Value& parts,
                                         const Context& context) const {
  auto said = document({to_convert(from, to, parts, Whole::No)}, context);
  if (!said.ok()) return in_words(std::move(said).error());
  Value* const result = said->find("result");
  if (result == nullptr) return error(ErrorKind::Internal, "the conversion of an object gave nothing");
  return std::move(*result);
}

// All together cost little more than one. Nickel ends with the first error, so where something fails, the
// first one that does is found by halving.
Result<std::vector<Value>> Evaluator::convert(const std::string& from, const std::string& to,
                                              const std::vector<Value>& parts, std::size_t& failing,
                                              const Context& context) const {
  std::vector<Value> converted;
  std::size_t bad = parts.size();  // so many don't pass together
  failing = 0;
  if (parts.empty()) return converted;
  for (std::size_t size = parts.size();;) {
    Value::Array questions;
    for (std::size_t i = converted.size(); i < converted.size() + size; ++i)
      questions.push_back(to_convert(from, to, parts[i]));
    auto said = document(std::move(questions), context);
    if (!said.ok() && (said.error().kind != ErrorKind::Invalid || size == 1)) {
      failing = converted.size();
      return in_words(std::move(said).error());
    }
    if (said.ok()) {
      Value* const result = said->find("result");
      if (result == nullptr || (size > 1 && (!result->is_array() || result->size() != size)))
        return error(ErrorKind::Internal, "the conversion of {} objects gave another number", size);
      if (size == 1)
        converted.push_back(std::move(*result));
      else
        for (const Value& each : result->as_array()) converted.push_back(each);
      if (converted.size() == parts.size()) return converted;
    } else {
      bad = converted.size() + size;
    }
    size = std::max<std::size_t>(1, (bad - converted.size()) / 2);
  }
}

Result<Value> Evaluator::hold(const std::string& version, const Value& parts, const Context& context) const {
  auto held =
      evaluate(Value::object({{"hold", Value::object({{"version", version}, {"object", parts}})}}), context);
  if (!held.ok()) return in_words(std::move(held).error());
  return held;
}

bool Evaluator::needs_unknown(const Error& failure) { return is_unknown(failure); }

// Nickel ends with the first error.
std::optional<std::vector<Value>> Evaluator::answer_together(const std::vector<Value>& questions,
                                                             const Context& context) const {
  const auto all = document(questions, context);
  const Value* const results = all.ok() ? all->find("result") : nullptr;
  if (results == nullptr || !results->is_array() || results->size() != questions.size()) return std::nullopt;
  return std::vector<Value>(results->as_array().begin(), results->as_array().end());
}

Result<Value> Evaluator::answer(const Value& question, const Context& context) const {
  auto said = evaluate(question, context);
  // A limit that was reached says nothing of any place.
  if (said.ok() || said.error().kind != ErrorKind::Invalid) return said;
  const Value* const object = question.find("object");
  Status exact;
  if (question.at_path({"contract_of", "spec"}) != nullptr)
    exact = check_spec(*object, context);
  else if (question.at_path({"contract_of", "status"}) != nullptr)
    exact = check_status(*object, context);
  else if (question.find("contract_of") != nullptr)
    exact = in_words(said.error());
  return exact.ok() ? said : Result<Value>(exact.error());
}

Result<Value> Evaluator::make(const std::string& node, const Value& environment, const Context& context) {
  return evaluate(to_make(node, environment), context)
      .in(fmt::format("while the node {} was evaluated", node));
}

Status Evaluator::check(const std::string& node, const Value& object, const Context& context) {
  return held(to_check(node, object), context);
}

Status Evaluator::check(std::size_t edge, const Value& object, const Context& context) {
  return held(to_check(edge, object), context);
}

Status Evaluator::held(Value question, const Context& context) const {
  const auto said = evaluate(std::move(question), context);
  return said.ok() ? Status() : Status(in_words(said.error()));
}

// Nickel's diagnostic names a field and not the record that it is in. The exact place is found by asking
// again about parts: at each level the first field or item that fails, by halving.
class Evaluator::PartCheck {
 public:
  PartCheck(const Evaluator& evaluator, std::string_view part, const Value& object, const Context& context)
      : evaluator_(evaluator), part_(part), object_(object), context_(context) {}

  /// `missing`: whether a field of the contract that the object lacks is an error.
  Status run(bool missing) {
    const Value::Array all = steps_into(object_);
    Status broken = missing ? ask(nullptr) : ask(&all);
    if (broken.ok() || broken.error().kind != ErrorKind::Invalid) return broken;
    std::string shown(part_);
    for (const Value* here = &object_;;) {
      const auto failing = first_failing(*here);
      if (limit_) return *limit_;
      if (!failing) break;
      const Value step = steps_into(*here)[*failing];
      here = here->is_array() ? &here->as_array()[*failing] : &here->as_object()[*failing].value;
      shown += step.is_string() ? "." + step.as_string() : fmt::format("[{}]", *failing);
      at_.push_back(step);
      if (Status inner = ask(nullptr); !inner.ok()) broken = std::move(inner);
    }
    MIST_TRY_VOID(context_.check());
    Error failure = broken.error();
    failure.message = fmt::format("{}: {}", shown, words_of(failure));
    return failure;
  }

 private:
  static Value::Array steps_into(const Value& whole) {
    Value::Array steps;
    if (whole.is_object())
      for (const Value::Member& each : whole.as_object()) steps.emplace_back(each.key);
    else if (whole.is_array())
      for (std::size_t i = 0; i < whole.size(); ++i) steps.emplace_back(i);
    return steps;
  }

  // Asks the contract about the value at at_: about all of it, or about these parts of it.
  Status ask(const Value::Array* parts) {
    Value input = Value::object(
        {{"contract_of", Value::object({{part_, true}})}, {"object", object_}, {"at", Value(at_)}});
    if (parts != nullptr) input.set("parts", Value(*parts));
    ++questions_;
    const auto answer = evaluator_.evaluate(std::move(input), context_);
    if (!answer.ok() && answer.error().kind != ErrorKind::Invalid && !limit_) limit_ = answer.error();
    return answer.ok() ? Status() : Status(answer.error());
  }

  // nullopt: the fault is in the value itself, or in what it lacks.
  std::optional<std::size_t> first_failing(const Value& whole) {
    const Value::Array steps = steps_into(whole), none;
    if (steps.empty() || questions_ >= kMostQuestions || !ask(&none).ok() || ask(&steps).ok() || limit_)
      return std::nullopt;
    std::size_t good = 0, bad = steps.size();  // so many from the first pass, so many don't
    while (bad - good > 1 && !limit_) {
      const std::size_t middle = good + (bad - good) / 2;
      const Value::Array half(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(middle));
      (ask(&half).ok() ? good : bad) = middle;
    }
    return good;
  }

  const Evaluator& evaluator_;
  const std::string_view part_;
  const Value& object_;
  const Context& context_;
  Value::Array at_;
  int questions_ = 0;
  std::optional<Error> limit_;  // one of them was cut short: what it broke isn't known
};

Status Evaluator::check_spec(const Value& spec, const Context& context) const {
  return PartCheck(*this, "spec", spec, context).run(true);
}

Status Evaluator::check_status(const Value& status, const Context& context) const {
  return PartCheck(*this, "status", status, context).run(false);
}

Result<std::optional<Value>> Evaluator::part_of(std::string_view what, const std::string& node,
                                                const Value& environment,
                                                const std::vector<std::string>& unknown,
                                                const Context& context) {
  auto found = evaluate(about_part(what, node, environment, unknown), context);
  if (!found.ok() && is_unknown(found.error())) return std::optional<Value>();
  if (!found.ok())
    return std::move(found).error().with_frame(
        fmt::format("while it was looked for what the node {} makes", node));
  return std::optional(*std::move(found));
}

Result<std::optional<Value>> Evaluator::kinds(const std::string& node, const Value& environment,
                                              const std::vector<std::string>& unknown,
                                              const Context& context) {
  return part_of("kinds_of", node, environment, unknown, context);
}

Result<std::optional<Value>> Evaluator::identities(const std::string& node, const Value& environment,
                                                   const std::vector<std::string>& unknown,
                                                   const Context& context) {
  return part_of("identities_of", node, environment, unknown, context);
}

Result<std::optional<Value>> Evaluator::role_refs(const std::string& node, const Value& environment,
                                                  const std::vector<std::string>& unknown,
                                                  const Context& context) {
  return part_of("role_refs_of", node, environment, unknown, context);
}

Result<std::optional<Value>> Evaluator::fields(const std::string& node, const Value& environment,
                                               const std::vector<std::string>& unknown,
                                               const Context& context) {
  return part_of("fields_of", node, environment, unknown, context);
}

Status Evaluator::try_function(const std::string& node, const std::vector<std::string>& names,
                               const Context& context) {
  return unless_unknown(evaluate(Value::object({{"try", Value::object({{"node", node},
                                                                       {"environment", Value::object()},
                                                                       {"unknown", names_value(names)}})}}),
                                 context));
}

Status Evaluator::try_contract(const std::string& node, const Context& context) {
  return unless_unknown(
      evaluate(Value::object({{"try_contract_of", Value::object({{"node", node}})}}), context));
}

Status Evaluator::try_contract(std::size_t edge, const Context& context) {
  return unless_unknown(
      evaluate(Value::object({{"try_contract_of", Value::object({{"edge", edge}})}}), context));
}

Result<bool> Evaluator::refuses_objects(const std::string& node, const Context& context) const {
  return refuses_all_objects(Value::object({{"node", node}}), context);
}

Result<bool> Evaluator::refuses_objects(std::size_t edge, const Context& context) const {
  return refuses_all_objects(Value::object({{"edge", edge}}), context);
}

// Neither record has what the contract asks besides, which isn't looked at: that is no part of the question.
Result<bool> Evaluator::refuses_all_objects(const Value& contract, const Context& context) const {
  const auto refuses = [&](Value object) -> Result<bool> {
    Value question = Value::object({{"contract_of", contract}, {"object", std::move(object)}});
    question.set("parts", Value(Value::Array()));
    const auto said = evaluate(std::move(question), context);
    if (said.ok() || said.error().kind == ErrorKind::Invalid) return !said.ok();
    return said.error();
  };
  MIST_TRY(const bool refuses_records, refuses(Value::object()));
  if (refuses_records) return false;
  return refuses(Value::object(
      {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", Value::object({{"name", "any"}})}}));
}

}  // namespace mist::blueprint
