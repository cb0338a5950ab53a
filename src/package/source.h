#pragma once
// A package before it is rendered: its contents and names, the packages that it may call, and the facts that
// are read from it without running it. Pure; any thread.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "package/engine.h"
#include "package/metadata.h"
#include "wasm/module_bytes.h"

namespace mist::package {

struct ResolvedPackage;
/// By the name that the caller has for them.
using Dependencies = std::map<std::string, std::shared_ptr<const ResolvedPackage>>;

/// The signers of a package, of those by which this machine knows it.
struct KnownSigners {
  std::set<std::string> names;  ///< as trust::Memory has them
  bool verified = false;        ///< somebody verified them here
};

/// The contents of a package, and its names.
struct Source {
  std::string reference;  ///< exact, for people and for the record
  std::string name;       ///< its own name where it says none
  std::string version;    ///< of the reference; empty: unknown
  std::string digest;     ///< "sha256:…"
  /// A module, or files by relative path.
  std::variant<wasm::ModuleBytes, Files> content;
  std::string engine = {};         ///< what renders files, if the user said so; "yaml": none
  Dependencies dependencies = {};  ///< all that it declares (declared_dependencies), resolved
  /// Nothing: it isn't held to what is remembered of signers.
  std::optional<KnownSigners> signers = {};
};

/// A package, ready to be called by others. Immutable and shared; what packages call forms no cycle.
struct ResolvedPackage {
  std::string id;  ///< names it in every version: "mistletoe/databases/mariadb"
  Source source;
};

/// The dependencies that the package's metadata declares. Runs nothing: a module says so in its section.
Result<std::vector<Dependency>> declared_dependencies(const Source& source);

/// Its mistletoe.lock: a file of a directory, a section of a module that declares dependencies. Nullopt: it
/// has none. Invalid: the module can't be read.
Result<std::optional<std::string>> lock_text(const Source& source);

/// The engine that renders the package, or that it was built from; null: none. Invalid as choose_engine.
Result<const EngineKind*> engine_of(const Source& source);

}  // namespace mist::package
