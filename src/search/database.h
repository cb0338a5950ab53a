#pragma once
// Database: the indexes of all registries in SQLite, on this machine. A file in the cache, of which nothing
// is lost when it is: what can't be read is removed and made again, empty. Updates are whole or not at all,
// even if the machine stops in the middle. One thread; many processes at once.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "search/entry.h"
#include "search/query.h"

namespace mist::search {

/// The stored index of one registry.
struct Source {
  std::string state;                          ///< of the whole: a commit, a digest of a manifest
  WallTime checked;                           ///< when that was last compared with the registry
  std::map<std::string, std::string> shards;  ///< by name, what each was: a digest, an object id
};

using Sources = std::map<std::string, Source>;  ///< by registry

/// A shard to be stored. The others of its registry, as far as they are named, stay.
struct Shard {
  std::string name;
  std::string digest;
  std::vector<Entry> entries;
};

struct Hit {
  std::string registry;
  Entry entry;
};

/// Detail of an Error: the file is damaged. Database::remove() and another open() help.
struct DamagedDatabase {};

class Database {
 public:
  /// Makes the file where it is missing; one that is no database, or of another version, is replaced. Errors:
  /// Internal (with DamagedDatabase, or of the disk), Retryable (another process holds it for long).
  static Result<Database> open(FileSystem& files, const Path& file);
  /// With what SQLite keeps beside it.
  static Status remove(FileSystem& files, const Path& file);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  // Errors of all: as open.

  Result<Sources> sources();
  /// In one transaction: stores `shards`, and forgets those of `registry` that `all` (the digest of each, by
  /// name) doesn't name. If what is stored then isn't `all`, since another process has changed it since
  /// sources(), the state is empty: the whole has to be read again. Errors: also Invalid, and nothing changes
  /// (with the shards that stay, the index is beyond a bound).
  Status store(const std::string& registry, const std::string& state, WallTime now,
               const std::vector<Shard>& shards, const std::map<std::string, std::string>& all);
  /// The same state was found again.
  Status touch(const std::string& registry, WallTime now);
  Status forget(const std::string& registry);

  /// Best first: a package whose name is what was typed, then one whose name begins so, then by words (BM25;
  /// the name counts most), then by name. Of the same rank ascending.
  Result<std::vector<Hit>> find(const Query& query);

 private:
  struct Open;
  explicit Database(std::unique_ptr<Open> open);
  std::unique_ptr<Open> open_;
};

}  // namespace mist::search
