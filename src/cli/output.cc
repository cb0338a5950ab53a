#include "cli/output.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "cli/display_width.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::cli {

OutputFormat output_format(const Invocation& invocation) {
  const std::string format = invocation.text("output");
  if (format == "json") return OutputFormat::Json;
  return format == "yaml" ? OutputFormat::Yaml : OutputFormat::Table;
}

encoding::Value text_or_null(std::string_view text) {
  if (text.empty()) return {};
  return encoding::Value(text);
}
encoding::Value number_or_null(int number) {
  if (number < 0) return {};
  return encoding::Value(number);
}

encoding::Value identity_value(const apimachinery::ObjectKey& key,
                               std::initializer_list<std::pair<std::string_view, encoding::Value>> more) {
  encoding::Value identity = encoding::Value::object({{"group", key.group_kind.group},
                                                      {"kind", key.group_kind.kind},
                                                      {"namespace", text_or_null(key.ns)},
                                                      {"name", key.name}});
  for (const auto& [name, value] : more) identity.set(name, value);
  return identity;
}

std::string age(const World& world, std::string_view time) {
  const auto then = parse_time(time);
  return then ? format_age(world.clock.now() - *then) : "-";
}

encoding::Value age_seconds(const World& world, std::string_view time) {
  const auto then = parse_time(time);
  if (!then) return {};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(world.clock.now() - *then).count();
  return encoding::Value(std::max<std::int64_t>(seconds, 0));
}

void print_value(World& world, OutputFormat format, const encoding::Value& value) {
  MIST_CHECK(format != OutputFormat::Table);
  if (format == OutputFormat::Json)
    world.out.write(encoding::to_json(value, encoding::JsonStyle::Pretty) + "\n");
  else
    world.out.write(encoding::to_yaml(value));
}

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

}  // namespace mist::cli
