#pragma once
// Holds what was just rendered against what the deployed revision drew: the second render, drawn fields,
// changes of them, certificates. drawn.h has the rules; this file knows a Look. Reads only discovery.

#include "action/deploy/look.h"

namespace mist::action {

/// Fills look.rendered.drawn.fields, look.drawn_changes and look.aging. Errors: those of rendering, and Usage
/// for a name to rotate that there isn't.
Status examine_drawn(const Environment& environment, Look& look, const Context& context);

/// Warns of certificates that grow old, and refuses changes of drawn fields (Conflict).
Status accept_drawn(const Environment& environment, const Look& look);

}  // namespace mist::action
