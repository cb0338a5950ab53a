#pragma once
// Holds what was just rendered against what the deployed revision drew: the second render, drawn fields,
// changes of them, certificates. drawn.h has the rules; this file knows a PreparedDeploy. Reads only
// discovery.

#include "action/deploy/prepare.h"

namespace mist::action {

/// Fills look.rendered.drawn.fields, look.drawn_changes and look.aging. Errors: those of rendering, and Usage
/// for a name to rotate that there isn't.
Status examine_drawn(const Environment& environment, PreparedDeploy& prepared, const Context& context);

/// Warns of certificates that grow old, and refuses changes of drawn fields (Conflict).
Status accept_drawn(const Environment& environment, const PreparedDeploy& prepared);

}  // namespace mist::action
