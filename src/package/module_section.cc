#include "package/module_section.h"

#include <cstddef>
#include <span>

#include "encoding/json.h"
#include "encoding/yaml.h"
#include "package/metadata.h"
#include "wasm/binary.h"

namespace mist::package {

Result<std::string> with_metadata(std::string_view module, std::string_view metadata,
                                  std::string_view metadata_file) {
  encoding::YamlOptions options;
  options.strict = true;
  options.file = metadata_file;
  MIST_TRY(const encoding::Value document, encoding::parse_yaml(metadata, options));
  if (auto parsed = Metadata::parse_strictly(document, metadata_file); !parsed.ok())
    return std::move(parsed).error();
  return wasm::with_custom_section(std::as_bytes(std::span(module)), "the module", wasm::kPackageSection,
                                   encoding::to_json(document));
}

Result<std::string> with_lock(std::string_view module, std::string_view lock, std::string_view name) {
  return wasm::with_custom_section(std::as_bytes(std::span(module)), name, wasm::kLockSection, lock);
}

}  // namespace mist::package
