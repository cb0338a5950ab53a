#pragma once
// Fields that the API server doesn't let anybody change once an object is there, as far as its built-in types
// are known: such a change needs the object deleted and recreated. Pure; any thread.

#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "apply/fields/difference.h"

namespace mist::apply {

struct Immutability {
  std::vector<std::string> fields;  ///< paths of differences that can't be made
  /// Whether the server has to be asked: a custom resource's rules, or a field that may change one way only.
  bool ask = false;
};

/// Those of `differences` that can't be made on `live`.
Immutability immutable_fields(const apimachinery::ObjectKey& key, const Value& live,
                              const std::vector<FieldDifference>& differences);

}  // namespace mist::apply
