#include "encoding/tree_builder.h"

#include <bit>
#include <functional>
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
  frame.slots.clear();
}

void TreeBuilder::index(Frame& frame) {
  const std::size_t count = members_.size() - frame.base;
  const std::size_t size = std::bit_ceil(count * 4);
  frame.slots.assign(size, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t at = std::hash<std::string_view>()(members_[frame.base + i].key) & (size - 1);
    while (frame.slots[at] != 0) at = (at + 1) & (size - 1);
    frame.slots[at] = static_cast<std::uint32_t>(i + 1);
  }
}

std::size_t TreeBuilder::find(Frame& frame, std::string_view name) {
  const std::size_t count = members_.size() - frame.base;
  if (count <= kScanned) {
    for (std::size_t i = frame.base; i < members_.size(); ++i)
      if (members_[i].key == name) return i;
    return members_.size();
  }
  if (frame.slots.size() < count * 2) index(frame);
  const std::size_t mask = frame.slots.size() - 1;
  std::size_t at = std::hash<std::string_view>()(name) & mask;
  for (; frame.slots[at] != 0; at = (at + 1) & mask)
    if (members_[frame.base + frame.slots[at] - 1].key == name) return frame.base + frame.slots[at] - 1;
  frame.slots[at] = static_cast<std::uint32_t>(count + 1);  // the caller appends it there
  return members_.size();
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
