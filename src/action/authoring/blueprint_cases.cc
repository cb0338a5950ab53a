#include "action/authoring/blueprint_cases.h"

#include <algorithm>

#include "base/text.h"
#include "blueprint/evaluator.h"
#include "encoding/yaml.h"

namespace mist::action {
namespace {

constexpr std::uint64_t kMostCaseBytes = std::uint64_t{16} << 20;

Result<reconcile::Scenario> read_case(const FileSystem& files, const Path& file) {
  MIST_TRY(const std::string text, files.read(file, kMostCaseBytes));
  MIST_TRY(reconcile::Scenario scenario, reconcile::Scenario::parse(text, file.string()));
  if (scenario.instance.is_null())
    return error(ErrorKind::Invalid, "{} has no instance", file.string())
        .with_hint("a case is a record of instance (the custom resource) and events (a list)");
  return scenario;
}

}  // namespace

Error shown_error(const BlueprintSource& source, Error failure) {
  if (failure.where && source.files.contains(failure.where->file))
    failure.where->file = source.shown(failure.where->file);
  return failure;
}

Result<reconcile::Played> simulate_blueprint(package::Renderer& renderer, const BlueprintSource& source,
                                             reconcile::Scenario scenario, const Context& context) {
  auto evaluator = blueprint::Evaluator::of(source.name, source.files, renderer);
  if (!evaluator.ok()) return std::move(evaluator).error();
  auto blueprint = evaluator->describe(context);
  if (!blueprint.ok()) return shown_error(source, std::move(blueprint).error());
  source.fill_defaults(*blueprint, scenario.instance);
  auto played = reconcile::play(*blueprint, scenario, reconcile::functions_of(*evaluator, context));
  MIST_TRY_VOID(context.check());
  return played;
}

Result<std::vector<CaseResult>> run_blueprint_cases(FileSystem& files, package::Renderer& renderer,
                                                    const BlueprintSource& source, const Path& folder,
                                                    const std::vector<std::string>& names, Golden golden,
                                                    const Context& context) {
  MIST_TRY(const std::vector<std::string> known, package_case_names(files, folder));
  if (known.empty())
    return error(ErrorKind::NotFound, "the blueprint {} has no test cases", source.name)
        .with_hint(fmt::format("write {} with an instance, and run this with --accept",
                               (folder / "default.yaml").string()));
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      return error(ErrorKind::NotFound, "there is no test case {}", escape_controls(name))
          .with_hint(fmt::format("the cases are {}", join(known, ", ")));
  // A defect of the blueprint itself is no result of a case.
  MIST_TRY(blueprint::Evaluator evaluator, blueprint::Evaluator::of(source.name, source.files, renderer));
  if (auto described = evaluator.describe(context); !described.ok())
    return shown_error(source, std::move(described).error());
  std::vector<CaseResult> results;
  for (const std::string& name : known) {
    if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
    CaseResult result;
    result.name = name;
    result.file = folder / (name + ".yaml");
    MIST_TRY(reconcile::Scenario scenario, read_case(files, result.file));
    auto played = simulate_blueprint(renderer, source, std::move(scenario), context);
    MIST_TRY_VOID(context.check());
    if (!played.ok()) {
      result.error = std::move(played).error();
    } else {
      if (!played->settled()) result.failures.emplace_back("it changes without end");
      result.golden = folder / (name + ".golden.yaml");
      MIST_TRY_VOID(compare_with_golden(files, golden, kMostCaseBytes,
                                        encoding::to_yaml(reconcile::to_value(*played)), result));
    }
    if (result.error || !result.failures.empty()) result.state = CaseState::Failed;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace mist::action
