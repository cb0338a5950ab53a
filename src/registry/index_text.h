#pragma once
// Which packages the index of a registry lists. Its text has one of two forms: mistletoe-index.jsonl, of
// catalogs and of registries in git (docs/formats/index.md), or index.yaml, of chart repositories. Pure
// functions; any thread.

#include <string_view>

#include "registry/chart_repository.h"
#include "registry/layout.h"

namespace mist::registry {

inline constexpr std::string_view kPackagesIndex = "mistletoe-index.jsonl";
inline constexpr std::string_view kChartsIndex = "index.yaml";

/// The packages and versions in the text of a mistletoe-index.jsonl; lines that are no entries are left out.
/// It has the digest of the newest version alone, which is that entry's object.
PackageIndex packages_in(std::string_view index);
/// Those in the index of a chart repository; the object of an entry is the archive's digest.
PackageIndex packages_in(const ChartIndex& index);

}  // namespace mist::registry
