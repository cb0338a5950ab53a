#pragma once
// Finds objects as people name them: by kind and name, perhaps group and namespace, the kind without case.
// Looking up costs the same however many there are. One thread; any number may only look up.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apimachinery/object.h"
#include "base/keyed_hash.h"

namespace mist::apimachinery {

struct ObjectName {
  std::string_view kind, name;
  std::optional<std::string_view> group = {};  ///< nullopt: any
  std::optional<std::string_view> ns = {};     ///< nullopt: any; empty: objects without one
};

class NameIndex {
 public:
  void add(const Object& object, std::size_t id);
  /// The ids of those objects in the order in which they were added, but no more than two: a name that fits
  /// two is ambiguous.
  std::vector<std::size_t> find(const ObjectName& name) const;

 private:
  std::unordered_map<std::string, std::vector<std::size_t>, KeyedHash> ids_;
};

}  // namespace mist::apimachinery
