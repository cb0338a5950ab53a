#include "base/one_line.h"

#include <vector>

#include "base/text.h"

namespace mist {

std::string one_line(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (!words.empty()) parts.emplace_back(words);
  }
  return join(parts, "; ");
}

}  // namespace mist
