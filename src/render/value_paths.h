#pragma once
// Paths of values inside an object, as the record names them: ".data.password",
// ".spec.containers[name=web].env[0].value". Pure; any thread.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "encoding/value.h"

namespace mist::render {

using encoding::Value;

/// Whether all items of the list are objects that have a name, each its own.
inline bool is_named_list(const Value& list) {
  std::set<std::string_view> names;
  return list.size() > 0 && std::ranges::all_of(list.as_array(), [&](const Value& item) {
           return !item.string_at("name").empty() && names.insert(item.string_at("name")).second;
         });
}

inline std::string member_path(const std::string& path, std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
  return plain ? fmt::format("{}.{}", path, name) : fmt::format("{}[\"{}\"]", path, name);
}

/// Calls `each` with every child and its path.
template <typename Each>
void for_each_child(const Value& value, const std::string& path, const Each& each) {
  if (value.is_object()) {
    for (const Value::Member& member : value.as_object()) each(member_path(path, member.key), member.value);
  } else if (value.is_array()) {
    const bool named = is_named_list(value);
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Value& item = value.as_array()[i];
      each(named ? fmt::format("{}[name={}]", path, item.string_at("name")) : fmt::format("{}[{}]", path, i),
           item);
    }
  }
}

/// By path.
using Nodes = std::map<std::string, const Value*>;

/// Every value below `value`, by its path.
inline void collect(const Value& value, const std::string& path, Nodes& nodes) {
  nodes[path] = &value;
  for_each_child(value, path,
                 [&](const std::string& child, const Value& below) { collect(below, child, nodes); });
}
inline Nodes nodes_of(const Value& value) {
  Nodes nodes;
  collect(value, "", nodes);
  return nodes;
}

}  // namespace mist::render
