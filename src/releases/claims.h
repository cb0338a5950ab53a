#pragma once
// Which Releases are about the same release, the oldest first. One thread at a time.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "encoding/value.h"
#include "releases/resource.h"

namespace mist::releases {

class Claims {
 public:
  /// The Release as it is now; nullopt: it is gone.
  void note(const Key& key, const std::optional<Value>& object);
  /// An older Release of the same release.
  std::optional<Key> elder(const Value& object) const;
  /// Of the same release as this one is, or was until now.
  std::set<Key> rivals(const Key& key) const;
  /// Of how many releases something is kept.
  std::size_t releases() const { return of_release_.size(); }

 private:
  using Age = std::tuple<bool, std::string, Key>;
  std::map<Key, std::set<Age>> of_release_;
  std::map<Key, std::pair<Key, Age>> where_;
};

}  // namespace mist::releases
