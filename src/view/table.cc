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

int Table::width_of(std::size_t column) const {
  int usual = 0, widest = 0;
  for (const auto& row : rows_) {
    const int width = display_width(row[column].text);
    widest = std::max(widest, width);
    if (width <= kMostColumns) usual = std::max(usual, width);
  }
  return std::max(display_width(headers_[column]), usual > 0 ? usual : widest);
}

std::string Table::render(bool color, int columns) const {
  constexpr int kGap = 3;
  std::vector<int> widths;
  for (std::size_t column = 0; column < headers_.size(); ++column) widths.push_back(width_of(column) + kGap);
  const int before_last = std::accumulate(widths.begin(), widths.end() - 1, 0);
  // Spaces stand outside the color, and none at the end of a line.
  std::string out;
  const auto draw = [&](std::size_t column, std::string_view text, Tone tone, bool last) {
    out += paint(color, tone, text);
    const int room = widths[column] - display_width(text);
    if (!last) out.append(static_cast<std::size_t>(std::max(room, kGap)), ' ');
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
