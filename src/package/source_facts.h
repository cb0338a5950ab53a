#pragma once
// Facts about a package that are known without running it, for the classes that render: which engine a
// directory has and what it declares, what a module was built from. Pure; any thread.

#include <optional>
#include <string_view>

#include "base/event.h"
#include "base/result.h"
#include "encoding/value.h"
#include "package/engine.h"
#include "package/metadata.h"
#include "package/source.h"
#include "wasm/module_bytes.h"

namespace mist::package {

/// A directory with what it says of itself and who renders it.
struct SourceTree {
  const Source& source;
  const Files& files;  ///< those of `source`, or those in its module
  std::optional<Metadata> declared = {};
  const EngineKind* engine = nullptr;  ///< null: plain Kubernetes YAML
};

/// `source` is a directory, and outlives the answer. Invalid: its metadata can't be read; as choose_engine.
Result<SourceTree> look_at(const Source& source);

/// A module that was built from a directory: its engine, and what it says of itself.
struct BuiltModule {
  const EngineKind& engine;
  Metadata metadata;

  bool names_engine() const { return !metadata.engine_digest.empty(); }
};

/// Nullopt: it is a package of its own. `document`: what its section says. Invalid: the metadata can't be
/// read.
Result<std::optional<BuiltModule>> built_from(const Source& source, const std::optional<Value>& document);
/// The same; nothing is compiled for a look.
Result<std::optional<BuiltModule>> built_from(const Source& source, const wasm::ModuleBytes& module);

/// Invalid: the engine that the module names isn't the one that is here; rendered by another one it might be
/// something else.
Status check_engine(const Source& source, const BuiltModule& built, const EngineStore& engines);

/// Of a source that says nothing of itself.
Metadata plain_metadata(const Source& source);
/// Of its MistPackage document. Invalid as Metadata::parse.
Result<Metadata> metadata_from(const Value& document, const Source& source);

/// Whether the engine's packages are given the release's revision unasked.
bool sees_the_revision(const EngineKind& engine);

/// Warns of members of its metadata that aren't known here.
void report_ignored(const Metadata& metadata, std::string_view reference, EventSink& events);

}  // namespace mist::package
