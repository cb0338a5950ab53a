#include "base/some_of.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mist {

std::string some_of(std::vector<std::string> names, std::size_t most) {
  const std::size_t all = names.size();
  if (all > most) names.resize(most);
  return join(names, ", ") + (all > most ? fmt::format(" and {} more", all - most) : std::string());
}

}  // namespace mist
