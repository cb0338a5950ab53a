#pragma once
// Lists of the built-in types whose items have keys (OpenAPI: x-kubernetes-list-map-keys), and sets.
// Server-side apply merges them by key, so it refuses a list with two items of one key; kubectl's own merge
// doesn't. They are found here before anything is written. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/object.h"

namespace mist::apply {

struct DuplicateItem {
  std::string list;                       ///< "spec.template.spec.containers[0].env"
  std::string key;                        ///< "name=LOG_LEVEL"; of a set its item
  std::uint32_t line = 0;                 ///< of the later one; 0: unknown
  std::uint32_t first_line = 0;           ///< of the earlier one
  const encoding::Value* item = nullptr;  ///< the later one, inside of the object
};

/// Items whose key an earlier item of their list has, in the order of the table; none of custom resources.
std::vector<DuplicateItem> duplicate_items(const apimachinery::Object& object);

/// The same for one list, by these `keys`; without keys it is a set. Appends to `found`.
void find_duplicates(const encoding::Value& list, const std::vector<std::string_view>& keys,
                     const std::string& path, std::vector<DuplicateItem>& found);

}  // namespace mist::apply
