#pragma once
// The condition Drifted and its Events in words: the objects that others changed, and of a fix what it could
// not put back. Values of fields are left out; the server's words in it are the caller's to mask.
// Pure; any thread.

#include <string>
#include <string_view>

#include "action/query/drift.h"

namespace mist::releases {

/// "1 object changed by others: ConfigMap shop/web (.data.a by kubectl-edit)"; empty: nothing has drifted.
std::string drift_words(const action::DriftReport& report);
/// The same of what a fix of all that left as it is, and why the server refused it; empty: it left nothing.
std::string left_words(const action::DriftReport& report, const action::DeployReport& fixed);
/// Whether `message` is drift_words() that are `words`, or left_words() that begin with them.
bool tells_drift(std::string_view message, std::string_view words);

}  // namespace mist::releases
