#pragma once
// Descriptions of a package and of the inputs that it takes. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "package/renderer.h"

namespace mist::view {

/// schemas/cli/inspect-package.schema.json.
encoding::Value package_value(const package::Source& source, const package::Inspection& inspection);
/// Signatures and documents that a registry has beside a package.
struct PackageEvidence {
  std::string signers;                 ///< who signed it; empty: nobody knows
  std::vector<std::string> documents;  ///< a line for each SBOM and attestation
};
/// Its metadata, a line each, and its inputs as a table.
std::string package_text(const package::Source& source, const package::Inspection& inspection,
                         const PackageEvidence& evidence, bool color);
/// A key that can stand in --set after `typed`, which may end within one: "image.", "replicas=", each with
/// its description.
struct InputKey {
  std::string text;
  std::string description;
};
std::vector<InputKey> input_keys(const package::Metadata& metadata, std::string_view typed);
/// The values that it starts from, as somebody would write them to a file.
encoding::Value starting_values(const package::Metadata& metadata);

}  // namespace mist::view
