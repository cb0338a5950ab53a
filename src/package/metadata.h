#pragma once
// What a package says of itself (`kind: MistPackage`), read without running it. Plain values; any thread.

#include <map>
#include <optional>
#include <string>
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
  std::string engine;       ///< of a directory: what renders it; empty: seen from its files
  Value engine_options;     ///< an object for the engine, as its README says; null: none
  std::string values_file;  ///< values.yaml as its author wrote it, comments and all; empty: none
  Value defaults;  ///< of a directory: those that its engine lays under the values (values.yaml); else null

  /// From the document. Strict: an unknown member is Invalid, naming it, as are wrong types. `where` is what
  /// the package is called in messages.
  static Result<Metadata> parse(const Value& document, std::string_view where);
  Value to_value() const;
};

}  // namespace mist::package
