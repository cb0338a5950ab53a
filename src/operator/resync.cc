#include "operator/resync.h"

#include <functional>
#include <string>

#include "base/text.h"

namespace mist::operator_ {

Duration resync_pause(const Item& item) {
  constexpr auto kSpread = std::chrono::duration_cast<std::chrono::seconds>(kResync / 10);
  const std::size_t place = std::hash<std::string>()(
      fmt::format("{}/{}/{}", item.blueprint, item.instance.first, item.instance.second));
  return kResync + std::chrono::seconds(place % static_cast<std::size_t>(kSpread.count()));
}

}  // namespace mist::operator_
