#include "blueprint/shown_names.h"

namespace mist::blueprint {

std::string with_known_names(std::string_view diagnostic, std::string_view known) {
  std::string shown;
  for (;;) {
    const std::size_t begin = diagnostic.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : diagnostic.find('`', begin + 1);
    if (end == std::string_view::npos) return shown.append(diagnostic);
    const std::string_view name = diagnostic.substr(begin + 1, end - begin - 1);
    shown.append(diagnostic.substr(0, begin + 1)).append(known.contains(name) ? name : "…").append("`");
    diagnostic.remove_prefix(end + 1);
  }
}

}  // namespace mist::blueprint
