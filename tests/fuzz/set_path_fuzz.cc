// --set: what is read is set where it says, and its path prints to itself.
#include "encoding/set_path.h"

#include "targets.h"

namespace mist::fuzz {

void set_path(std::string_view bytes) {
  using namespace encoding;
  for (const SetValues values : {SetValues::Typed, SetValues::Strings}) {
    const auto assignments = parse_set(bytes, values);
    if (!assignments.ok()) {
      check_error(assignments.error());
      continue;
    }
    Value target;
    for (const SetAssignment& each : *assignments) {
      const auto again = parse_set_path(to_string(each.path));
      if (!again.ok() || *again != each.path)
        fail("the printed path means something else", to_string(each.path));
      if (const Status set = set_at(target, each.path, each.value); !set.ok()) check_error(set.error());
    }
  }
}

}  // namespace mist::fuzz
