#pragma once
// Guests that are ready to run. Packages and engines have a runtime each, which starts with the first guest
// that needs it. Keeps what engines made of files that are rendered again and again. Any thread.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "abi/abi.h"
#include "base/context.h"
#include "base/event.h"
#include "base/result.h"
#include "package/renderer_options.h"
#include "package/source_facts.h"
#include "package/start_images.h"
#include "wasm/file_tree.h"
#include "wasm/module_bytes.h"
#include "wasm/runtime.h"
#include "wasm/snapshot.h"

namespace mist::package {

/// A guest that is ready to run, and what it will see.
struct Started {
  std::unique_ptr<abi::Guest> guest;
  std::shared_ptr<const wasm::FileTree> files = nullptr;    ///< at /package; null: there is no such directory
  std::shared_ptr<const wasm::StartImage> image = nullptr;  ///< null: it begins as the module does
};

class Guests {
 public:
  /// Both outlive this.
  Guests(const RendererOptions& options, EventSink& events);

  /// Of a package that is a program. Invalid as abi::open.
  Result<std::unique_ptr<abi::Guest>> open(const Source& source, const wasm::ModuleBytes& module);
  /// The engine of a directory, and its files. `often`: what it makes of them is kept. NotFound: the engine
  /// isn't here; Cancelled.
  Result<Started> start(const SourceTree& tree, bool often, const Context& context);
  /// A module that contains an engine and the files that it has parsed. `often` as above.
  Result<Started> start_built(const Source& source, const wasm::ModuleBytes& module, std::string_view engine,
                              bool often);

  /// NotFound: it isn't here. `often`: it stays loaded.
  Result<wasm::Module> load_engine(std::string_view name, bool often = false);
  /// Where engines run, for what is made of their code.
  Result<wasm::Runtime*> engine_runtime() { return engines_.start(); }

 private:
  // A runtime that starts when it is first needed.
  class LazyRuntime {
   public:
    LazyRuntime(wasm::RuntimeOptions options, EventSink& events)
        : options_(std::move(options)), events_(events) {}

    Result<wasm::Runtime*> start();

   private:
    wasm::RuntimeOptions options_;
    EventSink& events_;
    std::mutex mutex_;
    std::optional<wasm::Runtime> runtime_;  // guarded by mutex_ until made; then any thread
  };

  std::shared_ptr<const wasm::StartImage> new_image(const wasm::Module& module, const std::string& key,
                                                    const std::shared_ptr<const wasm::FileTree>& files,
                                                    const Context& context);

  const RendererOptions& options_;
  EventSink& events_;
  LazyRuntime packages_;
  LazyRuntime engines_;
  StartImages images_{std::size_t{128} << 20};
  std::mutex loaded_mutex_;
  std::map<std::string, wasm::Module, std::less<>> loaded_;  // engines that stay, by name; guarded
};

}  // namespace mist::package
