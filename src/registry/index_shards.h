#pragma once
// An index of packages (docs/formats/index.md) in 16 parts, divided as the index artifacts of OCI registries
// are: a reader who has an older index fetches only the parts that have changed. Catalogs serve the parts,
// and CatalogView reads them. Pure; any thread.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::registry {

inline constexpr std::size_t kIndexShards = 16;
/// Of a catalog: which shards its index has now, and, followed by a digest, one of them.
inline constexpr std::string_view kIndexShardsPath = "/mistletoe-index/v1";
inline constexpr std::string_view kIndexShardPath = "/mistletoe-index/shards/";

/// The text of each shard: the first line of `index`, and the lines of its packages in their order. A package
/// is in the shard FNV-1a-64(path) mod 16; a line without a path is in the first one.
std::vector<std::string> index_shards(std::string_view index);

/// The index that has these shards, with its packages ascending by path. Errors: Invalid (their first lines
/// differ, or there is none).
Result<std::string> joined_index(std::span<const std::string> shards);

/// The list of shards that a catalog gives out.
struct ShardList {
  std::string digest;               ///< of the whole index, "sha256:…"
  std::vector<std::string> shards;  ///< the digest of each, kIndexShards of them

  std::string to_text() const;
  /// Errors: Invalid.
  static Result<ShardList> parse(std::string_view text);
};

}  // namespace mist::registry
