#include "cli/output/output.h"

#include <algorithm>

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

void print_value(World& world, OutputFormat format, const encoding::Value& value) {
  MIST_CHECK(format != OutputFormat::Table);
  if (format == OutputFormat::Json)
    world.out.write(encoding::to_json(value, encoding::JsonStyle::Pretty) + "\n");
  else
    world.out.write(encoding::to_yaml(value));
}

}  // namespace mist::cli
