#include "encoding/tree_builder.h"

#include <iterator>

namespace mist::encoding {
namespace {

/// Up to here a scan beats a hash table; Kubernetes objects nearly always stay below.
constexpr std::size_t kScanned = 24;

}  // namespace

void TreeBuilder::open(bool is_object, std::size_t base) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[depth_++];
  frame.is_object = is_object;
  frame.base = base;
  frame.keys.clear();
}

std::size_t TreeBuilder::find(Frame& frame, std::string_view name) {
  const std::size_t count = members_.size() - frame.base;
  if (count <= kScanned) {
    for (std::size_t i = frame.base; i < members_.size(); ++i)
      if (members_[i].key == name) return i;
    return members_.size();
  }
  const auto key_at = [&](std::size_t i) -> std::string_view { return members_[frame.base + i].key; };
  if (frame.keys.size() == 0) frame.keys.reserve(count * 2);
  for (std::size_t i = frame.keys.size(); i < count; ++i) frame.keys.find_or_add(key_at(i), i, key_at);
  return frame.base + frame.keys.find_or_add(name, count, key_at);  // the caller appends it there
}

bool TreeBuilder::key(std::string_view name) {
  Frame& frame = top();
  frame.target = find(frame, name);
  if (frame.target != members_.size()) return false;
  members_.emplace_back().key = name;
  return true;
}

Value TreeBuilder::end() {
  const Frame& frame = top();
  --depth_;
  if (frame.is_object) {
    const auto first = members_.begin() + static_cast<std::ptrdiff_t>(frame.base);
    Value::Object object(std::make_move_iterator(first), std::make_move_iterator(members_.end()));
    members_.erase(first, members_.end());
    return Value(std::move(object));
  }
  const auto first = items_.begin() + static_cast<std::ptrdiff_t>(frame.base);
  Value::Array array(std::make_move_iterator(first), std::make_move_iterator(items_.end()));
  items_.erase(first, items_.end());
  return Value(std::move(array));
}

}  // namespace mist::encoding
