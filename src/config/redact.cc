#include "config/redact.h"

#include "base/secret_names.h"

namespace mist::config {

using encoding::Value;

Value redact(Value value) {
  if (value.is_string()) return Value(redact_urls(value.as_string()));
  if (value.is_array()) {
    for (Value& item : value.as_array()) item = redact(std::move(item));
  } else if (value.is_object()) {
    for (auto& [key, member] : value.as_object())
      member = member.is_string() && names_secret(key) ? Value("***") : redact(std::move(member));
  }
  return value;
}

}  // namespace mist::config
