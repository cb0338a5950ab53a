#pragma once
// SQLite's placeholders as PostgreSQL's. Pure; any thread.

#include <string>
#include <string_view>

namespace mist::postgres {

/// With $n in place of each `?` (the next one) and `?n`. Texts and names in quotes stay as they are.
std::string with_numbers(std::string_view sql);

}  // namespace mist::postgres
