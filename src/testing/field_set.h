#pragma once
// Field ownership as the API server keeps it in metadata.managedFields (KEP-555, structured-merge-diff): sets
// of field paths and the four operations of server-side apply on them. The server knows from its schemas
// which lists have keys; here a table of field names stands in for them, everything else is atomic. Plain
// values and pure functions; any thread.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::testing {

using encoding::Value;

/// A set of field paths. A path element is spelled as in FieldsV1: `f:name`, `k:{"name":"web"}`, `v:"x"`.
struct FieldSet {
  bool self = false;  ///< this path itself is a member
  std::map<std::string, FieldSet> children;

  bool empty() const { return !self && children.empty(); }
  /// "FieldsV1" both ways.
  Value to_fields_v1() const;
  static FieldSet from_fields_v1(const Value& fields);
  /// ".spec.template.spec.containers[name=\"web\"].image", as the server's conflict messages spell them.
  std::vector<std::string> paths() const;

  friend bool operator==(const FieldSet&, const FieldSet&) = default;
};

void add(FieldSet& to, const FieldSet& more);
FieldSet intersection(const FieldSet& a, const FieldSet& b);
FieldSet difference(const FieldSet& a, const FieldSet& b);

/// The paths of everything that a manager may own in `object`: not apiVersion, kind or system metadata.
FieldSet fields_of(const Value& object);

struct FieldChanges {
  FieldSet written;  ///< added or changed
  FieldSet removed;
};
FieldChanges compare_fields(const Value& before, const Value& after);

/// Writes `applied` over `live`: mappings and keyed lists item by item, everything else as a whole.
void merge_applied(Value& live, const Value& applied);
/// Removes the paths of `removed` of which `kept` holds nothing, and what becomes empty by that.
void remove_fields(Value& object, const FieldSet& removed, const FieldSet& kept);

}  // namespace mist::testing
