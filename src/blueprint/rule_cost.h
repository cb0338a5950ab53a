#pragma once
// The most that a rule of CEL can cost, as the API server estimates it before it takes a
// CustomResourceDefinition, from the longest texts, lists and maps that a schema allows. The figures are
// those of apiextensions-apiserver (pkg/apis/apiextensions/validation, pkg/apiserver/schema/cel) and of
// cel-go's checker, which keep them as a contract: a change of them would refuse CRDs that were accepted
// before. Pure; any thread.

#include <vector>

#include "blueprint/structural_schema.h"
#include "encoding/value.h"

namespace mist::blueprint {

/// The places of a structural schema whose rules the server refuses: about what has no type in CEL, or too
/// costly. Only the rules that Mistletoe writes itself are estimated; those of Rule are CEL of the author's,
/// for which the server speaks.
std::vector<SchemaPlace> refused_rules(const Value& schema);

}  // namespace mist::blueprint
