#pragma once
// The modules that a browser needs to render a version itself: the version as one WebAssembly module that
// holds its files and names its engine (as `mistctl package build --thin` makes it), and the engines; or the
// module that a version is, with a bound on its memory. They are made once, by one thread beside the
// requests, and kept in files named by their digests; beside them, for each version, what its preview is, and
// whose. Why files and engines are apart: README.md. Any thread.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/context.h"
#include "base/event.h"
#include "catalog/blobs.h"
#include "catalog/model.h"
#include "catalog/shared_bytes.h"
#include "package/renderer.h"

namespace mist::catalog {

/// A module as it is served.
struct ServedModule {
  std::string digest = {};         ///< "sha256:…"
  std::uint64_t bytes = 0;         ///< of the module
  std::string packed = {};         ///< digest of it in gzip; empty: that doesn't pay
  std::uint64_t packed_bytes = 0;  ///< on the way, where it is packed

  std::uint64_t transfer() const { return packed.empty() ? bytes : packed_bytes; }
};

enum class PreviewState : std::uint8_t { Preparing, Ready, Impossible };

struct Preview {
  PreviewState state = PreviewState::Preparing;
  std::string problem = {};  ///< Impossible: why, a sentence without a full stop
  ServedModule module = {};  ///< Ready
  std::string facts = {};    ///< Ready: digest of a module with its metadata; it is small
};

/// One run of an engine, or of the version's own module. A browser does all of them, in order.
struct PreviewRun {
  package::EngineRun run;
  ServedModule engine;
};

/// A version by its names.
struct VersionName {
  std::string package = {}, version = {};
  auto operator<=>(const VersionName&) const = default;
};

class Previews {
 public:
  /// A module of a version that is larger on the way isn't served. The largest engine has 7.4 MB there: a
  /// package shouldn't be what a person waits for.
  static constexpr std::uint64_t kMostModuleBytes = std::uint64_t{8} << 20;
  /// Of an engine's memory in a browser; also what mistctl gives an engine in a catalog.
  static constexpr std::uint64_t kMemoryBytes = std::uint64_t{512} << 20;
  static constexpr std::size_t kMostQueued = 100;

  struct Dependencies {
    FileSystem& files;
    Blobs& packages;                   ///< the versions' bytes
    SharedBytes& shared;               ///< what is sent
    Path directory;                    ///< for what is made; may be deleted while nothing runs
    package::RendererOptions options;  ///< with the engines
    EventSink& events;
    Duration longest = std::chrono::minutes(2);  ///< for one module
    Duration again =
        std::chrono::minutes(1);  ///< until what failed for reasons of the catalog is tried again
  };
  explicit Previews(Dependencies dependencies);
  ~Previews();
  Previews(const Previews&) = delete;
  Previews& operator=(const Previews&) = delete;

  /// Never waits: what isn't made yet is asked for, and Preparing.
  Preview of(const Version& version);
  /// The runs that render it with these values. `reference` names it in errors. Errors: Invalid, where the
  /// values don't fit; Retryable: it isn't ready.
  Result<std::vector<PreviewRun>> runs(const Version& version, const std::string& reference,
                                       const encoding::Value& values);
  /// The bytes with this digest, if they are a module (or one in gzip) that was made here. NotFound.
  Result<std::shared_ptr<const std::string>> bytes(const std::string& digest);
  /// The versions of which the module with this digest was made, also before this program began; none: it is
  /// an engine. nullopt: no module with this digest is known. The first call reads what is kept of all.
  std::optional<std::vector<VersionName>> made_of(const std::string& digest);
  /// A module's, in gzip; empty: there is none.
  std::string packed_digest(const std::string& digest) const;

 private:
  struct Wanted {
    std::string key, package, version, digest;
  };
  struct Made {
    Preview preview;
    std::vector<std::string> engines;  // names; none of a module that runs by itself
    VersionName version = {};
    std::vector<std::string> engine_modules = {};  // digests of these engines, as they are served
  };
  struct Known {
    Preview preview;
    SteadyTime again = SteadyTime::max();  // when it is made once more
  };
  void work(const std::stop_token& stop);
  Known make(const Wanted& wanted, const Context& context);
  Result<Made> made(const Wanted& wanted, const Context& context);
  Result<Made> build(const Wanted& wanted, const Context& context);
  Result<Made> build_of_files(const package::Source& source, const Context& context);
  Result<Made> build_of_module(const package::Source& source);
  Result<Made> with_engines(const package::Source& source, const std::string& module, std::string_view engine,
                            const package::Files& files);
  Result<ServedModule> served_engine(std::string_view name);
  Result<ServedModule> keep(const std::string& module, std::uint64_t most_on_the_way);
  Result<Made> build_or_why_not(const Wanted& wanted, const Context& context);
  Path file_of(const std::string& key) const { return dependencies_.directory / (key + ".json"); }
  // The preview that the file keeps of a version; nullopt: there is none, or a module of it is missing.
  std::optional<Made> kept(const Path& file) const;
  void keep_made(const Path& file, const Made& made);
  // Its modules may be served from now on.
  void note(const Made& made);
  void note_all_kept();
  std::string key_of(const Version& version) const;

  Dependencies dependencies_;
  FileBlobs modules_;
  package::Renderer renderer_;
  mutable std::mutex mutex_;
  std::condition_variable_any more_;
  std::deque<Wanted> queue_;                                  // guarded by mutex_, as is what follows
  std::map<std::string, Known> known_;                        // by key
  std::map<std::string, ServedModule, std::less<>> engines_;  // by name
  std::map<std::string, std::string> packed_;                 // by the module's digest
  std::map<std::string, std::set<VersionName>> made_of_;      // by a module's digest
  std::set<std::string> engine_modules_;                      // digests
  std::once_flag all_noted_;
  std::jthread thread_;
};

}  // namespace mist::catalog
