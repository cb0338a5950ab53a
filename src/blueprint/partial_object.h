#pragma once
// Objects of which the API server asks for a conversion although they lack what every stored object has:
// where an apply of a manager takes fields out, the server converts what is left to the versions that other
// applies used, and reads from the answer only which fields are there (structured-merge-diff,
// merge/update.go, prune). It fills defaults in before it converts anything else. Pure; any thread.

#include <optional>

#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

/// `value` with the defaults of its structural schema, and with a value that the schema allows in each field
/// that is required and missing, where Go's conversions see a zero value: functions are tried with such, too
/// (schema_sample.h). nullopt: nothing is missing, so it is a whole object.
std::optional<Value> completed(const Value& schema, const Value& value);

/// Takes out of `converted` what completed() filled in and the conversion left as it was: else a field that
/// nobody applies any more would seem to be there. `before`: without it; `filled`: with it.
void take_out_filled(const Value& before, const Value& filled, Value& converted);

}  // namespace mist::blueprint
