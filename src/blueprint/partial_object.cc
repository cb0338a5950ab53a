#include "blueprint/partial_object.h"

#include "blueprint/schema_sample.h"
#include "blueprint/structural_schema.h"

namespace mist::blueprint {
namespace {

// Never null, of which a function could take nothing.
Value some_value(const Value& schema, std::string_view name) {
  Value some = sample_of(schema, Filling::Required, 0, name);
  if (!some.is_null()) return some;
  return schema.string_at("type") == "string" ? Value(name) : Value::object();
}

void complete(const Value& schema, Value& value) {
  if (const Value* const items = schema.find("items"); items != nullptr && value.is_array())
    for (Value& each : value.as_array()) complete(*items, each);
  if (!value.is_object()) return;
  const Value* const fields = schema.find("properties");
  for (const std::string& name : schema.texts_at("required")) {
    const Value* const field = fields == nullptr ? nullptr : fields->find(name);
    const bool has_default = field != nullptr && field->find("default") != nullptr;
    if (value.find(name) == nullptr && !has_default)
      value.set(name, field == nullptr ? Value::object() : some_value(*field, name));
  }
  if (fields != nullptr && fields->is_object())
    for (const Value::Member& field : fields->as_object())
      if (Value* const there = value.find(field.key)) complete(field.value, *there);
  if (const Value* const others = schema.find("additionalProperties");
      others != nullptr && others->is_object())
    for (Value::Member& member : value.as_object()) complete(*others, member.value);
}

}  // namespace

std::optional<Value> completed(const Value& schema, const Value& value) {
  Value whole = value;
  fill_defaults(schema, whole);
  complete(schema, whole);
  fill_defaults(schema, whole);  // of the records that are new
  return whole == value ? std::nullopt : std::optional(std::move(whole));
}

void take_out_filled(const Value& before, const Value& filled, Value& converted) {
  if (filled.is_array() && before.is_array() && converted.is_array() && filled.size() == before.size() &&
      filled.size() == converted.size())
    for (std::size_t i = 0; i < filled.size(); ++i)
      take_out_filled(before.as_array()[i], filled.as_array()[i], converted.as_array()[i]);
  if (!filled.is_object() || !before.is_object() || !converted.is_object()) return;
  for (const Value::Member& each : filled.as_object()) {
    Value* const there = converted.find(each.key);
    if (there == nullptr) continue;
    if (const Value* const was = before.find(each.key); was != nullptr)
      take_out_filled(*was, each.value, *there);
    else if (*there == each.value)
      converted.erase(each.key);
  }
}

}  // namespace mist::blueprint
