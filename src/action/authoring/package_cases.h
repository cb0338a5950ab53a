#pragma once
// Runs the test cases that a package brings along (package/test_case.h): renders each, compares, and writes
// golden files where that is asked for. Needs no cluster. One thread.

#include <map>
#include <string>
#include <vector>

#include "base/fs.h"
#include "package/renderer.h"
#include "package/test_case.h"

namespace mist::action {

/// Inputs beside a package, where its defaults aren't enough.
struct GivenInputs {
  encoding::Value values = encoding::Value::object();  ///< of the render without a case, as merged
  std::map<std::string, SecretString> hidden = {};     ///< RenderRequest::hidden, of every render
  package::RunOnHost run_on_host = nullptr;            ///< of every render
};

/// Where the cases of a package lie.
struct PackageCases {
  package::Source source;
  Path folder;                          ///< of the cases and golden files
  std::vector<std::string> names = {};  ///< of the cases to run; none: all
  package::ChartSchema schema = package::ChartSchema::Holds;
  /// That cases see which name none; empty: what commands without a cluster assume.
  std::string kube_version = {};
  GivenInputs given = {};
};

enum class CaseState : std::uint8_t {
  Passed,
  Failed,
  Accepted,  ///< its golden file was written, because it was missing or another
};

struct CaseResult {
  std::string name;
  Path file;
  CaseState state = CaseState::Passed;
  std::vector<std::string> failures;  ///< one sentence each
  std::optional<Error> error;         ///< rendering failed, and should not have
  Path golden;                        ///< that was compared or written; empty: none
  std::vector<std::string> diff;      ///< from the golden file to what was rendered, as diff -u
};

/// Whether golden files that differ are written.
enum class Golden : std::uint8_t { Compare, Accept };

/// Holds `now` against the file result.golden, of at most `most_bytes`, or writes it there. A difference is a
/// failure of `result`. Errors: of the file.
Status compare_with_golden(FileSystem& files, Golden golden, std::uint64_t most_bytes, const std::string& now,
                           CaseResult& result);

/// In the order of the cases' names. Errors: there are no cases, or none of that name (NotFound), a case that
/// can't be read (Invalid), Cancelled; what a case finds is a result.
Result<std::vector<CaseResult>> run_package_cases(FileSystem& files, package::Renderer& renderer,
                                                  const PackageCases& cases, Golden golden,
                                                  const Context& context);

/// The names of the cases in a folder; none if there is no folder.
Result<std::vector<std::string>> package_case_names(const FileSystem& files, const Path& folder);
/// Invalid with the line.
Result<package::TestCase> read_package_case(const FileSystem& files, const Path& folder,
                                            const std::string& name);

/// The Kubernetes that a case is rendered for; empty: what commands without a cluster assume.
std::string kube_version_of(const PackageCases& cases, const package::TestCase& test);

/// The render of one of those cases. `engine` is engine_of() their source.
package::RenderRequest request_for(const PackageCases& cases, const package::TestCase& test,
                                   const package::EngineKind* engine);
/// The render without a case: with PackageCases::given.
package::RenderRequest default_request_for(const PackageCases& cases, const package::EngineKind* engine);

}  // namespace mist::action
