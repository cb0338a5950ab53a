#pragma once
// Lists that may be long, in a sentence. Pure; any thread.

#include <string>
#include <vector>

namespace mist {

/// The first `most` of `names`, and how many there are beside them: "a, b and 3 more".
std::string some_of(std::vector<std::string> names, std::size_t most);

}  // namespace mist
