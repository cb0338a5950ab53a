#include "apimachinery/managed_fields.h"

#include <optional>

#include "encoding/member_finder.h"

namespace mist::apimachinery {
namespace {

using encoding::Value;

// Both are fieldsV1 of one place. A leaf owns the place; beside children that is spelled as the member ".".
// A value that is not an object counts as empty, whoever wrote it.
void add_fields(Value& to, const Value& more) {
  if (!to.is_object()) to = Value::object();
  const bool to_leaf = to.empty(), more_leaf = !more.is_object() || more.empty();
  if (more_leaf) {
    if (!to_leaf) to.set(".", Value::object());
    return;
  }
  encoding::overlay_members(to, more, add_fields,
                            [](const Value& value) -> std::optional<Value> { return value; });
  if (to_leaf) to.set(".", Value::object());
}

}  // namespace

const Value::Array& managed_fields(const Value& object) {
  static const Value::Array kNone;
  const Value* entries = object.at_path({"metadata", "managedFields"});
  return entries != nullptr && entries->is_array() ? entries->as_array() : kNone;
}

bool is_applied_by(const Value& entry, std::string_view manager) {
  return entry.string_at("manager") == manager && entry.string_at("operation") == "Apply" &&
         entry.string_at("subresource").empty();
}

void keep_field_owners(Value& object) {
  Value* const metadata = object.find("metadata");
  Value* const entries = metadata == nullptr ? nullptr : metadata->find("managedFields");
  if (entries == nullptr || !entries->is_array()) return;
  for (Value& entry : entries->as_array())
    for (const std::string_view unread : {"time", "apiVersion", "fieldsType"}) entry.erase(unread);
}

void add_field_set(Value& to, const Value& more) {
  if (!more.is_object() || more.empty()) return;
  if (!to.is_object() || to.empty())
    to = more;
  else
    add_fields(to, more);
}

Value field_set_without(const Value& fields, const Value& known) {
  Value rest = Value::object();
  if (!fields.is_object()) return rest;
  const encoding::MemberFinder finder(&known);
  const auto keep = [&](const std::string& key, Value value) {
    Value::Member& kept = rest.as_object().emplace_back();
    kept.key = key;
    kept.value = std::move(value);
  };
  for (const Value::Member& member : fields.as_object()) {
    const Value* const there = finder.find(member.key);
    if (there == nullptr) {
      keep(member.key, member.value);
      continue;
    }
    if (!member.value.is_object() || member.value.empty()) continue;
    Value below = field_set_without(member.value, *there);
    const bool only_itself = below.size() == 1 && below.find(".") != nullptr;
    if (!below.empty() && !only_itself) keep(member.key, std::move(below));
  }
  return rest;
}

}  // namespace mist::apimachinery
