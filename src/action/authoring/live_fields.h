#pragma once
// Fields that an object has because it is on a cluster, in the eyes of an author who makes others like it:
// addresses and ports that were assigned, the volume that it was bound to, the node it was placed on, the
// selector with its uid. Another object with them is refused, or takes what is the first one's. Pure.

#include <string>
#include <vector>

#include "apimachinery/object.h"

namespace mist::action {

/// Takes them out; returns their places: "spec.clusterIP", "spec.ports[].nodePort". Fields that only the
/// server sets are for apply::take_server_fields().
std::vector<std::string> take_live_fields(apimachinery::Object& object);

}  // namespace mist::action
