#pragma once
// KeyTable finds the places of texts in a list that somebody else keeps: a hash table of places alone, with
// keyed hashes, because others choose the texts. Internal to encoding. One thread; any number may only find.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/keyed_hash.h"

namespace mist::encoding {

class KeyTable {
 public:
  /// Of texts that are in it.
  std::size_t size() const { return size_; }
  void clear() {
    slots_.clear();
    size_ = 0;
  }
  /// Room for so many without growing.
  void reserve(std::size_t count) {
    if (slots_.size() < count * 2) grow(std::bit_ceil(count * 2));
  }

  /// `text_at(place)` is the text at a place that was added.
  template <typename TextAt>
  std::optional<std::size_t> find(std::string_view text, const TextAt& text_at) const {
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[look(text, short_hash(text), text_at)];
    return slot.place == kFree ? std::nullopt : std::optional<std::size_t>(slot.place);
  }

  /// The place of that text. It is `place` if the table didn't have it.
  template <typename TextAt>
  std::size_t find_or_add(std::string_view text, std::size_t place, const TextAt& text_at) {
    MIST_CHECK(place < kFree, "a table of keys has 32 bits for a place");
    if (slots_.size() < (size_ + 1) * 2) grow(std::bit_ceil((size_ + 1) * 4));
    const std::uint32_t hash = short_hash(text);
    const std::size_t at = look(text, hash, text_at);
    Slot& slot = slots_[at];
    probes_ += ((at - hash) & (slots_.size() - 1)) + 1;
    if (slot.place != kFree) return slot.place;
    slot = {static_cast<std::uint32_t>(place), hash};
    ++size_;
    return place;
  }

  /// How many slots find_or_add looked at: the work that the choice of texts decides about.
  std::uint64_t probes() const { return probes_; }

 private:
  static constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();
  struct Slot {
    std::uint32_t place = kFree;
    std::uint32_t hash = 0;  // its lower half: a table never has more slots
  };

  std::uint32_t short_hash(std::string_view text) const { return static_cast<std::uint32_t>(hash_(text)); }

  // Where the text is, or the free slot where it would be.
  template <typename TextAt>
  std::size_t look(std::string_view text, std::uint32_t hash, const TextAt& text_at) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at].place != kFree && (slots_[at].hash != hash || text_at(slots_[at].place) != text))
      at = (at + 1) & mask;
    return at;
  }

  void grow(std::size_t size) {
    if (size_ == 0) return slots_.assign(size, Slot());  // in the memory that clear() left
    std::vector<Slot> old(size);
    old.swap(slots_);
    const std::size_t mask = size - 1;
    for (const Slot& slot : old) {
      if (slot.place == kFree) continue;
      std::size_t at = slot.hash & mask;
      while (slots_[at].place != kFree) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  KeyedHash hash_;
  std::vector<Slot> slots_;  // a power of two, at least twice as many as texts
  std::size_t size_ = 0;
  std::uint64_t probes_ = 0;
};

}  // namespace mist::encoding
