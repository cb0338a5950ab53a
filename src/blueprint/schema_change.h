#pragma once
// Structural schemas of CRDs, compared: what an object may no longer be, or loses, when one takes the place
// of the other. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

/// Why an object that `before` takes may be refused by `after`, or lose fields: "spec.size: it becomes a
/// string, and was an integer". Empty: it is taken as it is. A pattern or a rule that differs counts as
/// narrower: nobody can tell.
std::vector<std::string> narrowings(const Value& before, const Value& after, std::string_view path);

/// Where two schemas differ, documentation aside.
std::vector<std::string> schema_differences(const Value& a, const Value& b, std::string_view path);

/// Why `next` can't take the place of a live CRD without breaking objects or clients: another scope or other
/// names, a version that is gone or no longer served, a schema of the spec that is narrower. The status is
/// the operator's own, so only types count there: it couldn't change an object whose status has others.
std::vector<std::string> breaking_changes(const Value& live, const Value& next);

/// Why a live CRD doesn't do for a blueprint that would have `wanted`: names, versions, and what of the
/// contract it refuses, drops, or gives no default; and a status that doesn't take the conditions and values
/// which the operator writes.
std::vector<std::string> misfits(const Value& live, const Value& wanted);

/// The same for a blueprint that is in force with that CRD. `tolerated` gets what older operators took, and
/// is no reason to stop serving its instances.
std::vector<std::string> misfits_in_force(const Value& live, const Value& wanted,
                                          std::vector<std::string>& tolerated);

/// Takes out of `wanted` what an operator of before never wrote into a CRD: rules that the live one lacks, in
/// schemas that it has. Returns where, in words. For a blueprint that is in force with the live CRD: objects
/// that are there needn't meet such a rule.
std::vector<std::string> leave_out_late_rules(const Value& live, Value& wanted);

}  // namespace mist::blueprint
