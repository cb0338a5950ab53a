#pragma once
// What engines made of the files of packages that are rendered again and again: the least recently used ones
// go when all of them take too much. Any thread.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "wasm/snapshot.h"

namespace mist::package {

class StartImages {
 public:
  using Image = std::shared_ptr<const wasm::StartImage>;

  explicit StartImages(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Null: it isn't kept.
  Image find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    for (auto each = images_.begin(); each != images_.end(); ++each) {
      if (each->first != key) continue;
      images_.splice(images_.begin(), images_, each);
      return each->second;
    }
    return nullptr;
  }

  /// One that takes more than all may take isn't kept.
  void keep(const std::string& key, Image image) {
    const std::lock_guard lock(mutex_);
    bytes_ += image->bytes();
    images_.emplace_front(key, std::move(image));
    while (bytes_ > most_bytes_) {
      bytes_ -= images_.back().second->bytes();
      images_.pop_back();
    }
  }

 private:
  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::list<std::pair<std::string, Image>> images_;
  std::size_t bytes_ = 0;
};

}  // namespace mist::package
