#pragma once
// What a package is and which inputs it takes. Pure; any thread.

#include "package/renderer.h"

namespace mist::view {

/// schemas/cli/inspect-package.schema.json.
encoding::Value package_value(const package::Source& source, const package::Inspection& inspection);
/// Its metadata, a line each, and its inputs as a table.
std::string package_text(const package::Source& source, const package::Inspection& inspection, bool color);
/// The values that it starts from, as somebody would write them to a file.
encoding::Value starting_values(const package::Metadata& metadata);

}  // namespace mist::view
