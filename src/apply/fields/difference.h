#pragma once
// The changes that applying an object would make, computed from the live object and its managed fields, so
// that an unchanged object costs no request: a field differs when the live value isn't what we want, or when
// we own it and no longer want it. Values compare as JSON, except where a schema of the server says that it
// stores them in another spelling (stored_forms.h). Lists and maps follow the ownership that the server
// recorded, ours or another manager's: by key, by value, by member, or as a whole. As a whole means that a
// member which isn't wanted goes, and that an empty list or map is wanted empty; in what is owned by parts,
// others keep theirs. But a custom resource's list that is wanted empty is wanted so, whoever owns its items.
// Other changes by the server (defaults inside of a whole, conversion, admission) are differences here, and
// server_made.h remembers them. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::apply {

using encoding::Value;

/// One step of the way to a field: into a member, or to an item of a list.
struct PathStep {
  enum class Kind : std::uint8_t {
    Field,  ///< the member `name`
    Index,  ///< the item at `index`
    Key,    ///< the item whose members are those of `key`
    Item,   ///< the item that equals `key`
  };
  Kind kind = Kind::Field;
  std::string name = {};
  std::size_t index = 0;
  Value key = {};
};

struct FieldDifference {
  std::string path = {};             ///< ".spec.replicas", ".spec.containers[name=web].image"
  Value before = {};                 ///< null: absent
  Value after = {};                  ///< null: absent
  std::uint32_t line = 0;            ///< of the wanted value in its file; 0: unknown, or a removal
  std::vector<PathStep> steps = {};  ///< the same way as `path`
  /// Other managers that own the field. Of a change, and inside of a whole: the server refuses it, unless it
  /// is forced. Of another removal: the field stays, and is theirs alone.
  std::vector<std::string> managers = {};
  /// The server may find that nothing changes: a default or a normal form that isn't known here.
  bool uncertain = false;
  /// The server made this live value of this wanted one when it was last applied. Whether it still does is
  /// uncertain too.
  bool made = false;
  /// Inside of what is written as a whole: what isn't wanted there goes, whoever owns it.
  bool in_whole = false;
  /// A list or a map of a custom resource becomes empty, which applying can't do (empty_first.h).
  bool empties = false;

  bool removal() const { return after.is_null(); }
  /// A removal that only ends our part in the field.
  bool stays_with_others() const { return removal() && !in_whole && !managers.empty(); }
};

/// `desired` as it would be applied; `live` with metadata.managedFields. Empty: applying changes no value.
/// Never false negatives for fields that `desired` names or that `manager` owns through Apply; an
/// `uncertain` difference may be one that the server would find to be none.
std::vector<FieldDifference> differences(const Value& desired, const Value& live, std::string_view manager);

/// The place that a path leads to, exactly; null: it isn't there. Items by their position can't be followed:
/// the list as a whole stands for them.
const Value* place_at(const Value& object, const std::vector<PathStep>& steps);

/// `live` with the differences carried out: what the object will look like.
Value with_differences(Value live, const std::vector<FieldDifference>& differences);

enum class StatusOf : std::uint8_t { Controllers, Applied };
/// Whether two answers of the server hold the same object: all but resourceVersion, generation, the times and
/// the order in managedFields, `ignored_label`, and a status that isn't applied.
bool same_object(const Value& a, const Value& b, std::string_view ignored_label,
                 StatusOf status = StatusOf::Controllers);

}  // namespace mist::apply
