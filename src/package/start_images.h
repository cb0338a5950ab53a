#pragma once
// Images that engines made of the files of packages that are rendered again and again: the least recently
// used ones go when all of them take too much. Any thread.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "wasm/snapshot.h"

namespace mist::package {

class StartImages {
 public:
  using Image = std::shared_ptr<const wasm::StartImage>;

  explicit StartImages(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Nullopt: it isn't kept. Null: it is known that there is none.
  std::optional<Image> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    for (auto each = images_.begin(); each != images_.end(); ++each) {
      if (each->first != key) continue;
      images_.splice(images_.begin(), images_, each);
      return each->second;
    }
    return std::nullopt;
  }

  /// One that takes more than all may take isn't kept.
  void keep(const std::string& key, Image image) {
    const std::lock_guard lock(mutex_);
    // Somebody else may have made it at the same time.
    for (const auto& [known, kept] : images_)
      if (known == key) return;
    bytes_ += bytes_of(image);
    images_.emplace_front(key, std::move(image));
    while (bytes_ > most_bytes_) {
      bytes_ -= bytes_of(images_.back().second);
      images_.pop_back();
    }
  }

 private:
  static std::size_t bytes_of(const Image& image) { return image ? image->bytes() : 1024; }

  const std::size_t most_bytes_;
  std::mutex mutex_;
  std::list<std::pair<std::string, Image>> images_;
  std::size_t bytes_ = 0;
};

}  // namespace mist::package
