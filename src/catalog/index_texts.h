#pragma once
// The answers of /api/v1/index, made once for all clients after they changed. For many packages that takes a
// second, so one thread makes them while the others give the ones before, and a catalog that changes all the
// time spends a tenth of its time with it. Any thread.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "catalog/store.h"

namespace mist::catalog {

struct IndexText {
  std::int64_t revision = -1;  ///< Store::index_revision
  std::string etag = {}, plain = {};
  std::string packed = {};  ///< in gzip
};

class IndexTexts {
 public:
  IndexTexts(Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  /// Waits only where there is none yet. Errors: of the store.
  Result<std::shared_ptr<const IndexText>> now();

 private:
  Result<std::shared_ptr<const IndexText>> make() const;

  Store& store_;
  const Clock& clock_;
  std::mutex mutex_;  // guards all below
  std::condition_variable made_one_;
  std::shared_ptr<const IndexText> made_;
  bool is_making_ = false;
  SteadyTime not_before_{};  // the next one
};

}  // namespace mist::catalog
