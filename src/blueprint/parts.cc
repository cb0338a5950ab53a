#include "blueprint/parts.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "blueprint/blueprint.h"
#include "blueprint/evaluator.h"

namespace mist::blueprint {

using encoding::Value;

bool is_part(const Value& config_map) {
  return config_map.string_at({"metadata", "labels", kBlueprintLabel}) == kPartValue;
}

std::vector<std::string> parts_of(const Value& config_map) {
  std::vector<std::string> names;
  for (const std::string_view each :
       split(config_map.string_at({"metadata", "annotations", kPartsAnnotation}), ',')) {
    const std::string name(trim(each));
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Result<package::Files> files_of(const Value& config_map, const FindPart& find) {
  const std::string first(config_map.string_at({"metadata", "name"}));
  package::Files files = files_of(config_map);
  std::map<std::string, std::string> holders;  // of files, by name
  for (const auto& [file, text] : files) holders[file] = first;
  for (const std::string& name : parts_of(config_map)) {
    const std::optional<Value> part = find(name);
    if (!part)
      return error(ErrorKind::Invalid,
                   "its part {} is missing: its namespace has no ConfigMap of that name with the label {}={}",
                   escape_controls(name), kBlueprintLabel, kPartValue)
          .with_hint(fmt::format("make it, give it that label, or take it out of the annotation {} of {}",
                                 kPartsAnnotation, first));
    for (auto& [file, text] : files_of(*part)) {
      const auto [holder, is_new] = holders.emplace(file, name);
      if (!is_new)
        return error(ErrorKind::Invalid, "the ConfigMaps {} and {} both have a file {}", holder->second,
                     escape_controls(name), escape_controls(file))
            .with_hint("all files of a blueprint are in one directory: give one of them another name");
      files.emplace(file, std::move(text));
    }
  }
  return files;
}

}  // namespace mist::blueprint
