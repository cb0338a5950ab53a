#include "kube/line_framer.h"

#include <algorithm>

namespace mist::kube {

LineFramer::State LineFramer::feed(std::string_view piece,
                                   const std::function<bool(std::string_view)>& on_line) {
  while (state_ == State::Open && !piece.empty()) {
    const auto end = piece.find('\n');
    if (partial_.size() + std::min(end, piece.size()) > longest_line_) {
      state_ = State::TooLong;
      break;
    }
    if (end == std::string_view::npos) {
      partial_ += piece;
      break;
    }
    std::string_view line = piece.substr(0, end);
    if (!partial_.empty()) line = partial_ += line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !on_line(line)) state_ = State::Ended;
    partial_.clear();
    piece.remove_prefix(end + 1);
  }
  return state_;
}

}  // namespace mist::kube
