#pragma once
// Which texts the YAML writer may leave without quotes. go-yaml v2 asks its own reader alone; what we print
// is read by others too (PyYAML, Ruby, js-yaml, yq), which know all of YAML 1.1 or 1.2 and have numbers of
// any size. Internal to encoding. Pure; any thread.

#include <string_view>

namespace mist::encoding {

/// True if every reader takes the bare text as a string. Characters that have a meaning in YAML ("[", ": ")
/// aren't looked at.
bool means_itself(std::string_view text);

}  // namespace mist::encoding
