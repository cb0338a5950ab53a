#pragma once
// The one renderer of Error: for people
//
//   error: cannot apply Deployment shop/api
//     at values.yaml:3:13
//         |
//       3 |   replicas: many
//         |             ^
//     because: spec.replicas: Invalid value: "string"
//     while installing shop
//     caused by: …
//     try: mistctl inspect package ./shop
//
// and for programs the same fields as one JSON object (schemas/error.schema.json). Pure; any thread.

#include <string>

#include "base/error.h"
#include "cli/parse/command.h"
#include "encoding/value.h"

namespace mist::cli {

/// Text of guests and servers is escaped; each field is cut at about 4 KiB, chains of causes at 16. Ends with
/// a newline.
std::string render_error(const Error& error, bool color);

/// {"kind": "Error", "exitCode": 1, "error": {kind, message, where, because, frames, hint, cause}}.
encoding::Value error_to_value(const Error& error, ExitCode code);

/// Which exit code an error ends with.
ExitCode exit_code_of(const Error& error);

}  // namespace mist::cli
