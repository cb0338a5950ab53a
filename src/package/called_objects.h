#pragma once
// Which called package made what its caller gave. A caller may put a called package's files into its own
// result whole, under other paths, joined, or changed; nobody asks it to say so. A file that is the same byte
// for byte is the called package's, with its lines; of the others, an object of the same kind and name is.
// Where packages call one another, the innermost that gave it made it. Pure; any thread.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "package/calls.h"
#include "package/objects.h"

namespace mist::package {

/// Of those of the caller's files that are a called package's.
FileOrigins origins_of_called(const std::map<std::string, std::string>& files, const CallTree& tree);

/// Sets `package` of the objects that a called package made and the caller changed.
void attribute_changed(std::vector<apimachinery::RenderedObject>& objects, const CallTree& tree);

/// The package that `path` ("platform → mariadb") leads to from `root`, whose own name is its first; empty:
/// `root` itself; null: none.
const Source* called_source(const Source& root, std::string_view path);

}  // namespace mist::package
