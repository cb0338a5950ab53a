#pragma once
// TreeBuilder makes a Value of a stream of "begin, key, value, end": open collections share two scratch
// stacks, and a closed one is allocated once, in its exact size. Both readers use it; it doesn't recurse.
// Internal to encoding. One thread.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoding/key_table.h"
#include "encoding/value.h"

namespace mist::encoding {

class TreeBuilder {
 public:
  std::size_t depth() const { return depth_; }

  void begin_object() { open(true, members_.size()); }
  void begin_array() { open(false, items_.size()); }

  /// Names the next value of the open object. False if the object has that member already: the next value
  /// replaces it, in its old place.
  bool key(std::string_view name);
  /// Which member `key` named last: its place in the open object.
  std::size_t member() const { return top().target - top().base; }

  /// Adds to the open collection, or becomes the root.
  void value(Value value) {
    if (depth_ == 0) {
      root_ = std::move(value);
    } else if (const Frame& frame = top(); frame.is_object) {
      members_[frame.target].value = std::move(value);
    } else {
      items_.push_back(std::move(value));
    }
  }

  /// As value(Value(text)), without moving it about: nearly all values are texts.
  void text(std::string_view text, Position position) {
    Value& slot = depth_ == 0       ? root_
                  : top().is_object ? members_[top().target].value
                                    : items_.emplace_back();
    slot.make_string() = text;
    slot.set_position(position);
  }

  /// Closes the innermost collection and hands it out; value() adds it to its parent.
  Value end();

  Value take_root() { return std::exchange(root_, Value()); }

 private:
  struct Frame {
    bool is_object = false;
    std::size_t base = 0;    // into members_ or items_
    std::size_t target = 0;  // the member that the next value belongs to
    KeyTable keys;           // of members, once they are many
  };

  void open(bool is_object, std::size_t base);
  Frame& top() { return frames_[depth_ - 1]; }
  const Frame& top() const { return frames_[depth_ - 1]; }
  std::size_t find(Frame& frame, std::string_view name);

  std::vector<Frame> frames_;  // [0, depth_) are open; the others keep their memory for the next
  std::size_t depth_ = 0;
  std::vector<Value::Member> members_;
  std::vector<Value> items_;
  Value root_;
};

}  // namespace mist::encoding
