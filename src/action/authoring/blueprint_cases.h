#pragma once
// Runs the test cases of a blueprint: scenarios (reconcile/scenario.h), each held against a golden file,
// which is written where that is asked for. Needs no cluster. One thread.

#include "action/authoring/blueprint_source.h"
#include "action/authoring/package_cases.h"
#include "reconcile/scenario.h"

namespace mist::action {

/// In the order of the cases' names. `folder`: of cases and golden files. `names`: which; none: all. Errors:
/// there are no cases, or none of that name (NotFound), the blueprint can't be evaluated, Cancelled; what a
/// case finds is a result.
Result<std::vector<CaseResult>> run_blueprint_cases(FileSystem& files, package::Renderer& renderer,
                                                    const BlueprintSource& source, const Path& folder,
                                                    const std::vector<std::string>& names, Golden golden,
                                                    const Context& context);

/// Plays one scenario, which has an instance. Errors: of the blueprint, of play(), Cancelled.
Result<reconcile::Played> simulate_blueprint(package::Renderer& renderer, const BlueprintSource& source,
                                             reconcile::Scenario scenario, const Context& context);

/// Its error with the path on disk in place of the name in the ConfigMap.
Error shown_error(const BlueprintSource& source, Error failure);

}  // namespace mist::action
