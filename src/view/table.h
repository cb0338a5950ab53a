#pragma once
// Rows as a table for people. One thread.

#include <string>
#include <vector>

#include "view/style.h"

namespace mist::view {

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
};

/// Columns as kubectl prints them: three spaces between, as wide as their widest cell on a terminal. A cell
/// wider than kMostColumns, where others aren't, moves the rest of its own row only. Control characters in
/// cells are escaped.
class Table {
 public:
  /// `headers` in capitals.
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}
  /// As many cells as there are headers.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  /// `columns`: the last cell of a row is cut where it would pass this width, but never below kLeastColumns
  /// of it; 0: as long as it is.
  std::string render(bool color, int columns = 0) const;
  static constexpr int kLeastColumns = 20;
  static constexpr int kMostColumns = 80;

 private:
  int width_of(std::size_t column) const;

  std::vector<std::string> headers_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace mist::view
