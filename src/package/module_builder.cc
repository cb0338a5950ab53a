#include "package/module_builder.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "package/kube_render.h"
#include "wasm/file_tree.h"
#include "wasm/runtime.h"
#include "wasm/snapshot.h"

namespace mist::package {

// The output of a kustomization's charts, with a seed, a clock and a namespace of their own.
Result<std::vector<ChartExchange>> ModuleBuilder::charts_of(const SourceTree& tree, std::uint8_t number,
                                                            const Context& context) {
  RenderRequest request = own_request("build");
  request.release_namespace = fmt::format("namespace-{}", number);
  request.seed[0] = std::byte{number};
  request.clock = WallTime(std::chrono::hours(24 * 365 * (50 + number)));
  ChartAnswers charts = engines_.answers_for(tree.source, request, context);
  std::vector<ChartExchange> exchanges;
  auto rendered = engines_.render(tree, plain_metadata(tree.source), request, context,
                                  [&](const Value& wanted, std::uint64_t memory_bytes) -> Result<Value> {
                                    MIST_TRY(Value answer, charts.answer(wanted, memory_bytes));
                                    exchanges.push_back({wanted, answer});
                                    return answer;
                                  });
  // A package without charts reports its problems when its module renders it.
  if (!rendered.ok() && (!exchanges.empty() || rendered.error().kind != ErrorKind::Invalid))
    return std::move(rendered).error();
  return exchanges;
}

// A module has no engine for its charts: they are rendered when it is built.
Result<Files> ModuleBuilder::with_charts_rendered(const SourceTree& tree, const Context& context) {
  MIST_TRY(const std::vector<ChartExchange> one, charts_of(tree, 0, context));
  if (one.empty()) return tree.files;
  MIST_TRY(const std::vector<ChartExchange> other, charts_of(tree, 1, context));
  MIST_TRY_VOID(refuse_differences(one, other));
  return with_answers(tree.files, one);
}

// A module that contains `files` and its engine, which has parsed them.
Result<std::string> ModuleBuilder::with_engine(const Source& source, std::string_view name,
                                               const Files& complete, const Context& context) {
  MIST_TRY_VOID(options_.engines.digest(name));
  MIST_TRY(const std::string engine, options_.engines.read(name));
  MIST_TRY(wasm::FileTree files, wasm::FileTree::make(complete));
  wasm::SnapshotOptions snapshot;
  snapshot.files = std::make_shared<const wasm::FileTree>(std::move(files));
  snapshot.limits = options_.engine_limits;
  // Compiled already, where the engine is.
  MIST_TRY(wasm::Runtime* const runtime, guests_.engine_runtime());
  auto prepared = wasm::prepare_module(*runtime, crypto::as_bytes(engine), fmt::format("engine {}", name),
                                       snapshot, context);
  if (!prepared.ok())
    return std::move(prepared).error().with_frame(fmt::format("while building {}", source.reference));
  return prepared;
}

Result<std::string> ModuleBuilder::build(const Source& source, BuiltEngine engine, const Context& context) {
  if (!std::holds_alternative<Files>(source.content))
    return error(ErrorKind::Invalid, "{} is a module already", source.reference)
        .with_hint("give its metadata with -m, or publish it as it is");
  MIST_TRY(const SourceTree tree, look_at(source));
  if (tree.engine == nullptr)
    return error(ErrorKind::Invalid, "{} has nothing that an engine renders", source.reference)
        .with_hint(
            "Kubernetes YAML is a package as it is; a program is one when its compiler has made the "
            "module");
  MIST_TRY(Metadata metadata, engines_.metadata_of(tree, true, context));
  // Its author is here to correct it.
  if (!metadata.ignored.empty())
    return error(ErrorKind::Invalid, "the metadata of {} has {} that mistctl does not know: {}",
                 source.reference, plural(metadata.ignored.size(), "member"), join(metadata.ignored, ", "))
        .with_hint(fmt::format("correct {}", kPackageFile));
  metadata.engine = tree.engine->name;
  metadata.needs_release = metadata.needs_release || sees_the_revision(*tree.engine);
  Files complete = tree.files;
  if (metadata.engine == kKustomizeEngine) {
    MIST_TRY(complete,
             with_charts_rendered(tree, context).in(fmt::format("while building {}", source.reference)));
  }
  if (engine == BuiltEngine::Contained && runs_a_script(tree))
    return error(ErrorKind::Invalid, "{} has {}, and a module has one engine: that of its templates",
                 source.reference, kPreInstallScript)
        .with_hint("--thin names the engines instead of containing them; or publish the directory");
  std::string bare;
  if (engine == BuiltEngine::Named) {
    MIST_TRY(const crypto::Digest digest, options_.engines.digest(metadata.engine));
    metadata.engine_digest = digest.str();
    metadata.required_features.emplace_back(kNamedEngine);
    MIST_TRY(bare, module_of_files(complete));
  } else {
    MIST_TRY(bare, with_engine(source, metadata.engine, complete, context));
  }
  MIST_TRY(std::string module, with_metadata(bare, encoding::to_json(metadata.to_value()), source.reference));
  MIST_TRY(const std::optional<std::string> lock, lock_text(source));
  return lock ? with_lock(module, *lock, source.reference) : Result<std::string>(std::move(module));
}

}  // namespace mist::package
