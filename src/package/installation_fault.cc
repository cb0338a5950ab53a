#include "package/installation_fault.h"

#include "base/text.h"

namespace mist::package {

Status check_installation(const FileSystem& files, const TypeStore& types, const EngineStore& engines) {
  const std::string minors = types.minors();
  for (const std::string_view each : split(minors, ',')) {
    const auto minor = apimachinery::KubeMinor::parse(trim(each));
    if (minor) MIST_TRY_VOID(types.types(files, *minor));
  }
  for (const EngineDigest& each : engines.all()) MIST_TRY_VOID(engines.read(each.name));
  return {};
}

}  // namespace mist::package
