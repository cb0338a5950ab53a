#include "wasm/limits.h"

#include <fmt/format.h>

namespace mist::wasm {

bool has_flag(LimitFlags flags, std::string_view flag) {
  switch (flags) {
    case LimitFlags::All:
      return true;
    case LimitFlags::MemoryAndTime:
      return flag == "--limit-memory" || flag == "--limit-time";
    case LimitFlags::None:
      break;
  }
  return false;
}

std::string raise_hint(LimitFlags flags, std::string_view flag, std::string_view now) {
  if (!has_flag(flags, flag)) return "make it need less: no flag of this program raises this limit";
  if (now.empty()) return fmt::format("allow more with {}", flag);
  return fmt::format("if that is what it needs, raise {}, now {}", flag, now);
}

}  // namespace mist::wasm
