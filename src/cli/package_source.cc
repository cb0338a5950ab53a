#include "cli/package_source.h"

namespace mist::cli {

Result<action::PackageCases> package_source(const Invocation& invocation, Machine& machine) {
  const Path path = invocation.argument("SOURCE");
  action::PackageCases cases;
  MIST_TRY(cases.source,
           fetch_package(invocation, machine, std::filesystem::absolute(path).lexically_normal().string(),
                         invocation.text("engine")));
  cases.folder = (machine.files.is_directory(path) ? path : path.parent_path()) / package::kTestsFolder;
  if (invocation.enabled(kSkipSchemaFlag.name)) cases.schema = package::ChartSchema::Ignored;
  if (invocation.has("cases")) cases.folder = invocation.text("cases");
  cases.folder = cases.folder.lexically_normal();
  return cases;
}

}  // namespace mist::cli
