#include "base/cut_text.h"

#include "base/text.h"

namespace mist {

std::string cut_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::string start(text.substr(0, most));
  while (!start.empty() && !is_valid_utf8(start) && (start.back() & 0x80) != 0) start.pop_back();
  return start + "…";
}

}  // namespace mist
