#include "cli/output/redrawn_text.h"

#include <algorithm>

#include "base/text.h"
#include "view/display_width.h"

namespace mist::cli {
namespace {

// Without its colors, as view::paint writes them.
std::string without_colors(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b')
      at = std::min(line.find('m', at), line.size() - 1);
    else
      plain += line[at];
  }
  return plain;
}

// How many rows the terminal makes of a line.
int rows_of(std::string_view line, int columns) {
  const int width = view::display_width(without_colors(line));
  return std::max(1, (width + columns - 1) / columns);
}

int rows_of_all(std::string_view text, int columns) {
  int rows = 0;
  for (const std::string_view line : split(text, '\n')) rows += rows_of(line, columns);
  return rows - 1;  // behind the last newline there is nothing
}

// The first lines that fit, with how many don't.
std::string cut(std::string_view text, int columns, int rows) {
  if (rows_of_all(text, columns) <= rows) return std::string(text);
  std::string kept;
  int used = 1;  // what is said at the end
  const auto lines = split(text, '\n');
  std::size_t count = 0;
  for (; count < lines.size(); ++count) {
    used += rows_of(lines[count], columns);
    if (used > rows) break;
    kept += fmt::format("{}\n", lines[count]);
  }
  return kept + fmt::format("… and {}\n", plural(lines.size() - 1 - count, "more line"));
}

}  // namespace

void RedrawnText::draw(std::string_view text) {
  const int columns = std::max(1, out_.columns());
  // The cursor stands below the text.
  std::string next = cut(text, columns, std::max(2, out_.rows() - 1));
  if (next == shown_) return;
  const int up = shown_.empty() ? 0 : rows_of_all(shown_, columns);
  out_.write((up > 0 ? fmt::format("\r\x1b[{}A\x1b[J", up) : std::string()) + next);
  shown_ = std::move(next);
}

}  // namespace mist::cli
