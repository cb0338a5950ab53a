#pragma once
// Packed charts, as `helm package` makes them: a tar+gzip whose files are below the chart's name. Pure; any
// thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "registry/chart_lock.h"
#include "registry/package_files.h"

namespace mist::registry {

struct ChartFiles {
  ChartManifest manifest;
  PackageTree tree;  ///< paths below the chart: "Chart.yaml", "templates/web.yaml"
};

/// `place` is what it is called in messages. Errors: Invalid (no packed chart, beyond a package's bounds).
Result<ChartFiles> unpack_chart(std::string_view archive, const std::string& place);

/// Of a chart's files, as they are in its directory, or of the one file of a packed chart. Errors: Invalid
/// (no chart).
Result<ChartFiles> chart_of(PackageTree tree, const std::string& place);

/// The archive: Chart.yaml first. The same files give the same bytes.
Result<std::string> pack_chart(const PackageTree& tree, std::string_view name);

}  // namespace mist::registry
