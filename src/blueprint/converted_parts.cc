#include "blueprint/converted_parts.h"

namespace mist::blueprint {

Result<Value> convertible_parts(const Value& object) {
  const auto part = [](const Value* found, std::string_view name) -> Result<Value> {
    if (found == nullptr || found->is_null()) return Value::object();
    if (!found->is_object()) return error(ErrorKind::Invalid, "its {} is not an object", name);
    return *found;
  };
  Value parts = Value::object();
  for (const std::string_view name : {"name", "namespace"})
    parts.set(name, object.string_at({"metadata", name}));
  for (const std::string_view name : kConvertedMaps) {
    MIST_TRY(const Value all, part(object.at_path({"metadata", name}), name));
    Value given = Value::object();
    for (const Value::Member& each : all.as_object())
      if (!each.key.starts_with(kReservedPrefix)) given.set(each.key, each.value);
    parts.set(name, std::move(given));
  }
  for (const std::string_view name : kConvertedRecords) {
    MIST_TRY(Value given, part(object.find(name), name));
    if (name == "status") given.erase("conditions");
    parts.set(name, std::move(given));
  }
  return parts;
}

}  // namespace mist::blueprint
