#pragma once
// The bytes of a WebAssembly module or component: in memory, or in a file of which everything that a run with
// compiled code needs is known, so that tens of megabytes are read only by who compiles them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/digest.h"
#include "wasm/binary.h"

namespace mist::wasm {

/// A cheap copy that shares the bytes; any thread.
class ModuleBytes {
 public:
  using Read = std::function<Result<std::string>()>;

  /// Bytes in memory, of any kind: what they are is seen when something is read from them.
  ModuleBytes(std::string bytes = {});  // NOLINT(google-explicit-constructor): they are its value
  /// The same, hashed already.
  ModuleBytes(std::string bytes, const crypto::Digest& digest);
  /// A module that is read when it is needed: `read` gives the `size` bytes with that digest and that section
  /// kPackageSection, or an error.
  ModuleBytes(const crypto::Digest& digest, std::uint64_t size, BinaryKind kind,
              std::optional<std::string> package_section, Read read);

  const crypto::Digest& digest() const;  ///< SHA-256
  std::uint64_t size() const;
  /// As binary_kind.
  Result<BinaryKind> kind(std::string_view name) const;
  /// As custom_section, of kPackageSection; valid as long as any copy of this lives.
  Result<std::optional<std::string_view>> package_section(std::string_view name) const;
  /// All of them; read again each time if they aren't in memory.
  Result<std::shared_ptr<const std::string>> bytes() const;

  friend bool operator==(const ModuleBytes& a, const ModuleBytes& b) { return a.digest() == b.digest(); }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mist::wasm
