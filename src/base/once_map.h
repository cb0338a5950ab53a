#pragma once
// OnceMap: what is expensive to make and wanted by several threads, one value for each key. Any thread.

#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "base/result.h"

namespace mist {

template <typename Key, typename T>
class OnceMap {
 public:
  /// The value of `key`; the first call makes it, and others wait for that. An error is kept as well: nobody
  /// tries again. The value lives as long as the map. `make` asks for no other value of this map.
  Result<const T*> get(const Key& key, const std::function<Result<T>()>& make) {
    Entry* entry = nullptr;
    {
      const std::lock_guard guard(mutex_);
      entry = &entries_[key];
    }
    const std::lock_guard guard(entry->mutex);
    if (!entry->made) entry->made.emplace(make());
    if (!entry->made->ok()) return entry->made->error();
    return &**entry->made;
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<Result<T>> made;  // guarded by mutex
  };

  std::mutex mutex_;
  std::map<Key, Entry> entries_;  // guarded by mutex_; entries stay where they are
};

}  // namespace mist
