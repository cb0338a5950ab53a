#pragma once
// An index of packages: what a registry says of its packages, for searching. Its text is one JSON object in
// each line, packages ascending by path, so that versions of it differ in few lines (docs/formats/index.md).
// It is untrusted: names are checked, everything is bounded. Plain values; any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::search {

/// Bounds of an index. A larger one is Invalid.
inline constexpr std::uint64_t kMostIndexBytes = std::uint64_t{128} << 20;
inline constexpr std::size_t kMostEntries = 200'000;
/// The name of a registry's index in git, and its repository and tag in OCI registries.
inline constexpr std::string_view kIndexFile = "mistletoe-index.jsonl";
inline constexpr std::string_view kIndexRepository = "mistletoe-index";
inline constexpr std::string_view kIndexTag = "v1";

struct Entry {
  std::string path;     ///< in its registry: "databases/mariadb"
  std::string version;  ///< the newest
  std::string digest;   ///< of that version's content or manifest; empty: not said
  std::string title;    ///< what the package calls itself
  std::string description;
  std::string home;
  std::string format;                 ///< "Helm chart"
  std::vector<std::string> versions;  ///< newest first; some of them
  std::vector<std::string> keywords;
  std::vector<std::string> maintainers;
  std::vector<std::string> kinds;  ///< of the objects that it makes with its default values: "Deployment"
  friend bool operator==(const Entry&, const Entry&) = default;

  std::string name() const { return path.substr(path.rfind('/') + 1); }
  encoding::Value to_value() const;
  /// Longer texts are cut. Errors: Invalid (no path or version that a reference could have).
  static Result<Entry> parse(const encoding::Value& value);
};

/// Whether readers take the line of `entry`; they leave out what is longer. Errors: Invalid.
Status check_line(const Entry& entry);
/// Whether readers take an index with that many packages and bytes, in all shards together. `most`: where
/// they take fewer bytes. Errors: Invalid.
Status check_size(std::size_t entries, std::uint64_t bytes, std::uint64_t most = kMostIndexBytes);

/// The text of an index; `entries` in any order. The same entries give the same bytes.
std::string to_index(std::vector<Entry> entries);

struct Index {
  std::vector<Entry> entries;
  std::size_t left_out = 0;  ///< lines that are no package, or one that is there already
};
/// `place`: for messages. Errors: Invalid (no index, a newer one, beyond a bound).
Result<Index> parse_index(std::string_view text, std::string_view place);

/// In which of `count` shards a package is.
std::size_t shard_of(std::string_view path, std::size_t count);

}  // namespace mist::search
