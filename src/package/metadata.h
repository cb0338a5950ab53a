#pragma once
// The metadata of a package (`kind: MistPackage`), read without running it. Plain values; any thread.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::package {

using encoding::Value;

struct Dependency {
  std::string name;     ///< what the package calls it
  std::string package;  ///< a reference without version
  std::string version;  ///< a range
};

/// The feature of packages whose engine is another file.
inline constexpr std::string_view kNamedEngine = "engine.named";

/// The features that a package may require by name (`spec.requires`).
inline constexpr std::array<std::string_view, 8> kFeatures{
    "chart.render", "engine.named", "log", "lookup", "order", "package.call", "random.stream", "secret.get"};

struct Metadata {
  std::string name;  ///< the package's own name
  std::map<std::string, std::string> labels;
  std::string version;  ///< empty: not said
  std::string description;
  std::string home;
  std::vector<std::string> maintainers;
  Value inputs;   ///< JSON Schema of `data`; null: none
  Value exports;  ///< JSON Schema; null: none
  std::vector<Dependency> dependencies;
  std::vector<std::string> needs_cluster_read;
  bool needs_release = false;
  std::string engine;         ///< of a directory: what renders it; empty: seen from its files
  std::string engine_digest;  ///< of a module that has its engine elsewhere; empty: it has it in itself
  Value engine_options;       ///< an object for the engine, as its README says; null: none
  std::string values_file;    ///< values.yaml as its author wrote it, comments and all; empty: none
  Value defaults;   ///< of a directory: those that its engine lays under the values (values.yaml); else null
  Value functions;  ///< v1alpha1: which exports are called (abi/v1alpha1/library.h); an object, else null
  std::vector<std::string> required_features;  ///< all of them are in kFeatures
  /// Members that this mistctl does not know, by their paths: "spec.colour", "spec.inpts (did you mean
  /// inputs?)".
  std::vector<std::string> ignored;
  bool original = false;  ///< the document is of v1alpha1

  /// From the document. Unknown members are ignored: others write documents of v1alpha1, and newer packages
  /// may say more in v1. Invalid: wrong types; a feature in `spec.requires` that this mistctl doesn't have.
  /// `where` is what the package is called in messages.
  static Result<Metadata> parse(const Value& document, std::string_view where);
  /// For authors, who are there to correct it: an unknown member is Invalid, naming it.
  static Result<Metadata> parse_strictly(const Value& document, std::string_view where);
  Value to_value() const;
};

}  // namespace mist::package
