#include "blueprint/evaluator.h"

#include <array>

#include "blueprint/library.h"
#include "crypto/digest.h"
#include "encoding/yaml.h"
#include "package/capabilities.h"

namespace mist::blueprint {
namespace {

constexpr std::string_view kUnknownFile = "mistletoe-unknown.ncl";
constexpr std::array<std::string_view, 4> kOurs{"main.ncl", "mistletoe.ncl", kUnknownFile,
                                                package::kPackageFile};

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

// It needed a value that isn't known.
bool is_unknown(const Error& failure) { return failure.where && failure.where->file == kUnknownFile; }

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
  files.emplace(kUnknownFile, kUnknown);
  package::Source source;
  source.reference = source.name = std::move(name);
  source.digest = digest_of(files);
  source.content = std::move(files);
  source.engine = "nickel";
  return Evaluator(std::move(source), renderer);
}

Result<Value> Evaluator::evaluate(Value input, const Context& context) {
  package::RenderRequest request;
  request.release_name = source_.name;
  request.release_namespace = "default";
  request.user_values = std::move(input);
  request.quiet = true;
  package::assume_cluster(request, {}, {});
  MIST_TRY(const package::Rendered rendered, renderer_->render_files(source_, request, context));
  if (rendered.files.size() != 1)
    return error(ErrorKind::Internal, "blueprint {} was evaluated to {} documents", source_.name,
                 rendered.files.size());
  MIST_TRY(Value document, encoding::parse_yaml(rendered.files.begin()->second));
  const Value* result = document.find("result");
  return result == nullptr ? Value() : *result;
}

Result<Blueprint> Evaluator::describe(const Context& context) {
  MIST_TRY(const Value described, description(context));
  return Blueprint::parse(described);
}

Result<Value> Evaluator::make(const std::string& node, const Value& environment, const Context& context) {
  return evaluate(Value::object({{"node", node}, {"environment", environment}}), context)
      .in(fmt::format("while the node {} was evaluated", node));
}

Status Evaluator::check(const std::string& node, const Value& object, const Context& context) {
  MIST_TRY_VOID(evaluate(
      Value::object({{"contract_of", Value::object({{"node", node}})}, {"object", object}}), context));
  return {};
}

Status Evaluator::check(std::size_t edge, const Value& object, const Context& context) {
  MIST_TRY_VOID(evaluate(
      Value::object({{"contract_of", Value::object({{"edge", edge}})}, {"object", object}}), context));
  return {};
}

Result<std::optional<Value>> Evaluator::part_of(std::string_view what, const std::string& node,
                                                const Value& environment,
                                                const std::vector<std::string>& unknown,
                                                const Context& context) {
  auto found = evaluate(Value::object({{what, Value::object({{"node", node},
                                                             {"environment", environment},
                                                             {"unknown", names_value(unknown)}})}}),
                        context);
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

}  // namespace mist::blueprint
