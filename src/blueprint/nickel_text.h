#pragma once
// Values as Nickel source, for blueprints that a program drafts and a person goes on with. Pure; any thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::blueprint {

/// The expression to write in place of the value at a path ("spec.containers[0].image"); nullopt: the value
/// itself.
using Substitute =
    std::function<std::optional<std::string>(const std::string& path, const encoding::Value& value)>;

/// An expression that evaluates to `value`. Lines after the first are indented by `indent` spaces at least.
std::string to_nickel(const encoding::Value& value, std::size_t indent, const Substitute& substitute = {});

/// A string literal, in one line: "…", with every character escaped that means something there.
std::string nickel_string(std::string_view text);

/// A field's name as records have it: plain if that is possible, else quoted.
std::string nickel_field(std::string_view name);

}  // namespace mist::blueprint
