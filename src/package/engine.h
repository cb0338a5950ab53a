#pragma once
// Engines: guests that came with this mistctl and render what people already write (a Helm chart, a Kustomize
// directory, templates). Which one a directory needs is seen from its files. Any thread.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "crypto/digest.h"

namespace mist::package {

using Files = std::map<std::string, std::string>;

/// How an engine's packages get their values.
enum class EngineValues : std::uint8_t {
  Input,  ///< as any package: `data` with the install's name, checked against the schema by the host
  Chart,  ///< exactly the user's values, by Helm's rules; the engine has the defaults and the schema
};

/// Whether a chart's values.schema.json is looked at; that of other packages always is.
enum class ChartSchema : std::uint8_t { Holds, Ignored };
/// The engine's option for Ignored.
inline constexpr std::string_view kSkipSchemaOption = "skipSchemaValidation";

struct EngineKind {
  std::string_view name;    ///< "helm", as in mistletoe.yaml and --engine
  std::string_view format;  ///< "Helm chart", for people
  EngineValues values = EngineValues::Input;
};

/// Of null, no.
inline bool has_chart_values(const EngineKind* engine) {
  return engine != nullptr && engine->values == EngineValues::Chart;
}

/// All that there are, in the order in which files are looked at.
std::span<const EngineKind> engine_kinds();
/// Null if there is none of that name.
const EngineKind* find_engine(std::string_view name);

/// Those that need each other: charts of kustomizations.
inline constexpr std::string_view kHelmEngine = "helm";
inline constexpr std::string_view kKustomizeEngine = "kustomize";

/// The name that stands for "no engine": plain Kubernetes YAML.
inline constexpr std::string_view kPlainYaml = "yaml";
/// The metadata of a directory.
inline constexpr std::string_view kPackageFile = "mistletoe.yaml";
/// Which versions its dependencies were resolved to (docs/formats/lock.md).
inline constexpr std::string_view kLockFile = "mistletoe.lock";

/// The only file, if it is a packed chart (.tgz): its engine unpacks it.
const std::string* packed_chart(const Files& files);

/// The engine that renders `files`; null: none, they are plain Kubernetes YAML. `wanted` (an engine's name,
/// "yaml", or empty) wins over what mistletoe.yaml says (`declared`), that over what is there. Invalid for a
/// name that is none.
Result<const EngineKind*> choose_engine(const Files& files, std::string_view wanted,
                                        std::string_view declared);

/// The engine of a directory that has a file of this name at its top ("Chart.yaml"); null: it tells nothing.
const EngineKind* engine_marked_by(std::string_view file);

/// The file at the top of a directory that holds a program's sources, and its language.
struct ProgramMark {
  std::string_view file;      ///< "go.mod"
  std::string_view language;  ///< "Go"
};
/// All that there are, in the order in which files are looked at.
std::span<const ProgramMark> program_marks();

/// For who names sources where a package is expected.
std::string build_it_first(std::string_view language, std::string_view directory);

/// A digest that was compiled into the program.
struct EngineDigest {
  std::string_view name;
  std::string_view sha256;  ///< hexadecimal
};

/// The engines on disk: `<directory>/<name>.wasm`, and compiled code in `<directory>/code`.
class EngineStore {
 public:
  /// No engine at all.
  EngineStore() = default;
  /// `digests` outlives this.
  EngineStore(Path directory, std::span<const EngineDigest> digests)
      : directory_(std::move(directory)), digests_(digests) {}

  /// NotFound if this program was built without it.
  Result<crypto::Digest> digest(std::string_view name) const;
  /// NotFound if the file isn't there, naming it.
  Result<std::string> read(std::string_view name) const;
  Path code() const { return directory_.empty() ? Path() : directory_ / "code"; }
  std::span<const EngineDigest> all() const { return digests_; }
  Path file(std::string_view name) const;

 private:
  Path directory_;
  std::span<const EngineDigest> digests_;
};

}  // namespace mist::package
