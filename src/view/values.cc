#include "view/values.h"

#include <algorithm>

namespace mist::view {

encoding::Value texts_value(const std::vector<std::string>& texts) {
  return encoding::Value(encoding::Value::Array(texts.begin(), texts.end()));
}

encoding::Value text_or_null(std::string_view text) {
  if (text.empty()) return {};
  return encoding::Value(text);
}
encoding::Value number_or_null(int number) {
  if (number < 0) return {};
  return encoding::Value(number);
}

encoding::Value identity_value(const apimachinery::ObjectKey& key,
                               std::initializer_list<std::pair<std::string_view, encoding::Value>> more) {
  encoding::Value identity = encoding::Value::object({{"group", key.group_kind.group},
                                                      {"kind", key.group_kind.kind},
                                                      {"namespace", text_or_null(key.ns)},
                                                      {"name", key.name}});
  for (const auto& [name, value] : more) identity.set(name, value);
  return identity;
}

std::string age(WallTime now, std::string_view time) {
  const auto then = parse_time(time);
  return then ? format_age(now - *then) : "-";
}

encoding::Value age_seconds(WallTime now, std::string_view time) {
  const auto then = parse_time(time);
  if (!then) return {};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - *then).count();
  return encoding::Value(std::max<std::int64_t>(seconds, 0));
}

}  // namespace mist::view
