#pragma once
// How large the caches on disk may become. Plain values, any thread.

#include <cstdint>
#include <optional>
#include <string_view>

namespace mist::config {

/// In bytes, for each cache; beyond that, what was used longest ago is removed.
struct CacheLimits {
  std::uint64_t packages = std::uint64_t{1} << 30;    ///< packages by digest
  std::uint64_t registries = std::uint64_t{4} << 30;  ///< snapshots of git registries
  std::uint64_t code = std::uint64_t{1} << 30;        ///< compiled code
  std::uint64_t renders = std::uint64_t{256} << 20;   ///< finished renders

  /// The same, but all of them together no more than `whole`, which is shared out; nothing: no bound. A cache
  /// that is smaller anyway stays so.
  CacheLimits within(std::optional<std::uint64_t> whole) const;

  friend bool operator==(const CacheLimits&, const CacheLimits&) = default;
};

/// "512Mi", "2Gi", in Ki, Mi, Gi or Ti; nothing: it is no such size.
std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace mist::config
