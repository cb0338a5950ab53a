#pragma once
// Finds which of many sets of labels a selector selects, without looking at every set for every selector. The
// cost is counted, because a package may hold thousands of both. One thread.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "encoding/value.h"

namespace mist::apply {

/// How much may still be compared; one for all the indexes of a piece of work.
class WorkBudget {
 public:
  explicit WorkBudget(std::size_t left) : left_(left) {}
  /// False, and nothing is left afterwards, if there isn't that much.
  bool spend(std::size_t amount) {
    const bool enough = amount <= left_;
    left_ = enough ? left_ - amount : 0;
    return enough;
  }
  std::size_t left() const { return left_; }

 private:
  std::size_t left_;
};

class LabelIndex {
 public:
  /// `labels` may be null, and outlives this.
  void add(std::size_t id, const encoding::Value* labels);

  /// The ids, in the order in which they were added, whose labels `selects()` chooses. nullopt: that costs
  /// more than the budget has left.
  std::optional<std::vector<std::size_t>> selected(const encoding::Value& selector, WorkBudget& budget) const;
  /// The same with `selects_by_map()`.
  std::optional<std::vector<std::size_t>> selected_by_map(const encoding::Value& map,
                                                          WorkBudget& budget) const;
  const std::vector<std::size_t>& all() const { return all_; }

 private:
  using Matches = bool (*)(const encoding::Value& selector, const encoding::Value* labels);
  std::optional<std::vector<std::size_t>> select(const encoding::Value& selector, const encoding::Value* map,
                                                 Matches matches, WorkBudget& budget) const;

  std::vector<std::size_t> all_;
  std::unordered_map<std::size_t, const encoding::Value*> labels_;
  std::unordered_map<std::string, std::vector<std::size_t>, KeyedHash> with_;  // a label: those that have it
};

}  // namespace mist::apply
