#include "encoding/value.h"

#include <algorithm>
#include <cmath>

#include <unordered_set>

#include "base/error.h"
#include "encoding/member_finder.h"

namespace mist::encoding {

Value Value::object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Object result;
  result.reserve(members.size());
  for (const auto& [key, value] : members) result.push_back({std::string(key), value});
  return Value(std::move(result));
}

bool Value::as_bool() const {
  MIST_CHECK(is_bool());
  return std::get<bool>(data_);
}
std::int64_t Value::as_int() const {
  MIST_CHECK(is_int());
  return std::get<std::int64_t>(data_);
}
std::uint64_t Value::as_uint() const {
  MIST_CHECK(kind() == Kind::UInt);
  return std::get<std::uint64_t>(data_);
}
double Value::as_double() const {
  if (is_int()) return static_cast<double>(std::get<std::int64_t>(data_));
  if (kind() == Kind::UInt) return static_cast<double>(std::get<std::uint64_t>(data_));
  MIST_CHECK(kind() == Kind::Double);
  return std::get<double>(data_);
}
const std::string& Value::as_string() const {
  MIST_CHECK(is_string());
  return std::get<std::string>(data_);
}
const Value::Array& Value::as_array() const {
  MIST_CHECK(is_array());
  return std::get<Array>(data_);
}
Value::Array& Value::as_array() {
  MIST_CHECK(is_array());
  return std::get<Array>(data_);
}
const Value::Object& Value::as_object() const {
  MIST_CHECK(is_object());
  return std::get<Object>(data_);
}
Value::Object& Value::as_object() {
  MIST_CHECK(is_object());
  return std::get<Object>(data_);
}

const Value* Value::find(std::string_view key) const {
  const Object* members = std::get_if<Object>(&data_);
  if (members == nullptr) return nullptr;
  // Kubernetes objects are small; a scan beats a hash table and keeps the order.
  const auto found = std::ranges::find(*members, key, &Member::key);
  return found == members->end() ? nullptr : &found->value;
}
Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

const Value* Value::at_path(std::initializer_list<std::string_view> keys) const {
  const Value* value = this;
  for (const std::string_view key : keys) {
    value = value->find(key);
    if (value == nullptr) return nullptr;
  }
  return value;
}

std::string_view Value::string_at(std::string_view key) const { return string_at({key}); }
std::string_view Value::string_at(std::initializer_list<std::string_view> keys) const {
  const Value* value = at_path(keys);
  return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

std::int64_t Value::int_at(std::string_view key, std::int64_t otherwise) const {
  return int_at({key}, otherwise);
}
std::int64_t Value::int_at(std::initializer_list<std::string_view> keys, std::int64_t otherwise) const {
  const Value* value = at_path(keys);
  return value != nullptr && value->is_int() ? value->as_int() : otherwise;
}

bool Value::is_true_at(std::string_view key) const { return is_true_at({key}); }
bool Value::is_true_at(std::initializer_list<std::string_view> keys) const {
  const Value* value = at_path(keys);
  return value != nullptr && value->is_bool() && value->as_bool();
}

std::vector<std::string> Value::texts_at(std::string_view key) const {
  std::vector<std::string> texts;
  const Value* const list = find(key);
  if (list == nullptr || !list->is_array()) return texts;
  for (const Value& each : list->as_array())
    if (each.is_string()) texts.push_back(each.as_string());
  return texts;
}

Value& Value::operator[](std::string_view key) {
  if (is_null()) data_ = Object();
  if (Value* existing = find(key)) return *existing;
  return as_object().emplace_back(std::string(key), Value()).value;
}
void Value::set(std::string_view key, Value value) { (*this)[key] = std::move(value); }
bool Value::erase(std::string_view key) {
  Object* members = std::get_if<Object>(&data_);
  return members != nullptr && std::erase_if(*members, [&](const Member& m) { return m.key == key; }) != 0;
}
void Value::push_back(Value value) {
  if (is_null()) data_ = Array();
  as_array().push_back(std::move(value));
}

bool Value::empty() const {
  return is_null() || (is_string() ? as_string().empty() : (is_array() || is_object()) && size() == 0);
}
std::size_t Value::size() const {
  if (is_array()) return as_array().size();
  return is_object() ? as_object().size() : 0;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Value::Kind::Double)
    return a.as_double() == b.as_double() || (std::isnan(a.as_double()) && std::isnan(b.as_double()));
  if (!a.is_object()) return a.data_ == b.data_;
  const auto& left = a.as_object();
  const auto& right = b.as_object();
  if (left.size() != right.size()) return false;
  const auto same = [](const Value::Member& x, const Value::Member& y) {
    return x.key == y.key && x.value == y.value;
  };
  if (std::ranges::equal(left, right, {}, &Value::Member::key, &Value::Member::key))
    return std::ranges::equal(left, right, same);
  // Another order: compare both in the order of their keys.
  const auto sorted = [](const Value::Object& members) {
    std::vector<const Value::Member*> order;
    order.reserve(members.size());
    for (const Value::Member& member : members) order.push_back(&member);
    std::ranges::stable_sort(order, {}, [](const Value::Member* m) -> const std::string& { return m->key; });
    return order;
  };
  return std::ranges::equal(sorted(left), sorted(right),
                            [&](const Value::Member* x, const Value::Member* y) { return same(*x, *y); });
}

void Value::sort_keys() {
  if (is_array()) {
    for (Value& item : as_array()) item.sort_keys();
  } else if (is_object()) {
    std::ranges::stable_sort(as_object(), {}, &Member::key);
    for (Member& member : as_object()) member.value.sort_keys();
  }
}

std::string_view kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Null:
      return "null";
    case Value::Kind::Bool:
      return "boolean";
    case Value::Kind::Int:
    case Value::Kind::UInt:
      return "integer";
    case Value::Kind::Double:
      return "number";
    case Value::Kind::String:
      return "string";
    case Value::Kind::Array:
      return "array";
    case Value::Kind::Object:
      return "object";
  }
  return "null";
}

bool nests_deeper(const Value& value, int levels) {
  if (!value.is_array() && !value.is_object()) return false;
  if (levels <= 0) return true;
  if (value.is_array())
    return std::ranges::any_of(value.as_array(),
                               [&](const Value& item) { return nests_deeper(item, levels - 1); });
  return std::ranges::any_of(
      value.as_object(), [&](const Value::Member& member) { return nests_deeper(member.value, levels - 1); });
}

void merge_keeping_nulls(Value& base, const Value& over) {
  if (!base.is_object() || !over.is_object()) {
    base = over;
    return;
  }
  overlay_members(base, over, merge_keeping_nulls, [](const Value& value) { return std::optional(value); });
}

void merge_into(Value& base, const Value& over) {
  if (!base.is_object() || !over.is_object()) {
    base = over;
    return;
  }
  std::unordered_set<const Value*> gone;
  overlay_members(
      base, over,
      [&](Value& mine, const Value& theirs) {
        if (theirs.is_null())
          gone.insert(&mine);
        else
          merge_into(mine, theirs);
      },
      [](const Value& value) { return value.is_null() ? std::nullopt : std::optional(value); });
  if (!gone.empty())
    std::erase_if(base.as_object(),
                  [&](const Value::Member& member) { return gone.contains(&member.value); });
}

}  // namespace mist::encoding
