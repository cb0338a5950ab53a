#pragma once
// The answers with an index of all packages, made once for all clients after they changed: /api/v1/index,
// which kpm reads, and /mistletoe-index.jsonl, which `mistctl search` reads. For many packages that takes a
// second, so one thread makes them while the others give the ones before, and a catalog that changes all the
// time spends a tenth of its time with it. Any thread.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "catalog/store.h"

namespace mist::catalog {

/// A part of the index for search (registry/index_shards.h).
struct IndexShard {
  std::string plain, packed;  ///< `packed`: in gzip
};

struct IndexText {
  std::int64_t revision = -1;  ///< Store::index_revision
  std::string etag = {}, plain = {};
  std::string packed = {};  ///< in gzip
  std::string shards = {};  ///< registry::ShardList; only of the index for search
  std::map<std::string, std::shared_ptr<const IndexShard>, std::less<>> shard_of = {};  ///< by digest
};

/// The text of an index, with the Store::index_revision that it is of. Errors: of the store.
using IndexWriter = Result<std::pair<std::int64_t, std::string>> (*)(Store& store);
/// Every Kube that passed its test, as JSON.
Result<std::pair<std::int64_t, std::string>> index_for_kpm(Store& store);
/// Every package with a version that passed, as search::to_index has it. Longer lines than readers take are
/// left out. Also Internal: the whole is larger than readers take.
Result<std::pair<std::int64_t, std::string>> index_for_search(Store& store);

enum class Sharded : bool { No, Yes };

class IndexTexts {
 public:
  IndexTexts(Store& store, const Clock& clock, IndexWriter write, Sharded sharded = Sharded::No)
      : store_(store), clock_(clock), write_(write), sharded_(sharded) {}

  /// Waits only where there is none yet. Errors: of the store.
  Result<std::shared_ptr<const IndexText>> now();

 private:
  // `before`: its shards that haven't changed are taken; may be null.
  Result<std::shared_ptr<const IndexText>> make(const IndexText* before) const;

  Store& store_;
  const Clock& clock_;
  const IndexWriter write_;
  const Sharded sharded_;
  std::mutex mutex_;  // guards all below
  std::condition_variable made_one_;
  std::shared_ptr<const IndexText> made_;
  bool is_making_ = false;
  SteadyTime not_before_{};  // the next one
};

}  // namespace mist::catalog
