#pragma once
// Commands in hints. A release is named with its namespace always: without it the command could find, and
// change, another release of that name in the namespace of somebody's context. Pure; any thread.

#include <string>
#include <string_view>

#include "release/record.h"

namespace mist::release {

/// "mistctl recover web -n shop --undo"; `flags` may be empty.
inline std::string command_text(std::string_view verb, const ReleaseId& id, std::string_view flags = {}) {
  std::string text = "mistctl ";
  text.append(verb).append(" ").append(id.name).append(" -n ").append(id.ns);
  if (!flags.empty()) text.append(" ").append(flags);
  return text;
}

}  // namespace mist::release
