#include "releases/claims.h"

namespace mist::releases {

void Claims::note(const Key& key, const std::optional<Value>& object) {
  if (const auto known = where_.find(key); known != where_.end()) {
    const auto all = of_release_.find(known->second.first);
    all->second.erase(known->second.second);
    if (all->second.empty()) of_release_.erase(all);
    where_.erase(known);
  }
  if (!object) return;
  const Key release = release_of(*object);
  // Nobody takes a release of another namespace from those who are there.
  const Age age{key.first != release.first, object->string_at({"metadata", "creationTimestamp"}), key};
  of_release_[release].insert(age);
  where_.emplace(key, std::pair(release, age));
}

std::optional<Key> Claims::elder(const Value& object) const {
  const auto all = of_release_.find(release_of(object));
  if (all == of_release_.end()) return std::nullopt;
  const Key& first = std::get<Key>(*all->second.begin());
  const Key own(object.string_at({"metadata", "namespace"}), object.string_at({"metadata", "name"}));
  return first == own ? std::nullopt : std::optional(first);
}

std::set<Key> Claims::rivals(const Key& key) const {
  std::set<Key> found;
  const auto known = where_.find(key);
  if (known == where_.end()) return found;
  for (const Age& age : of_release_.at(known->second.first))
    if (const Key& each = std::get<Key>(age); each != key) found.insert(each);
  return found;
}

}  // namespace mist::releases
