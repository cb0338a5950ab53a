#pragma once
// The input of a guest for a render: the MistInput document, and the data in it. Pure but for
// RenderRequest::capabilities, which may ask the cluster; any thread.

#include <string>
#include <string_view>

#include "base/result.h"
#include "encoding/schema.h"
#include "package/engine.h"
#include "package/metadata.h"
#include "package/renderer.h"

namespace mist::package {

/// The document for a package whose ABI reads `version` (abi::Guest::input_version). Invalid as input_data;
/// errors of the capabilities pass through.
Result<std::string> package_input(std::string_view version, const Metadata& metadata,
                                  const RenderRequest& request);
/// The document for an engine. Errors as above.
Result<std::string> engine_input(const EngineKind& engine, const Metadata& metadata,
                                 const RenderRequest& request);

/// The `data` for an engine that lays its own defaults under it: the schema's where it has none, and the
/// user's values, nulls included. `checked` is what input_data gave.
Value engine_data(const Metadata& metadata, const RenderRequest& request, const Value& checked);

/// The `data` of an input document: the schema's defaults, over them the user's values (null removes),
/// `name`, and `namespace` where the schema declares it and the user didn't set it. Invalid when the schema
/// refuses it.
Result<Value> input_data(const Metadata& metadata, const RenderRequest& request);

/// "inputs.users[1].username: must be string, is integer 7": what a package is told of `part` ("inputs",
/// "exports").
std::string issue_text(std::string_view part, const encoding::SchemaIssue& issue);

}  // namespace mist::package
