#include "cli/package_source.h"

namespace mist::cli {

Result<action::PackageCases> package_source(const Invocation& invocation, World& world) {
  const Path path = invocation.argument("SOURCE");
  action::PackageCases cases;
  MIST_TRY(cases.source,
           fetch_package(invocation, world, std::filesystem::absolute(path).lexically_normal().string(),
                         invocation.text("engine")));
  cases.folder = (world.files.is_directory(path) ? path : path.parent_path()) / package::kTestsFolder;
  if (invocation.enabled(kSkipSchemaFlag.name)) cases.schema = package::ChartSchema::Ignored;
  if (invocation.has("cases")) cases.folder = invocation.text("cases");
  cases.folder = cases.folder.lexically_normal();
  return cases;
}

}  // namespace mist::cli
