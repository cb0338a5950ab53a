#pragma once
// Words of others in a place that has room for one line. Pure; any thread.

#include <string>
#include <string_view>

namespace mist {

/// Lines become parts of one: "a; b". Empty ones are left out.
std::string one_line(std::string_view text);

}  // namespace mist
