#pragma once
// Pure; any thread.

#include <string>
#include <string_view>

namespace mist::catalog {

/// "/assets/NAME-DIGEST.EXTENSION": it names its content, so that it may be kept for ever.
std::string asset_path(std::string_view name, std::string_view extension, std::string_view content);

}  // namespace mist::catalog
