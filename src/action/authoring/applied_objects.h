#pragma once
// From the objects that a package renders to those that somebody else applies: Flux or Argo CD, who know no
// hooks of Helm's, or not all of them, and no tests. Pure; any thread.

#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "release/record.h"

namespace mist::action {

/// Each once, in the package's order. Of a chart (`engine` is the one that rendered it) the hooks that an
/// install or an upgrade runs are among them, behind the others; other hooks and all tests are left out.
/// `events` get what no hook can be. Invalid: two with one identity, or a test that can't be read.
Result<std::vector<release::RenderedObject>> applied_objects(std::vector<release::RenderedObject> objects,
                                                             std::string_view engine, EventSink& events);

}  // namespace mist::action
