// .helmignore of a chart: a path on the first line, the file after it.
#include "registry/helm_ignore.h"

#include "targets.h"

namespace mist::fuzz {

void helm_ignore(std::string_view bytes) {
  Input input(bytes);
  const std::string_view path = input.line();
  const auto rules = registry::HelmIgnore::parse(input.rest());
  for (const bool directory : {false, true}) {
    (void)rules.leaves_out(path, directory);
    if (rules.leaves_out("Chart.yaml", directory)) fail("Chart.yaml is left out", bytes);
  }
}

}  // namespace mist::fuzz
