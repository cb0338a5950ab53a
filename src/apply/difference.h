#pragma once
// What applying an object would change, computed from the live object and its managed fields, so that an
// unchanged object costs no request: a field differs when the live value isn't what we want, or when we own
// it and no longer want it. Lists follow the ownership that the server recorded: by key, by value, or as a
// whole. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::apply {

using encoding::Value;

struct FieldDifference {
  std::string path;        ///< ".spec.replicas", ".spec.containers[name=web].image"
  Value before;            ///< null: absent
  Value after;             ///< null: absent
  std::uint32_t line = 0;  ///< of the wanted value in its file; 0: unknown, or a removal
};

/// `desired` as it would be applied; `live` with metadata.managedFields. Empty: applying changes nothing.
/// Never false negatives for fields that `desired` names or that `manager` owns through Apply; a difference
/// may be reported that the server would find to be none (a default it normalises), which costs one request
/// and changes nothing.
std::vector<FieldDifference> differences(const Value& desired, const Value& live, std::string_view manager);

}  // namespace mist::apply
