#pragma once
// Renders packages: source and values in, Kubernetes objects out, by way of the sandbox. The result is a
// function of the request alone. Any thread; the WebAssembly runtime starts with the first package that needs
// it.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "apimachinery/object.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "package/engine.h"
#include "package/host.h"
#include "package/metadata.h"
#include "package/objects.h"
#include "package/pre_install.h"
#include "wasm/compiler.h"
#include "wasm/limits.h"
#include "wasm/module_bytes.h"
#include "wasm/world.h"

namespace mist::package {

struct ResolvedPackage;
/// By the name that the caller has for them.
using Dependencies = std::map<std::string, std::shared_ptr<const ResolvedPackage>>;

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
};

/// A package, ready to be called by others. Immutable and shared; what packages call forms no cycle.
struct ResolvedPackage {
  std::string id;  ///< names it in every version: "mistletoe/databases/mariadb"
  Source source;
};

struct Capabilities {
  std::string kube_version;               ///< "v1.36.3"
  std::vector<std::string> api_versions;  ///< "v1", "apps/v1", …
  bool assumed = false;                   ///< no cluster was asked: engines use what their peers assume
  std::vector<std::string> kinds = {};    ///< "v1/Pod", "apps/v1/Deployment", …; only charts are told
};

class CallTree;

/// Between the names of a path of packages: "platform → mariadb".
inline constexpr std::string_view kPackageArrow = " → ";

/// An edge of the calls during a render: its caller, and the called package.
struct CallEdge {
  std::string caller_id = {};       ///< ResolvedPackage::id; empty: the release's own package
  std::string caller_install = {};  ///< its data.name; empty: the release's own package
  std::string name;                 ///< what the caller calls the other: of spec.dependencies
  std::string id;
  std::string install;
  std::string version;  ///< empty: it says none
  friend bool operator==(const CallEdge&, const CallEdge&) = default;
};

/// How a package came to be rendered that isn't the release's own.
struct CalledAs {
  std::string id;
  std::string install;            ///< its data.name
  std::vector<std::string> path;  ///< names, from the release's package to this one
  crypto::Seed release_seed{};    ///< RenderRequest::seed is its own, derived from this one
  std::shared_ptr<CallTree> tree;
};

struct RenderRequest {
  std::string release_name;
  std::string release_namespace;
  Value user_values;  ///< an object
  crypto::Seed seed{};
  Rotations rotations = {};  ///< of secrets
  WallTime clock{};
  bool quiet = false;  ///< what the guest logs isn't shown
  bool often = false;  ///< the same files are rendered again and again: what an engine makes of them is kept
  int revision = 0;
  bool is_upgrade = false;
  std::map<std::string, SecretString> hidden = {};  ///< printed by nobody, beside what the package draws
  /// For engines, as their README says; an object.
  Value engine_options = Value::object();
  /// Answers what packages look up in the cluster; null: that is an error.
  Lookup lookup = nullptr;
  std::optional<CalledAs> called = {};  ///< nullopt: the release's own package
  /// Questions of a Kube's script are asked although they have a default: a person is there to answer.
  bool interactive = false;
  /// Runs a Kube's script that the sandbox can't run; null: that is an error.
  RunOnHost run_on_host = nullptr;
  /// Asked only for packages whose ABI is given it.
  std::function<Result<Capabilities>()> capabilities;
};

struct Rendered {
  Metadata metadata;
  std::map<std::string, std::string> files;  ///< as the package gave them
  FileOrigins origins;                       ///< of those that an engine made, as far as it knows
  std::vector<apimachinery::RenderedObject> objects;
  Value exports;
  std::string message;                          ///< for the user, after installing; escape it before printing
  std::uint64_t drawn = 0;                      ///< random bytes that the guest drew
  std::map<std::string, SecretString> secrets;  ///< by name: what it asked its host for
  std::map<std::string, SecretString> looked_up;  ///< values_of_secrets() of what was looked up
  std::vector<Exchange> asked;                    ///< of its host, by digest
  std::string engine;                             ///< what rendered it, if it is a directory
  std::optional<std::string> print;               ///< of an engine with the option `print`
  Value missing;                                  ///< of an engine: what isn't there; a list, else null
  Value unknown;                               ///< of an engine: values that nobody reads; a list, else null
  std::vector<Answer> answers = {};            ///< of the values, to questions of a Kube's script
  Value package;                               ///< of an engine with the option `inspect`: what it sees
  std::shared_ptr<const CallTree> calls = {};  ///< null: nothing was called
};

/// Each pair of packages once, in the order of the calls.
std::vector<CallEdge> calls_of(const Rendered& rendered);

/// The error, with the text of the template's line that it names, if the package has it as a file. Files that
/// passed through an engine as they were written aren't shown: they may be secret.
Error with_excerpt(Error failure, const Source& source, const FileOrigins& origins);

