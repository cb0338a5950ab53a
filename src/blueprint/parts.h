#pragma once
// A blueprint in several ConfigMaps, as one may hold no more than a mebibyte. The first has `blueprint.ncl`
// and names the others in an annotation; their files count as if they were in the first. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"
#include "package/engine.h"

namespace mist::blueprint {

/// Of a blueprint's ConfigMap: the names of its parts in the same namespace, with commas between them.
inline constexpr std::string_view kPartsAnnotation = "mistletoe.dev/blueprint-parts";
/// The value of kBlueprintLabel on a part.
inline constexpr std::string_view kPartValue = "part";

bool is_part(const encoding::Value& config_map);
/// The parts that it names, in that order, each once.
std::vector<std::string> parts_of(const encoding::Value& config_map);

/// The part of that name; nullopt: there is no ConfigMap of that name that is a part.
using FindPart = std::function<std::optional<encoding::Value>(const std::string& name)>;

/// The files of a blueprint and its parts. Errors: Invalid: a part is missing, or a file is in two of them.
Result<package::Files> files_of(const encoding::Value& config_map, const FindPart& find);

}  // namespace mist::blueprint
