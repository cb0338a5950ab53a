#pragma once
// Where the charts that a chart's directory depends on come from, for `dependency` and `mirror`. One thread.

#include "base/result.h"
#include "cli/machine.h"
#include "cli/parse/invocation.h"
#include "registry/registry.h"
#include "registry/subchart_source.h"

namespace mist::cli {

/// Repositories have the names that Helm and the configuration know. `registries` outlives what is returned.
/// Errors: of read_helm_repositories, Registries::list and demanded_keyring.
Result<registry::SubchartSource::Dependencies> chart_sources(const Invocation& invocation, Machine& machine,
                                                             registry::Registries& registries);

}  // namespace mist::cli
