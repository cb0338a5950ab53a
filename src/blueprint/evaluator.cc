#include "blueprint/evaluator.h"

#include <array>

#include "blueprint/library.h"
#include "crypto/digest.h"
#include "encoding/yaml.h"
#include "package/capabilities.h"

namespace mist::blueprint {
namespace {

constexpr std::array<std::string_view, 3> kOurs{"main.ncl", "mistletoe.ncl", package::kPackageFile};

std::string digest_of(const package::Files& files) {
  std::string all;
  for (const auto& [path, text] : files)
    all += fmt::format("{} {}\n{}", path, crypto::sha256(crypto::as_bytes(text)).hex(), '\n');
  return crypto::sha256(crypto::as_bytes(all)).str();
}

}  // namespace

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
  MIST_TRY(const Value description, evaluate(Value::object(), context));
  return Blueprint::parse(description);
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

Result<Value> Evaluator::kinds(const std::string& node, const Value& environment, const Context& context) {
  return evaluate(
             Value::object({{"kinds_of", Value::object({{"node", node}, {"environment", environment}})}}),
             context)
      .in(fmt::format("while the kind of the node {} was looked for", node));
}

}  // namespace mist::blueprint
