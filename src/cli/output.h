#pragma once
// Printing results to stdout: Values as JSON or YAML, rows as a table. One thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"
#include "cli/invocation.h"
#include "cli/style.h"
#include "cli/world.h"
#include "encoding/value.h"

namespace mist::cli {

enum class OutputFormat : std::uint8_t { Table, Json, Yaml };

/// What kOutputFlags gave (flags.h).
OutputFormat output_format(const Invocation& invocation);

/// JSON (pretty, a newline at the end) or YAML. Table is a defect: the command draws that itself.
void print_value(World& world, OutputFormat format, const encoding::Value& value);

/// JSON's null for what is absent: an empty text, a negative number.
encoding::Value text_or_null(std::string_view text);
encoding::Value number_or_null(int number);

/// group, kind, namespace (null: none) and name of an object, and `more` behind them.
encoding::Value identity_value(const apimachinery::ObjectKey& key,
                               std::initializer_list<std::pair<std::string_view, encoding::Value>> more = {});

/// How long ago an RFC 3339 time was: "3m20s"; "-" for what is none.
std::string age(const World& world, std::string_view time);
/// The same in whole seconds; null for what is none.
encoding::Value age_seconds(const World& world, std::string_view time);

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
};

/// Columns as kubectl prints them: three spaces between, as wide as their widest cell on a terminal. Control
/// characters in cells are escaped.
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

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace mist::cli
