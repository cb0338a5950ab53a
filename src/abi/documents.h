#pragma once
// The documents that guests give back, read strictly: MistPackage and MistResult. For src/abi only. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "abi/abi.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::abi {

/// Checks what a guest says is a MistPackage document: UTF-8, YAML, kind, apiVersion, metadata.name. `source`
/// is where it came from, for messages.
Result<encoding::Value> parse_package(std::string_view text, std::string_view name, std::string_view source);

/// The MistPackage document of the module's custom section, if it has one.
Result<std::optional<encoding::Value>> section_metadata(const wasm::Module& module);

/// Of a MistResult that is JSON, as engines write it: its output, or the failure of its Err. Nothing
/// for any other text, and for one with a fault, about which parse_result has the words.
std::optional<Result<Output>> parse_json_result(std::string_view text, std::string_view name);

/// Reads a MistResult. Its files and exports, or Invalid with the package's own message when it says Err.
Result<Output> parse_result(std::string_view text, std::string_view name);

/// True if `text` is one document of ours (a MistResult, if all is well) and not Kubernetes YAML, of which a
/// MistOrder is a part.
bool is_own_document(std::string_view text);

/// Invalid unless `text` is UTF-8 without NUL. `what` is "the output of hello-web".
Status check_text(std::string_view text, std::string_view what);

/// The error of a package that says itself why it could not be rendered.
Error failed_output(std::string_view reason, std::string_view name);

}  // namespace mist::abi
