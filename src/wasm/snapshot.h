#pragma once
// Pre-initialised guests: runs a module's start-up once and makes a module that begins where that ended, with
// its memory and globals as they were left (wasmtime-wizer). Start-up code sees no input, a clock at 0 and
// random bytes of a seed of zeros, so the same module and files give the same bytes. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "wasm/file_tree.h"
#include "wasm/limits.h"
#include "wasm/runtime.h"

namespace mist::wasm {

/// Whether the prepared module can be prepared once more, with other files. Such a module exports its memory
/// and globals, and what is compiled of it is what preparing it runs: nothing else is compiled then.
enum class PrepareAgain : std::uint8_t { No, Yes };

struct SnapshotOptions {
  std::string function = "mistletoe_prepare";       ///< called after `_initialize`, if the module has that
  std::shared_ptr<const FileTree> files = nullptr;  ///< at /package; null: it is empty
  Limits limits = {};
  PrepareAgain again = PrepareAgain::No;
};

/// The prepared module. Invalid: no such function, or the module can't be prepared (it says why); Trap, with
/// the guest's last words; Cancelled. `name` stands in messages.
Result<std::string> prepare_module(Runtime& runtime, std::span<const std::byte> wasm, std::string_view name,
                                   const SnapshotOptions& options, const Context& context);

/// Where instances of a module begin that has been prepared with some files: what of its memory and globals
/// that changed. They run as the module would that prepare_module() makes with the same files, and nothing is
/// compiled for them. Any thread.
class StartImage {
 public:
  /// `module`: as PrepareAgain::Yes makes one. Invalid: it isn't; and as prepare_module().
  static Result<StartImage> make(const Module& module, const SnapshotOptions& options,
                                 const Context& context);

  /// Where instances of `base` begin to run as the module `wasm` does. `base`: bytes that PrepareAgain::Yes
  /// made. Nullopt: `wasm` differs from it in more than preparing changes: it has other code, say. No byte of
  /// `wasm` is trusted.
  static std::optional<StartImage> of_module(std::span<const std::byte> wasm,
                                             std::span<const std::byte> base);

  /// For a file that nobody else can write.
  std::string to_bytes() const;
  /// Nullopt: they are of another version of this, or damaged.
  static std::optional<StartImage> from_bytes(std::string_view bytes);

  struct Page {
    std::size_t offset;
    std::vector<std::byte> bytes;
  };
  struct Global {
    std::string name;  ///< of its export
    std::array<std::uint8_t, 16> bits;
  };
  std::size_t memory_size() const { return memory_size_; }
  const std::string& memory() const { return memory_; }  ///< the name of its export
  const std::vector<Page>& pages() const { return pages_; }
  const std::vector<Global>& globals() const { return globals_; }
  /// Its size in memory.
  std::size_t bytes() const;

 private:
  std::string memory_;
  std::size_t memory_size_ = 0;
  std::vector<Page> pages_;
  std::vector<Global> globals_;
};

}  // namespace mist::wasm
