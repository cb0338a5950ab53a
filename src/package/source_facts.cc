#include "package/source_facts.h"

#include <string>
#include <utility>
#include <variant>

#include "abi/abi.h"
#include "base/text.h"
#include "crypto/digest.h"
#include "package/pre_install.h"
#include "package/tree_metadata.h"

namespace mist::package {

Result<SourceTree> look_at(const Source& source) {
  SourceTree tree{source, std::get<Files>(source.content)};
  MIST_TRY(tree.declared,
           declared_metadata(tree.files).in(fmt::format("while reading {}", source.reference)));
  MIST_TRY(tree.engine, choose_engine(tree.files, source.engine, tree.declared ? tree.declared->engine : ""));
  return tree;
}

Result<std::optional<BuiltModule>> built_from(const Source& source, const std::optional<Value>& document) {
  const EngineKind* const engine = document ? find_engine(document->string_at({"spec", "engine"})) : nullptr;
  if (engine == nullptr) return std::optional<BuiltModule>();
  MIST_TRY(Metadata metadata, metadata_from(*document, source));
  return std::optional(BuiltModule{*engine, std::move(metadata)});
}

Result<std::optional<BuiltModule>> built_from(const Source& source, const wasm::ModuleBytes& module) {
  MIST_TRY(const std::optional<Value> document, abi::read_metadata(module, source.reference));
  return built_from(source, document);
}

Status check_engine(const Source& source, const BuiltModule& built, const EngineStore& engines) {
  const Result<crypto::Digest> here = engines.digest(built.engine.name);
  if (here.ok() && here->str() == built.metadata.engine_digest) return {};
  return error(ErrorKind::Invalid, "{} needs the engine {} {}", source.reference, built.engine.name,
               escape_controls(built.metadata.engine_digest))
      .with_because(
          here.ok() ? fmt::format("the engine that came along here is {} {}", built.engine.name, here->str())
                    : fmt::format("no engine {} came along here", built.engine.name))
      .with_hint("use the mistctl that built it, or build it again: without --thin it contains its engine");
}

Metadata plain_metadata(const Source& source) {
  Metadata metadata;
  metadata.name = source.name;
  metadata.version = source.version;
  return metadata;
}

Result<Metadata> metadata_from(const Value& document, const Source& source) {
  MIST_TRY(Metadata metadata, Metadata::parse(document, source.reference));
  if (metadata.version.empty()) metadata.version = source.version;
  return metadata;
}

// Templates can always name the revision, also from values that they take for templates.
// A program asks for it (spec.needs.release).
bool sees_the_revision(const EngineKind& engine) {
  return engine.name != kKustomizeEngine && engine.name != kPythonEngine;
}

// The original format belongs to others, who may add to it as they like.
void report_ignored(const Metadata& metadata, std::string_view reference, EventSink& events) {
  if (metadata.ignored.empty()) return;
  const std::string words =
      fmt::format("the metadata of {} has {} that this mistctl does not know and ignores: {}", reference,
                  plural(metadata.ignored.size(), "member"), join(metadata.ignored, ", "));
  if (metadata.original)
    events.debug(words);
  else
    events.warn(words);
}

}  // namespace mist::package
