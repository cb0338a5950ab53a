#include "base/text_diff.h"

#include <algorithm>

namespace mist {
namespace {

using Lines = std::vector<std::string>;

// Myers 1986, "An O(ND) Difference Algorithm": the furthest points of each number of edits are kept, and the
// way is read backwards.
class Myers {
 public:
  Myers(const Lines& before, const Lines& after, std::size_t begin, std::size_t before_end,
        std::size_t after_end)
      : before_(before),
        after_(after),
        begin_(static_cast<std::ptrdiff_t>(begin)),
        rows_(static_cast<std::ptrdiff_t>(before_end) - begin_),
        columns_(static_cast<std::ptrdiff_t>(after_end) - begin_) {}

  // False: more than `bound` edits.
  bool run(std::ptrdiff_t bound, std::vector<LineEdit>& edits) {
    const std::ptrdiff_t most = std::min(rows_ + columns_, bound);
    offset_ = most + 1;
    std::vector<std::ptrdiff_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
    const auto at = [&](std::ptrdiff_t k) -> std::ptrdiff_t& {
      return furthest[static_cast<std::size_t>(k + offset_)];
    };
    for (std::ptrdiff_t d = 0; d <= most; ++d) {
      history_.emplace_back(furthest.begin() + (offset_ - d - 1), furthest.begin() + (offset_ + d + 2));
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
        std::ptrdiff_t x = down ? at(k + 1) : at(k - 1) + 1;
        std::ptrdiff_t y = x - k;
        while (x < rows_ && y < columns_ && same(x, y)) {
          ++x;
          ++y;
        }
        at(k) = x;
        if (x >= rows_ && y >= columns_) {
          trace(d, edits);
          return true;
        }
      }
    }
    return false;
  }

 private:
  bool same(std::ptrdiff_t x, std::ptrdiff_t y) const {
    return before_[static_cast<std::size_t>(begin_ + x)] == after_[static_cast<std::size_t>(begin_ + y)];
  }

  LineEdit edit(LineChange change, std::ptrdiff_t x, std::ptrdiff_t y) const {
    return {change, static_cast<std::size_t>(begin_ + x), static_cast<std::size_t>(begin_ + y)};
  }

  void trace(std::ptrdiff_t d, std::vector<LineEdit>& edits) const {
    std::vector<LineEdit> backwards;
    std::ptrdiff_t x = rows_, y = columns_;
    for (; d > 0; --d) {
      // history_[d] has the points of diagonals -d-1 … d+1 before d edits were made.
      const auto at = [&](std::ptrdiff_t k) {
        return history_[static_cast<std::size_t>(d)][static_cast<std::size_t>(k + d + 1)];
      };
      const std::ptrdiff_t k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const std::ptrdiff_t from = down ? k + 1 : k - 1;
      const std::ptrdiff_t from_x = at(from), from_y = from_x - from;
      while (x > from_x + (down ? 0 : 1) && y > from_y + (down ? 1 : 0)) {
        --x;
        --y;
        backwards.push_back(edit(LineChange::Same, x, y));
      }
      if (down)
        --y;
      else
        --x;
      backwards.push_back(edit(down ? LineChange::Added : LineChange::Removed, x, y));
    }
    while (x > 0) {
      --x;
      --y;
      backwards.push_back(edit(LineChange::Same, x, y));
    }
    edits.insert(edits.end(), backwards.rbegin(), backwards.rend());
  }

  const Lines& before_;
  const Lines& after_;
  const std::ptrdiff_t begin_, rows_, columns_;
  std::ptrdiff_t offset_ = 0;
  std::vector<std::vector<std::ptrdiff_t>> history_;
};

}  // namespace

std::vector<LineEdit> diff_lines(const Lines& before, const Lines& after, std::size_t bound) {
  std::size_t begin = 0;
  while (begin < before.size() && begin < after.size() && before[begin] == after[begin]) ++begin;
  std::size_t tail = 0;
  while (tail < before.size() - begin && tail < after.size() - begin &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  std::vector<LineEdit> edits;
  for (std::size_t i = 0; i < begin; ++i) edits.push_back({LineChange::Same, i, i});
  const std::size_t before_end = before.size() - tail, after_end = after.size() - tail;
  if (!Myers(before, after, begin, before_end, after_end).run(static_cast<std::ptrdiff_t>(bound), edits)) {
    for (std::size_t i = begin; i < before_end; ++i) edits.push_back({LineChange::Removed, i, begin});
    for (std::size_t i = begin; i < after_end; ++i) edits.push_back({LineChange::Added, before_end, i});
  }
  for (std::size_t i = 0; i < tail; ++i) edits.push_back({LineChange::Same, before_end + i, after_end + i});
  return edits;
}

}  // namespace mist
