#pragma once
// A place in an object, and what stands there. Plain values; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

/// The names of the fields that lead to a place. In a list a number is an index (from 0), and any other name
/// means that field of each item: `items.metadata.name` of a collection gives the list of names.
struct FieldPath {
  std::vector<std::string> fields;
  std::string text;  ///< "spec.clusterIP"; a dot within a name is written `\.`; "." is the whole object
  /// "nodes[0]": the first name that ends as kubectl writes the item of a list. Here a bracket is part of the
  /// name, and no field is called that unless it is written `\[`. Empty: there is none.
  std::string bracketed = {};

  /// Invalid: it is empty, or has an empty name.
  static Result<FieldPath> parse(std::string_view text);
  /// Of maps alone. Null: the object has nothing there.
  const Value* find(const Value& object) const;
  /// nullopt: nothing is there, or not yet. Invalid: it leads through a value that has no fields.
  Result<std::optional<Value>> read(const Value& object) const;
};

}  // namespace mist::blueprint
