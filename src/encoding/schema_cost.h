#pragma once
// How much work a JSON Schema makes of a document, computed before the validator starts: a hostile package
// may carry a schema whose references double at each step, or lead back to themselves without consuming
// anything of the document. Internal to encoding. Pure; any thread.

#include <cstdint>
#include <string>

#include "encoding/value.h"

namespace mist::encoding {

/// A place where subschemas that all apply to the same value lead back to themselves ("#/$defs/a"), for which
/// a validator would never end; empty: there is none. A schema that contains itself through properties or
/// items is fine: each step consumes a level of the document.
std::string endless_reference(const Value& schema);

/// How much work validating `document` is, at most: how often some subschema is applied to some value, with
/// what it looks at itself there (the options of an enum, the states of a pattern for each byte); stops
/// counting above `limit`, in time and memory proportional to that. The schema has no endless reference.
std::uint64_t validation_steps(const Value& schema, const Value& document, std::uint64_t limit);

}  // namespace mist::encoding
