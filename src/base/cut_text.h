#pragma once
// A text of others where there is room for its beginning. Pure; any thread.

#include <cstddef>
#include <string>
#include <string_view>

namespace mist {

/// The text, or its first `most` bytes with "…" behind them; no UTF-8 character is cut.
std::string cut_text(std::string_view text, std::size_t most);

}  // namespace mist
