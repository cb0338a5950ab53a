#pragma once
// Which Releases wait for a change of another one. One thread at a time.

#include <map>
#include <set>
#include <utility>

#include "releases/resource.h"

namespace mist::releases {

class Waiting {
 public:
  void add(const Key& on, const Key& who) { all_[on].insert(who); }
  /// Those who wait for it, and don't any more.
  std::set<Key> take(const Key& on) {
    auto found = all_.extract(on);
    return found ? std::move(found.mapped()) : std::set<Key>();
  }
  /// It is gone, and waits for nothing.
  void forget(const Key& who) {
    for (auto& [on, waiting] : all_) waiting.erase(who);
    std::erase_if(all_, [](const auto& each) { return each.second.empty(); });
  }
  /// How many are waited for.
  std::size_t size() const { return all_.size(); }

 private:
  std::map<Key, std::set<Key>> all_;  // by what they wait for
};

}  // namespace mist::releases
