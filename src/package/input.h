#pragma once
// The input of a guest for a render: the MistInput document, and the data in it. Pure but for
// RenderRequest::capabilities, which may ask the cluster; any thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "encoding/schema.h"
#include "package/engine.h"
#include "package/metadata.h"
#include "package/render_request.h"

namespace mist::package {

/// The document for a package whose ABI reads `version` (abi::Guest::input_version), not checked against the
/// schema: a render that is known by its input was checked when it was made. Invalid as input_data; errors
/// of the capabilities pass through.
Result<std::string> package_input(std::string_view version, const Metadata& metadata,
                                  const RenderRequest& request);
/// The document for an engine. As above.
Result<std::string> engine_input(const EngineKind& engine, const Metadata& metadata,
                                 const RenderRequest& request);

/// The `data` for an engine that lays its own defaults under it: the schema's where it has none, and the
/// user's values, nulls included, with the defaults that input_data filled into objects. `data` is what that
/// gave.
Value engine_data(const Metadata& metadata, const RenderRequest& request, const Value& data);

/// The `data` of an input document: the schema's defaults, over them the user's values (null removes), the
/// defaults that objects in these lack, `name`, and `namespace` where the schema declares it and the user
/// didn't set it, or set null. Invalid if the values set another name, or filling defaults in takes too long.
Result<Value> input_data(const Metadata& metadata, const RenderRequest& request);
/// Invalid when the schema refuses that data, or is none. Compiling a schema takes longer than a known
/// render.
Status check_input(const Metadata& metadata, const RenderRequest& request);
/// The same of what an engine is given, where it is the data; of an interactive request as the install will
/// have it (without_taken_defaults).
Status check_engine_input(const EngineKind& engine, const Metadata& metadata, const RenderRequest& request);
/// Invalid when the exports of a called package don't fit its own schema.
Status check_exports(const Metadata& metadata, const Value& exports);

/// "inputs.users[1].username: must be string, is integer 7": what a package is told of `part` ("inputs",
/// "exports").
std::string issue_text(std::string_view part, const encoding::SchemaIssue& issue);

}  // namespace mist::package
