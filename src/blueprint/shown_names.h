#pragma once
// Names in Nickel's diagnostics. A function can make a field's name of a value that it was given, and that
// may be a Secret's, while whoever may read the status of an instance need not be allowed to read Secrets.
// Pure; any thread.

#include <string>
#include <string_view>

namespace mist::blueprint {

/// `diagnostic` with an ellipsis in place of each name in backquotes that `known` doesn't contain: the text
/// of the blueprint and of its library, which have the names that their authors wrote.
std::string with_known_names(std::string_view diagnostic, std::string_view known);

}  // namespace mist::blueprint
