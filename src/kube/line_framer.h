#pragma once
// Lines out of a byte stream that arrives in arbitrary pieces (the events of a watch). One thread.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mist::kube {

class LineFramer {
 public:
  enum class State {
    Open,     ///< wants more
    Ended,    ///< `on_line` said false
    TooLong,  ///< a line is longer than the limit
  };

  explicit LineFramer(std::size_t longest_line) : longest_line_(longest_line) {}

  /// Calls `on_line` for each line that `piece` completes, without its newline; empty lines are skipped. Once
  /// the state isn't Open, nothing is taken any more.
  State feed(std::string_view piece, const std::function<bool(std::string_view)>& on_line);

  /// Bytes of a line that has not ended.
  std::size_t pending() const { return partial_.size(); }

 private:
  std::size_t longest_line_;
  std::string partial_;
  State state_ = State::Open;
};

}  // namespace mist::kube
