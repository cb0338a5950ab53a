#include "package/source.h"

#include <span>
#include <string_view>
#include <utility>

#include "abi/abi.h"
#include "package/source_facts.h"
#include "package/tree_metadata.h"
#include "wasm/binary.h"

namespace mist::package {

Result<std::vector<Dependency>> declared_dependencies(const Source& source) {
  std::optional<Metadata> metadata;
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    MIST_TRY(const std::optional<Value> document, abi::read_metadata(*module, source.reference));
    if (document) {
      MIST_TRY(metadata, metadata_from(*document, source));
    }
  } else {
    MIST_TRY(metadata, declared_metadata(std::get<Files>(source.content))
                           .in(fmt::format("while reading {}", source.reference)));
  }
  return metadata ? std::move(metadata->dependencies) : std::vector<Dependency>();
}

Result<std::optional<std::string>> lock_text(const Source& source) {
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    MIST_TRY(const auto bytes, module->bytes());
    MIST_TRY(const std::optional<std::string_view> section,
             wasm::custom_section(std::as_bytes(std::span(*bytes)), source.reference, wasm::kLockSection));
    return section ? std::optional(std::string(*section)) : std::nullopt;
  }
  const Files& files = std::get<Files>(source.content);
  const auto found = files.find(std::string(kLockFile));
  return found == files.end() ? std::nullopt : std::optional(found->second);
}

Result<const EngineKind*> engine_of(const Source& source) {
  if (const auto* module = std::get_if<wasm::ModuleBytes>(&source.content)) {
    MIST_TRY(const std::optional<BuiltModule> built, built_from(source, *module));
    return built ? &built->engine : nullptr;
  }
  MIST_TRY(const SourceTree tree, look_at(source));
  return tree.engine;
}

}  // namespace mist::package
