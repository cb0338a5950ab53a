#pragma once
// The settings of a Renderer: limits, places on disk, and what compiles and seals for it. Plain values.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fs.h"
#include "base/pulse.h"
#include "base/random.h"
#include "package/engine.h"
#include "package/render_cache.h"
#include "wasm/compiler.h"
#include "wasm/limits.h"

namespace mist::package {

/// An engine does more than one package's work: it parses every file first, and holds it in memory. The same
/// in every program, so that a blueprint or a package that `mistctl` can check is no trouble for the
/// operator.
inline constexpr wasm::Limits kEngineLimits{.memory_bytes = std::uint64_t{512} << 20,
                                            .guest_time = std::chrono::seconds(60)};

struct RendererOptions {
  Path code_cache = {};  ///< directory of compiled code; empty: none
  std::uint64_t code_cache_bytes = std::uint64_t{1} << 30;
  wasm::Limits limits = {};
  wasm::Limits engine_limits = kEngineLimits;
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

}  // namespace mist::package
