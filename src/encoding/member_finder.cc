#include "encoding/member_finder.h"

#include <algorithm>

namespace mist::encoding {

MemberFinder::MemberFinder(const Value* object) {
  if (object == nullptr || !object->is_object()) return;
  members_ = &object->as_object();
  scanned_ = members_->size();
  if (scanned_ <= kScanned) return;
  places_.reserve(members_->size());
  for (std::size_t i = 0; i < members_->size(); ++i) places_.try_emplace((*members_)[i].key, i);
}

std::optional<std::size_t> MemberFinder::place(std::string_view key) const {
  if (members_ == nullptr) return std::nullopt;
  if (!places_.empty()) {
    const auto found = places_.find(key);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  // Not more than it had at first: others may have been added behind them.
  const auto end = members_->begin() + static_cast<std::ptrdiff_t>(std::min(members_->size(), scanned_));
  const auto found =
      std::find_if(members_->begin(), end, [&](const Value::Member& m) { return m.key == key; });
  return found == end ? std::nullopt : std::optional(static_cast<std::size_t>(found - members_->begin()));
}

const Value* MemberFinder::find(std::string_view key) const {
  const auto at = place(key);
  return at ? &(*members_)[*at].value : nullptr;
}

}  // namespace mist::encoding
