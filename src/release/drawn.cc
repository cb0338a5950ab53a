#include "release/drawn.h"

#include <algorithm>
#include <limits>

namespace mist::release {

using encoding::Value;

namespace {

Error damaged() {
  return error(ErrorKind::Internal, "the release record is damaged: its drawn fields can't be read");
}

Value texts(const std::vector<std::string>& list) { return Value(Value::Array(list.begin(), list.end())); }

Result<std::vector<std::string>> texts_at(const Value& value, std::string_view key) {
  std::vector<std::string> list;
  const Value* const found = value.find(key);
  if (found == nullptr || found->is_null()) return list;
  if (!found->is_array()) return damaged();
  for (const Value& item : found->as_array()) {
    if (!item.is_string()) return damaged();
    list.push_back(item.as_string());
  }
  return list;
}

Status read_rotations(const Value& value, std::string_view key, Rotations& rotations) {
  const Value* const found = value.find(key);
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_object()) return damaged();
  for (const Value::Member& member : found->as_object()) {
    if (!member.value.is_int() || member.value.as_int() < 0 ||
        member.value.as_int() > std::numeric_limits<std::uint32_t>::max())
      return damaged();
    rotations[member.key] = static_cast<std::uint32_t>(member.value.as_int());
  }
  return {};
}

Status read_fields(const Value& value, std::string_view name, std::vector<DrawnField>& fields) {
  const Value* const found = value.find(name);
  if (found == nullptr || found->is_null()) return {};
  if (!found->is_array()) return damaged();
  for (const Value& entry : found->as_array()) {
    DrawnField field;
    field.key.group_kind = {std::string(entry.string_at("group")), std::string(entry.string_at("kind"))};
    field.key.ns = entry.string_at("namespace");
    field.key.name = entry.string_at("name");
    field.path = entry.string_at("path");
    MIST_TRY(field.secrets, texts_at(entry, "secrets"));
    if (field.key.group_kind.kind.empty() || field.key.name.empty() || field.path.empty()) return damaged();
    fields.push_back(std::move(field));
  }
  return {};
}

Value fields_value(const std::vector<DrawnField>& list) {
  Value::Array fields;
  for (const DrawnField& field : list)
    fields.push_back(Value::object({{"group", field.key.group_kind.group},
                                    {"kind", field.key.group_kind.kind},
                                    {"namespace", field.key.ns},
                                    {"name", field.key.name},
                                    {"path", field.path},
                                    {"secrets", texts(field.secrets)}}));
  return Value(std::move(fields));
}

Value rotations_value(const Rotations& rotations) {
  Value value = Value::object();
  for (const auto& [name, count] : rotations) value.set(name, count);
  return value;
}

}  // namespace

Rotations Drawn::used() const {
  Rotations all = highest;
  for (const std::string& name : secrets) all.try_emplace(name, 0);
  for (const auto& [name, number] : rotations) all[name] = std::max(all[name], number);
  return all;
}

void Drawn::remember(const Rotations& earlier) {
  const Rotations known = used();
  for (const auto& [name, number] : earlier) {
    const auto own = known.find(name);
    if (own == known.end() || own->second < number) highest[name] = number;
  }
}

Value to_value(const Drawn& drawn) {
  Value::Array asked;
  for (const Asked& each : drawn.asked)
    asked.push_back(Value::object({{"op", each.operation}, {"digest", each.digest}}));
  Value result = Value::object({{"clock", drawn.clock},
                                {"rotations", rotations_value(drawn.rotations)},
                                {"unnamed", drawn.unnamed},
                                {"secrets", texts(drawn.secrets)},
                                {"fields", fields_value(drawn.fields)},
                                {"asked", Value(std::move(asked))}});
  if (drawn.own_chart_seeds) result.set("chartSeeds", "own");
  if (!drawn.highest.empty()) result.set("highest", rotations_value(drawn.highest));
  if (!drawn.looked_up.empty()) result.set("lookedUp", fields_value(drawn.looked_up));
  return result;
}

Result<Drawn> drawn_from_value(const Value& value) {
  Drawn drawn;
  if (value.is_null()) return drawn;
  if (!value.is_object()) return damaged();
  drawn.clock = value.string_at("clock");
  drawn.unnamed = value.is_true_at("unnamed");
  drawn.own_chart_seeds = value.string_at("chartSeeds") == "own";
  MIST_TRY_VOID(read_rotations(value, "rotations", drawn.rotations));
  MIST_TRY_VOID(read_rotations(value, "highest", drawn.highest));
  MIST_TRY(drawn.secrets, texts_at(value, "secrets"));
  MIST_TRY_VOID(read_fields(value, "fields", drawn.fields));
  MIST_TRY_VOID(read_fields(value, "lookedUp", drawn.looked_up));
  if (const Value* asked = value.find("asked"); asked != nullptr && asked->is_array()) {
    for (const Value& entry : asked->as_array())
      drawn.asked.push_back({std::string(entry.string_at("op")), std::string(entry.string_at("digest"))});
  }
  return drawn;
}

}  // namespace mist::release
