#pragma once
// The condition Drifted and its Events in words: the objects that others changed, and of a fix what it could
// not put back. Values of fields are left out; the server's words in it are the caller's to mask.
// Nothing reads these words: drift_facts() are for comparing. Pure; any thread.

#include <string>

#include "action/query/drift.h"

namespace mist::releases {

/// "1 object changed by others: ConfigMap shop/web (.data.a by kubectl-edit)"; empty: nothing has drifted.
std::string drift_words(const action::DriftReport& report);
/// The same of what a fix of all that left as it is, and why the server refused it; empty: it left nothing.
std::string left_words(const action::DriftReport& report, const action::DeployReport& fixed);
/// The part of the report that the fix left.
action::DriftReport left_of(action::DriftReport report, const action::DeployReport& fixed);
/// The facts that drift_words() are about, for a digest: which objects and fields have drifted, and who
/// changed them last. Reports of the same drift give the same text, whatever their order.
std::string drift_facts(const action::DriftReport& report);

}  // namespace mist::releases
