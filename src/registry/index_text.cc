#include "registry/index_text.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::registry {
namespace {

// Only the layout of modules has paths of more than one segment.
std::string place_of(std::string_view path, std::string_view version) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return fmt::format("packages/{}/{}/package", path, version);
  return fmt::format("{}/{}-{}.mist-pack.wasm", path, path.substr(slash + 1), version);
}

}  // namespace

// As the layout of a registry has them, so that names are judged as everywhere.
PackageIndex packages_in(std::string_view index) {
  using encoding::Value;
  std::vector<TreeEntry> entries;
  for (const std::string_view line : split(index, '\n')) {
    const Result<Value> value = encoding::parse_json(line);
    if (!value || !value->is_object()) continue;
    const std::string_view path = value->string_at("path");
    const std::string_view newest = value->string_at("version");
    if (path.empty()) continue;
    const auto add = [&](std::string_view version, std::string_view digest) {
      entries.push_back({EntryType::File, std::string(digest), place_of(path, version)});
    };
    add(newest, value->string_at("digest"));
    for (const std::string& each : value->texts_at("versions"))
      if (each != newest) add(each, {});
  }
  return PackageIndex(std::move(entries));
}

PackageIndex packages_in(const ChartIndex& index) {
  std::vector<TreeEntry> entries;
  for (const auto& [name, versions] : index.all())
    for (const ChartVersion& each : versions)
      entries.push_back(
          {EntryType::File, each.digest, fmt::format("packages/{}/{}/Chart.yaml", name, each.version)});
  return PackageIndex(std::move(entries));
}

}  // namespace mist::registry
