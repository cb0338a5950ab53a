#pragma once
// Charts of chart repositories that are named by their address, as mirrors have them (address_copies.h). Any
// thread.

#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "registry/address_copies.h"
#include "registry/chart_repository.h"

namespace mist::registry {

/// The address by which copies of a repository's charts are named.
std::string chart_address(const std::string& url);

/// The newest version in `range` of which mirrors have a copy, by Helm's rules; empty: the newest of all,
/// with `unfinished` prereleases too. Nothing: the repository may be asked. Errors: NotFound (it may not, and
/// no mirror has one), Invalid (no range), of AddressCopies.
Result<std::optional<std::string>> newest_chart_copy(const AddressCopies& copies, const ChartReference& chart,
                                                     const Context& context);

/// The copy of the version as it is written, else of the newest in that range. Its archive is the chart and
/// version that were asked for. Nothing, errors: as newest_chart_copy. `server`: of `chart.repository`.
Result<std::optional<DownloadedChart>> find_chart_copy(const AddressCopies& copies, ChartServer server,
                                                       const ChartReference& chart, const Context& context);

}  // namespace mist::registry
