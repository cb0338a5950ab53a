#include "action/authoring/package_cases.h"

#include <algorithm>

#include "base/text.h"
#include "base/text_diff.h"
#include "package/capabilities.h"
#include "package/values.h"

namespace mist::action {
namespace {

using encoding::Value;
using package::TestCase;

constexpr std::uint64_t kMostCaseBytes = std::uint64_t{64} << 20;

Status check_names(const std::vector<std::string>& known, const PackageCases& cases) {
  if (known.empty())
    return error(ErrorKind::NotFound, "{} has no test cases", cases.source.reference)
        .with_hint(fmt::format("write {}, which may be empty, and run this with --accept",
                               (cases.folder / "default.yaml").string()));
  for (const std::string& name : cases.names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return error(ErrorKind::NotFound, "there is no test case {}", escape_controls(name))
        .with_hint(fmt::format("the cases are {}", join(known, ", ")));
  }
  return {};
}

/// Runs one case after the other.
class Runner {
 public:
  Runner(FileSystem& files, package::Renderer& renderer, const PackageCases& cases, Golden golden,
         const package::EngineKind* engine, const Context& context)
      : files_(files),
        renderer_(renderer),
        cases_(cases),
        golden_(golden),
        engine_(engine),
        context_(context) {}

  Result<CaseResult> run(const std::string& name) {
    MIST_TRY(const TestCase test, read_package_case(files_, cases_.folder, name));
    CaseResult result;
    result.name = name;
    result.file = cases_.folder / (name + ".yaml");
    const package::RenderRequest request = request_for(cases_, test, engine_);
    auto rendered = renderer_.render(cases_.source, request, context_);
    MIST_TRY_VOID(context_.check());
    if (!rendered.ok()) {
      judge_error(test, std::move(rendered).error(), result);
    } else if (test.error) {
      result.failures.push_back(
          fmt::format("expected an error with \"{}\", but it renders", escape_controls(*test.error)));
    } else {
      result.failures = package::broken_expectations(test, *rendered);
      if (test.golden) {
        result.golden = cases_.folder / *test.golden;
        MIST_TRY_VOID(
            compare_with_golden(files_, golden_, kMostCaseBytes, package::golden_text(*rendered), result));
      }
    }
    if (result.error || !result.failures.empty()) result.state = CaseState::Failed;
    return result;
  }

 private:
  static void judge_error(const TestCase& test, Error failure, CaseResult& result) {
    if (!test.error) {
      result.error = std::move(failure);
    } else if (std::string wrong = package::wrong_error(test, failure); !wrong.empty()) {
      result.failures.push_back(std::move(wrong));
    }
  }

  FileSystem& files_;
  package::Renderer& renderer_;
  const PackageCases& cases_;
  const Golden golden_;
  const package::EngineKind* const engine_;
  const Context& context_;
};

}  // namespace

Status compare_with_golden(FileSystem& files, Golden golden, std::uint64_t most_bytes, const std::string& now,
                           CaseResult& result) {
  auto before = files.read(result.golden, most_bytes);
  if (before.ok() && *before == now) return {};
  if (!before.ok() && before.error().kind != ErrorKind::NotFound) return std::move(before).error();
  if (golden == Golden::Accept) {
    MIST_TRY_VOID(files.write(result.golden, now, kUsersFile));
    result.state = CaseState::Accepted;
    return {};
  }
  if (!before.ok()) {
    result.failures.push_back(fmt::format("{} does not exist: --accept writes it", result.golden.string()));
    return {};
  }
  result.failures.push_back(fmt::format("{} differs: --accept rewrites it", result.golden.string()));
  result.diff = unified_diff(*before, now);
  return {};
}

std::string kube_version_of(const PackageCases& cases, const TestCase& test) {
  return test.kube_version.empty() ? cases.kube_version : test.kube_version;
}

package::RenderRequest request_for(const PackageCases& cases, const TestCase& test,
                                   const package::EngineKind* engine) {
  package::RenderRequest request = test.request();
  request.user_values = test.values;
  if (package::has_chart_values(engine)) package::make_floats(request.user_values);  // as those of a file
  if (cases.schema == package::ChartSchema::Ignored)
    request.engine_options.set(package::kSkipSchemaOption, true);
  package::assume_cluster(request, kube_version_of(cases, test), test.api_versions);
  request.hidden = cases.given.hidden;
  request.run_on_host = cases.given.run_on_host;
  return request;
}

package::RenderRequest default_request_for(const PackageCases& cases, const package::EngineKind* engine) {
  TestCase none;
  none.values = cases.given.values;
  return request_for(cases, none, engine);
}

Result<std::vector<std::string>> package_case_names(const FileSystem& files, const Path& folder) {
  if (!files.is_directory(folder)) return std::vector<std::string>();
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(folder));
  std::vector<std::string> found;
  for (const DirectoryEntry& entry : entries) {
    if (!entry.is_directory) found.push_back(entry.name);
  }
  return package::case_names(found);
}

Result<TestCase> read_package_case(const FileSystem& files, const Path& folder, const std::string& name) {
  const Path file = folder / (name + ".yaml");
  MIST_TRY(const std::string text, files.read(file, kMostCaseBytes));
  return TestCase::parse(name, text, file.string()).in("while reading a test case");
}

Result<std::vector<CaseResult>> run_package_cases(FileSystem& files, package::Renderer& renderer,
                                                  const PackageCases& cases, Golden golden,
                                                  const Context& context) {
  MIST_TRY(const std::vector<std::string> known, package_case_names(files, cases.folder));
  MIST_TRY_VOID(check_names(known, cases));
  MIST_TRY(const package::EngineKind* const engine, package::engine_of(cases.source));
  Runner runner(files, renderer, cases, golden, engine, context);
  std::vector<CaseResult> results;
  for (const std::string& name : known) {
    if (!cases.names.empty() && std::ranges::find(cases.names, name) == cases.names.end()) continue;
    MIST_TRY(CaseResult result, runner.run(name));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace mist::action
