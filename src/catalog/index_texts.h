#pragma once
// The answers with an index of all packages, made once for all clients after they changed: /api/v1/index,
// which kpm reads, and /mistletoe-index.jsonl, which `mistctl search` reads. For many packages that takes a
// second, so one thread makes them while the others give the ones before, and a catalog that changes all the
// time spends a tenth of its time with it. Any thread.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "catalog/store.h"

namespace mist::catalog {

struct IndexText {
  std::int64_t revision = -1;  ///< Store::index_revision
  std::string etag = {}, plain = {};
  std::string packed = {};  ///< in gzip
};

/// The text of an index, with the Store::index_revision that it is of. Errors: of the store.
using IndexWriter = Result<std::pair<std::int64_t, std::string>> (*)(Store& store);
/// Every Kube that passed its test, as JSON.
Result<std::pair<std::int64_t, std::string>> index_for_kpm(Store& store);
/// Every package with a version that passed, as search::to_index has it. Longer lines than readers take are
/// left out. Also Internal: the whole is larger than readers take.
Result<std::pair<std::int64_t, std::string>> index_for_search(Store& store);

class IndexTexts {
 public:
  IndexTexts(Store& store, const Clock& clock, IndexWriter write)
      : store_(store), clock_(clock), write_(write) {}

  /// Waits only where there is none yet. Errors: of the store.
  Result<std::shared_ptr<const IndexText>> now();

 private:
  Result<std::shared_ptr<const IndexText>> make() const;

  Store& store_;
  const Clock& clock_;
  const IndexWriter write_;
  std::mutex mutex_;  // guards all below
  std::condition_variable made_one_;
  std::shared_ptr<const IndexText> made_;
  bool is_making_ = false;
  SteadyTime not_before_{};  // the next one
};

}  // namespace mist::catalog
