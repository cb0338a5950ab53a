#pragma once
// From a field that the server refuses to the line that wrote it. Servers name fields in two notations: that
// of field errors (`spec.containers[0].image`, `metadata.annotations[a.b/c]`) and that of server-side apply
// (`.spec.containers[name="web"].image`). Pure; any thread.

#include <string_view>

#include "apimachinery/object.h"
#include "base/error.h"

namespace mist::apply {

/// The value that a path in either notation names, or the deepest on its way that is there.
const encoding::Value& value_on_path(const encoding::Value& object, std::string_view path);

/// The line of that value, or of the object.
SourceLocation place_of_field(const apimachinery::RenderedObject& rendered, std::string_view path);

/// The error at the field that it names, if it names one, else at the object; one with a place keeps it.
Error at_refused_field(Error failure, const apimachinery::RenderedObject& rendered);

}  // namespace mist::apply
