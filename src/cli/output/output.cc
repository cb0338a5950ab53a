#include "cli/output/output.h"

#include <algorithm>

#include "base/output_file.h"
#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"

namespace mist::cli {

std::size_t context_lines(const Invocation& invocation) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(invocation.number("lines"), 0, 100000));
}

OutputFormat output_format(const Invocation& invocation) {
  const std::string format = invocation.text("output");
  if (format == "json") return OutputFormat::Json;
  return format == "yaml" ? OutputFormat::Yaml : OutputFormat::Table;
}

void print_value(Machine& machine, OutputFormat format, const encoding::Value& value) {
  print_value(machine.out, format, value);
}

void print_value(Output& output, OutputFormat format, const encoding::Value& value) {
  MIST_CHECK(format != OutputFormat::Table);
  // The printer of YAML escapes controls always.
  if (format == OutputFormat::Yaml)
    return output.write(encoding::to_yaml(value, {.escape_directions = output.is_terminal()}));
  const std::string json = encoding::to_json(value, encoding::JsonStyle::Pretty);
  output.write((output.is_terminal() ? escape_controls_in_json(json) : json) + "\n");
}

std::string json_line(const Output& output, const encoding::Value& value) {
  const std::string json = encoding::to_json(value);
  return (output.is_terminal() ? escape_controls_in_json(json) : json) + "\n";
}

Result<bool> takes_stdout(Machine& machine, const Path& file) {
  if (!is_standard_output(file)) return false;
  MIST_TRY_VOID(machine.out.flush());
  return true;
}

}  // namespace mist::cli
