#include "view/table.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "view/display_width.h"

namespace mist::view {

void Table::add(std::vector<Cell> row) {
  MIST_CHECK(row.size() == headers_.size());
  for (Cell& cell : row) cell.text = escape_controls(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::render(bool color, int columns) const {
  constexpr int kGap = 3;
  std::vector<int> widths;
  for (std::size_t column = 0; column < headers_.size(); ++column) {
    int width = display_width(headers_[column]);
    for (const auto& row : rows_) width = std::max(width, display_width(row[column].text));
    widths.push_back(width + kGap);
  }
  const int before_last = std::accumulate(widths.begin(), widths.end() - 1, 0);
  // Spaces stand outside the color, and none at the end of a line.
  std::string out;
  const auto draw = [&](std::size_t column, std::string_view text, Tone tone, bool last) {
    out += paint(color, tone, text);
    if (!last) out.append(static_cast<std::size_t>(widths[column] - display_width(text)), ' ');
  };
  const auto draw_row = [&](std::size_t count, auto cell_of) {
    std::size_t used = count;
    while (used > 0 && cell_of(used - 1).text.empty()) --used;
    for (std::size_t column = 0; column < used; ++column) {
      const Cell cell = cell_of(column);
      const bool cut = columns > 0 && column + 1 == headers_.size();
      draw(column, cut ? fit_width(cell.text, std::max(columns - before_last, kLeastColumns)) : cell.text,
           cell.tone, column + 1 == used);
    }
    out += '\n';
  };
  draw_row(headers_.size(), [&](std::size_t i) { return Cell{headers_[i], Tone::Strong}; });
  for (const auto& row : rows_) draw_row(row.size(), [&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace mist::view
