#include "cli/output/style.h"

#include "base/text.h"

namespace mist::cli {

bool takes_utf8(const std::function<std::optional<std::string>(std::string_view)>& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = environment(name);
    if (!value || value->empty()) continue;
    const std::string locale = lower_case(*value);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return true;
}

bool wants_color(std::string_view when, const Output& output, const Machine& machine) {
  if (when != "auto") return when == "always";
  if (!output.is_terminal()) return false;
  if (const auto no_color = machine.environment("NO_COLOR"); no_color && !no_color->empty()) return false;
  return machine.environment("TERM").value_or("dumb") != "dumb";
}

}  // namespace mist::cli
