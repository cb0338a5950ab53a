#pragma once
// Finds members of one object by many keys: Value::find scans, which is quick for the objects of Kubernetes
// and quadratic for two objects with a hundred thousand members each, as others may write them. One thread.

#include <cstddef>
#include <optional>
#include <string_view>

#include "encoding/key_table.h"
#include "encoding/value.h"

namespace mist::encoding {

class MemberFinder {
 public:
  /// Up to here a scan beats a hash table.
  static constexpr std::size_t kScanned = 24;

  /// Null, and what is not an object, has no members. `object` outlives this; its members may get other
  /// values meanwhile, and others may be added behind them where that moves none.
  explicit MemberFinder(const Value* object);

  const Value* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// Its place in as_object().
  std::optional<std::size_t> place(std::string_view key) const;

 private:
  auto key_at() const {
    return [this](std::size_t place) -> std::string_view { return (*members_)[place].key; };
  }

  const Value::Object* members_ = nullptr;
  std::size_t scanned_ = 0;  // of small ones
  KeyTable keys_;            // of large objects
};

/// `base` with the members of `over` in their places or behind its own; `existing` decides about one that
/// both have, and `added` makes a new one of a member or leaves it out (nullopt). The work is linear.
template <typename Existing, typename Added>
void overlay_members(Value& base, const Value& over, const Existing& existing, const Added& added) {
  Value::Object& members = base.as_object();
  // No member moves while its key is looked for.
  members.reserve(members.size() + over.size());
  const MemberFinder finder(&base);
  for (const Value::Member& member : over.as_object()) {
    if (const auto place = finder.place(member.key)) {
      existing(members[*place].value, member.value);
    } else if (std::optional<Value> value = added(member.value)) {
      Value::Member& fresh = members.emplace_back();
      fresh.key = member.key;
      fresh.value = *std::move(value);
    }
  }
}

}  // namespace mist::encoding
