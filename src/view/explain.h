#pragma once
// `--explain`: what a plan does to each object and why, for people. Pure; any thread.

#include <string>

#include "base/event.h"

namespace mist::view {

/// The objects that would change come first, one by one:
///
///   plan: upgrade shop/web, revision 3
///     update Deployment shop/api: it differs
///       .spec.replicas  (web.yaml:12)
///       after ConfigMap shop/api: its Pods need it
///     unchanged: 37 objects
///
/// Without values, for a field may be a Secret's. Ends with a newline.
std::string explanation(const PlanAnnounced& plan, bool color);

}  // namespace mist::view
