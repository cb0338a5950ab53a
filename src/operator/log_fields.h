#pragma once
// The subject of a line of the log, as fields for programs: the blueprint, the instance, the object. Pure;
// any thread.

#include <cstdint>
#include <string>

#include "base/event.h"
#include "operator/observer.h"
#include "operator/words.h"

namespace mist::operator_ {

/// "app shop/web"; of a blueprint its name.
std::string label_of(const Item& item);

/// Whether the line itself names the item, as with label_of().
enum class Named : std::uint8_t { No, Yes };
/// blueprint; of an instance namespace and instance too.
MessageFields fields_of(const Item& item, Named named);
/// object ("Service shop/web"), kind and name, which the line names.
MessageFields fields_of(const ObjectId& id);
MessageFields fields_of(const Item& item, Named named, const ObjectId& id);

}  // namespace mist::operator_
