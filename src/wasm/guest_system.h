#pragma once
// The system that a guest sees through WASI, all of it an argument: the same values give the same output.
// Plain values.

#include <memory>
#include <string>

#include "base/clock.h"
#include "crypto/random_stream.h"
#include "wasm/file_tree.h"

namespace mist::wasm {

struct GuestSystem {
  WallTime wall_clock{};                  ///< what the guest's clock says, for as long as it runs
  crypto::Seed seed{};                    ///< all its random bytes come from this
  std::shared_ptr<const FileTree> files;  ///< what it sees at /package; null: there is no /package
  /// The name of the stream that its random bytes come from now; its owner may change it between two draws.
  /// Null or empty: the stream without a name.
  std::shared_ptr<const std::string> stream = nullptr;
};

}  // namespace mist::wasm
