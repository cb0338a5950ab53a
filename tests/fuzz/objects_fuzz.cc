// What packages render: objects with their places, MistOrder carried out, or an error that shows no secret.
#include "package/objects.h"

#include "base/event.h"
#include "targets.h"

namespace mist::fuzz {

void objects(std::string_view bytes) {
  NullEventSink events;
  Input input(bytes);
  const std::string first(input.until("\n--8<--\n"));
  const std::map<std::string, std::string> files{{"templates/a.yaml", first},
                                                 {"templates/b.yaml", std::string(input.rest())}};
  for (const package::Lines lines : {package::Lines::Written, package::Lines::Rendered}) {
    const auto objects = package::parse_objects(files, events, lines);
    if (!objects.ok()) {
      check_error(objects.error());
      continue;
    }
    for (const apimachinery::RenderedObject& each : *objects) {
      if (each.object.name().empty() || each.object.gvk().kind.empty())
        fail("an object without a name", bytes);
      if (!files.contains(each.file)) fail("an object of no file", each.file);
      (void)each.object.key().display();
    }
  }
}

}  // namespace mist::fuzz
