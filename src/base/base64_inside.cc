#include "base/base64_inside.h"

#include "base/text.h"

namespace mist {

std::string base64_inside(std::string_view text, std::size_t before) {
  const std::string encoded = base64_encode(std::string(before, '\0').append(text));
  const std::size_t begin = (8 * before + 5) / 6, end = 8 * (before + text.size()) / 6;
  return begin < end ? encoded.substr(begin, end - begin) : std::string();
}

}  // namespace mist
