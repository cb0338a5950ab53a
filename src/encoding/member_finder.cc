#include "encoding/member_finder.h"

#include <algorithm>

namespace mist::encoding {

MemberFinder::MemberFinder(const Value* object) {
  if (object == nullptr || !object->is_object()) return;
  members_ = &object->as_object();
  scanned_ = members_->size();
  if (scanned_ <= kScanned) return;
  keys_.reserve(scanned_);
  for (std::size_t i = 0; i < scanned_; ++i) keys_.find_or_add((*members_)[i].key, i, key_at());
}

std::optional<std::size_t> MemberFinder::place(std::string_view key) const {
  if (members_ == nullptr) return std::nullopt;
  if (keys_.size() != 0) return keys_.find(key, key_at());
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
