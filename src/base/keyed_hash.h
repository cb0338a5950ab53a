#pragma once
// Hashes of texts that others chose. std::hash has a seed that everybody knows: who writes a document may
// choose keys that all fall into one place, and 40,000 of them keep a hash table busy for seconds. This is
// SipHash-1-3 with a random key for each process. Nothing that anybody sees may depend on such a hash: a
// table is never walked in its order. Any thread.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mist {

/// For std::unordered_map and its like, too.
class KeyedHash {
 public:
  struct Key {
    std::uint64_t low = 0, high = 0;
  };

  /// With the key of this process.
  KeyedHash();
  explicit KeyedHash(Key key) : key_(key) {}

  // Not noexcept: libstdc++ stores the hashes of only those functions that may throw, and without them
  // computes them again at each look into its table.
  std::size_t operator()(std::string_view text) const;

 private:
  Key key_;
};

}  // namespace mist
