#pragma once
// Searches packages of all configured registries in the copy of their indexes on this machine, which is
// brought up to date before: git registries by their local snapshot, OCI registries and catalogs when they
// were not asked yet, or when the user wants. One thread.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "registry/registry.h"
#include "search/database.h"

namespace mist::action {

struct SearchDependencies {
  FileSystem& files;
  const Clock& clock;
  EventSink& events;
  registry::Registries& registries;
  Path database;
};

/// Whether registries are asked for what is new.
enum class Freshness : std::uint8_t { Known, Ask };

/// Where a found package is, as -p takes it.
struct FoundPackage {
  search::Hit hit;
  std::string reference;  ///< "team/web:1.4.0"
};

/// Best first. A registry that can't be read is a warning. Errors: NotFound (query.registries names one that
/// isn't configured), of search::Database.
Result<std::vector<FoundPackage>> search_packages(const SearchDependencies& dependencies,
                                                  const search::Query& query, Freshness freshness,
                                                  const Context& context);

/// Brings the copy of one registry's index up to date. NotFound: it has none.
Status refresh_index(const SearchDependencies& dependencies, const config::Registry& registry,
                     Freshness freshness, const Context& context);

}  // namespace mist::action
