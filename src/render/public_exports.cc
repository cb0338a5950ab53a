#include "render/public_exports.h"

#include <algorithm>
#include <optional>

#include "render/value_paths.h"

namespace mist::render {
namespace {

constexpr std::string_view kAll = ".";

bool has_same_keys(const Value& one, const Value& other) {
  return other.is_object() && one.size() == other.size() &&
         std::ranges::all_of(one.as_object(),
                             [&](const Value::Member& each) { return other.find(each.key) != nullptr; });
}

class Filter {
 public:
  Filter(const HiddenValues& secrets, std::vector<std::string>& hidden)
      : secrets_(secrets), hidden_(hidden) {}

  // nullopt: it is left out.
  std::optional<Value> shown(const Value& value, const Value* other, const std::string& path) {
    if (value.is_object()) return shown_object(value, other, path);
    if (value.is_array()) return shown_list(value, other, path);
    if (secrets_.hides(value) || (other != nullptr && *other != value)) return leave_out(path);
    return value;
  }

 private:
  std::optional<Value> leave_out(const std::string& path) {
    hidden_.push_back(path.empty() ? std::string(kAll) : path);
    return std::nullopt;
  }

  std::optional<Value> shown_object(const Value& value, const Value* other, const std::string& path) {
    const bool has_secret_key = std::ranges::any_of(
        value.as_object(), [&](const Value::Member& each) { return secrets_.hides(Value(each.key)); });
    if (has_secret_key || (other != nullptr && !has_same_keys(value, *other))) return leave_out(path);
    Value result = Value::object();
    for (const Value::Member& each : value.as_object()) {
      // The server stores no null.
      if (each.value.is_null()) continue;
      auto member =
          shown(each.value, other == nullptr ? nullptr : other->find(each.key), member_path(path, each.key));
      if (member) result.set(each.key, *std::move(member));
    }
    return result;
  }

  std::optional<Value> shown_list(const Value& value, const Value* other, const std::string& path) {
    if (other != nullptr && (!other->is_array() || other->size() != value.size())) return leave_out(path);
    Value::Array result;
    const std::size_t before = hidden_.size();
    for (std::size_t i = 0; i < value.size(); ++i) {
      auto item = shown(value.as_array()[i], other == nullptr ? nullptr : &other->as_array()[i],
                        fmt::format("{}[{}]", path, i));
      if (item) {
        result.push_back(*std::move(item));
        continue;
      }
      hidden_.resize(before);
      return leave_out(path);
    }
    return Value(std::move(result));
  }

  const HiddenValues& secrets_;
  std::vector<std::string>& hidden_;
};

// Says next to nothing of the other one.
char other_character(char c) {
  if (c >= '0' && c <= '9') return c == '7' ? '3' : '7';
  if (c >= 'a' && c <= 'z') return c == 'x' ? 'y' : 'x';
  if (c >= 'A' && c <= 'Z') return c == 'X' ? 'Y' : 'X';
  return c;
}

}  // namespace

PublicExports hidden_exports() { return {.hidden = {std::string(kAll)}}; }

PublicExports public_exports(const Value& exports, const Value* other, const HiddenValues& secrets) {
  PublicExports result;
  if (exports.is_null()) return result;
  if (auto values = Filter(secrets, result.hidden).shown(exports, other, ""))
    result.values = *std::move(values);
  return result;
}

Value with_other_secrets(Value values, const HiddenValues& secrets) {
  if (values.is_object()) {
    for (Value::Member& each : values.as_object())
      each.value = with_other_secrets(std::move(each.value), secrets);
  } else if (values.is_array()) {
    for (Value& each : values.as_array()) each = with_other_secrets(std::move(each), secrets);
  } else if (secrets.hides(values)) {
    if (values.is_string()) {
      std::string text = values.as_string();
      std::ranges::transform(text, text.begin(), other_character);
      return Value(std::move(text));
    }
    if (values.is_int()) return Value(values.as_int() + 1);
  }
  return values;
}

}  // namespace mist::render
