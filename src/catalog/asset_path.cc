#include "catalog/asset_path.h"

#include <fmt/core.h>

#include "crypto/digest.h"

namespace mist::catalog {

std::string asset_path(std::string_view name, std::string_view extension, std::string_view content) {
  constexpr std::size_t kDigits = 16;
  return fmt::format("/assets/{}-{}.{}", name, crypto::sha256(content).hex().substr(0, kDigits), extension);
}

}  // namespace mist::catalog