struct Inspection {
  Metadata metadata;
  std::string format;  ///< "v1alpha1", "v1 command", "Kubernetes YAML", "Helm chart"
  std::size_t bytes = 0;
  std::string engine = {};         ///< its name, if it has one
  std::string engine_digest = {};  ///< "sha256:…"
  /// Of the engine with that name that this program came with; empty: there is none.
  std::string engine_here = {};
};

struct RendererOptions {
  Path code_cache = {};  ///< directory of compiled code; empty: none
  wasm::Limits limits = {};
  wasm::Limits engine_limits = {};
  std::size_t stack_bytes = std::size_t{1} << 20;         ///< of guest calls
  std::size_t engine_stack_bytes = std::size_t{4} << 20;  ///< of an engine's
  EngineStore engines = {};
  bool cache_for_all = false;  ///< everybody may read what is compiled: for an installation
  Path render_cache = {};      ///< directory of renders; empty: none
  std::uint64_t render_cache_bytes = RenderCache::kDefaultBytes;
  Random* random = nullptr;  ///< for sealing renders; outlives the renderer. Null: no render cache
  Pulse* pulse = nullptr;    ///< for running guests; outlives the renderer. Null: they have a thread
  /// Null: modules are compiled in this process, without limits of memory and time.
  std::shared_ptr<wasm::Compiler> compiler = nullptr;
};

/// One run of an engine, as a render begins it: for whoever runs it elsewhere, such as a browser.
struct EngineRun {
  std::string_view engine;  ///< its name; empty: the module runs by itself
  std::string input;        ///< the document on its standard input
  bool is_script = false;   ///< it runs pre-install.py; the next run sees the files that this left
};

/// Where the engine of a built package is.
enum class BuiltEngine : std::uint8_t { Contained, Named };

class Renderer {
 public:
  /// `events` outlives the renderer.
  Renderer(RendererOptions options, EventSink& events);
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;
  ~Renderer();

  /// Errors: Invalid (values against the schema, each with its path; what the package itself refused; output
  /// that can't be understood, with file and line), Trap (the sandbox's limits), Cancelled.
  Result<Rendered> render(const Source& source, const RenderRequest& request, const Context& context);
  /// Only what is needed for `generate -o raw`: files, not objects.
  Result<Rendered> render_files(const Source& source, const RenderRequest& request, const Context& context);
  /// Runs the script of a Kube (has_pre_install) in the sandbox, as render does first, and renders nothing.
  /// Errors as render: Invalid where the script failed, asks what the values don't answer, or needs more than
  /// the sandbox has.
  Result<ScriptResult> run_pre_install(const Source& source, const RenderRequest& request,
                                       const Context& context);
  /// Metadata and format; runs nothing unless the ABI has no other way.
  Result<Inspection> inspect(const Source& source, const Context& context);
  /// One module that renders `source`, a directory, by itself: its engine with the files parsed in its memory
  /// and the metadata in its section; or, Named, one with the files and the metadata alone, which renders the
  /// same wherever an engine with that digest is. The same source gives the same bytes. Invalid: it is a
  /// module already, or Kubernetes YAML, or its engine refuses it; Trap, Cancelled.
  Result<std::string> build(const Source& source, BuiltEngine engine, const Context& context);
  /// The runs that render a module: of the engine that it names (BuiltEngine::Named), or its own. Nothing is
  /// run here. Errors as render: Invalid (values against the schema; another engine; it has no metadata).
  Result<std::vector<EngineRun>> engine_runs(const Source& source, const RenderRequest& request) const;
  /// The things that the package names elsewhere and doesn't have, as its engine says
  /// (engines/kustomize/README.md): a list, perhaps empty. Other problems of the package are reported by
  /// rendering. Errors: Trap, NotFound (the engine), Cancelled.
  Result<Value> missing(const Source& source, const Context& context);
  /// With what a program answers a MistDescribe document: `inputs` and perhaps `exports`, the schemas that
  /// its source has and its metadata need not repeat. Invalid: it doesn't answer so; Trap, Cancelled.
  Result<Value> describe(const Source& source, const Context& context);
  /// Makes the engine's code ready, so that nobody waits for it later.
  Status compile_engine(std::string_view name);

 private:
  struct Impl;

  std::unique_ptr<Impl> impl_;
};

/// The dependencies that the package's metadata declares. Runs nothing: a module says so in its section.
Result<std::vector<Dependency>> declared_dependencies(const Source& source);

/// Its mistletoe.lock: a file of a directory, a section of a module that declares dependencies. Nullopt: it
/// has none. Invalid: the module can't be read.
Result<std::optional<std::string>> lock_text(const Source& source);

/// The engine that renders the package, or that it was built from; null: none. Invalid as choose_engine.
Result<const EngineKind*> engine_of(const Source& source);

}  // namespace mist::package
