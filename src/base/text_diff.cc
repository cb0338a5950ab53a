#include "base/text_diff.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace mist {
namespace {

using Lines = std::vector<std::string>;
using Numbers = std::vector<std::size_t>;

// Equal lines have the same number, so that comparing long ones again and again costs no more.
class LineNumbers {
 public:
  Numbers of(const Lines& lines) {
    Numbers numbers;
    numbers.reserve(lines.size());
    for (const std::string& line : lines)
      numbers.push_back(known_.try_emplace(line, known_.size()).first->second);
    return numbers;
  }

 private:
  std::map<std::string_view, std::size_t> known_;
};

// Myers 1986, "An O(ND) Difference Algorithm": the furthest points of each number of edits are kept, and the
// way is read backwards.
class Myers {
 public:
  Myers(const Numbers& before, const Numbers& after, std::size_t begin, std::size_t before_end,
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

  const Numbers& before_;
  const Numbers& after_;
  const std::ptrdiff_t begin_, rows_, columns_;
  std::ptrdiff_t offset_ = 0;
  std::vector<std::vector<std::ptrdiff_t>> history_;
};

// Without the newline that ends the last one; none of an empty text.
Lines lines_of(std::string_view text) {
  if (text.empty()) return {};
  if (text.ends_with('\n')) text.remove_suffix(1);
  Lines lines;
  for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
  return lines;
}

std::vector<std::string> unified(const Lines& before, const Lines& after, std::size_t context,
                                 std::size_t bound) {
  const std::vector<LineEdit> edits = diff_lines(before, after, bound);
  std::vector<std::string> result;
  for (const std::span<const LineEdit> hunk : hunks(edits, context)) {
    const auto added =
        static_cast<std::size_t>(std::ranges::count(hunk, LineChange::Added, &LineEdit::change));
    const auto removed =
        static_cast<std::size_t>(std::ranges::count(hunk, LineChange::Removed, &LineEdit::change));
    result.push_back(
        hunk_header(hunk.front().before, hunk.size() - added, hunk.front().after, hunk.size() - removed));
    for (const LineEdit& edit : hunk) {
      const bool is_added = edit.change == LineChange::Added;
      const char mark = edit.change == LineChange::Same ? ' ' : is_added ? '+' : '-';
      result.push_back(mark + (is_added ? after[edit.after] : before[edit.before]));
    }
  }
  return result;
}

}  // namespace

std::vector<LineEdit> diff_lines(const Lines& old_lines, const Lines& new_lines, std::size_t bound) {
  LineNumbers numbers;
  const Numbers before = numbers.of(old_lines), after = numbers.of(new_lines);
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

std::vector<std::span<const LineEdit>> hunks(std::span<const LineEdit> edits, std::size_t context) {
  std::vector<std::span<const LineEdit>> result;
  std::size_t begin = 0, end = 0;  // of the last one
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].change == LineChange::Same) continue;
    const std::size_t first = i - std::min(i, context);
    if (result.empty() || first > end) {
      begin = first;
      result.emplace_back();
    }
    end = std::min(edits.size(), i + context + 1);
    result.back() = edits.subspan(begin, end - begin);
  }
  return result;
}

std::string hunk_header(std::size_t before, std::size_t old_lines, std::size_t after, std::size_t new_lines) {
  // diff counts from 1, and names the line before a hunk that has none.
  return fmt::format("@@ -{},{} +{},{} @@", old_lines == 0 ? before : before + 1, old_lines,
                     new_lines == 0 ? after : after + 1, new_lines);
}

std::vector<std::string> unified_diff(std::string_view before, std::string_view after, std::size_t context,
                                      std::size_t bound) {
  return unified(lines_of(before), lines_of(after), context, bound);
}

std::vector<std::string> unified_file_diff(std::string_view before, std::string_view after,
                                           std::size_t context) {
  // The remark is a part of the last line, so that it makes the line another one.
  const auto exact_lines_of = [](std::string_view text) {
    Lines lines = lines_of(text);
    if (!text.empty() && !text.ends_with('\n')) lines.back() += "\n\\ No newline at end of file";
    return lines;
  };
  std::vector<std::string> result;
  for (const std::string& line : unified(exact_lines_of(before), exact_lines_of(after), context, kMostEdits))
    for (const std::string_view part : split(line, '\n')) result.emplace_back(part);
  return result;
}

}  // namespace mist
