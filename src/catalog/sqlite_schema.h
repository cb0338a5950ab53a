#pragma once
// The tables of the catalog's database, as the scripts that bring it from one version to the next. A script
// that was released never changes. Any thread.

#include <span>
#include <string_view>

namespace mist::catalog {

/// For sqlite::Database::migrate.
std::span<const std::string_view> schema_scripts();

}  // namespace mist::catalog
