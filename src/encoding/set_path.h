#pragma once
// `--set a.b[0].c=1`: Helm's strvals grammar, so that what people know works.
//
//   assignments = assignment { "," assignment } [ "," ]
//   assignment  = path "=" ( value | "{" [ value { "," value } ] "}" )
//   path        = key { "." key | "[" index "]" }
//
// A backslash takes the next character as it is: `nodeSelector.kubernetes\.io/os=linux`, `list=a\,b`. Pure
// functions; any thread.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::encoding {

/// A member's key, or an index into a list.
using PathStep = std::variant<std::string, std::size_t>;

struct SetAssignment {
  std::vector<PathStep> path;
  Value value;
};

enum class SetValues {
  Typed,    ///< --set: true, false, null (in any case) and whole numbers are those; everything else, 1.10 and
            ///< 007 too, is text
  Strings,  ///< --set-string, --set-file: all text
};

/// How "{}" and "{a,}" are read.
enum class SetLists {
  AsMeant,  ///< [] and ["a"]
  AsHelm,   ///< [""] and ["a",""]
};

/// All assignments of one flag. Errors: Invalid, with the column in `where`.
Result<std::vector<SetAssignment>> parse_set(std::string_view text, SetValues values = SetValues::Typed,
                                             SetLists lists = SetLists::AsMeant);

/// A path alone: `a.b[0].c`. Errors as above.
Result<std::vector<PathStep>> parse_set_path(std::string_view text);

/// `a.b[0].c`, with backslashes where keys need them; parse_set_path reads it back.
std::string to_string(std::span<const PathStep> path);

/// Puts `value` there, making mappings and lists on the way (gaps in a list are null). A null value is
/// stored: merge_into takes it as "remove the default". Errors: Invalid if something on the way is neither
/// null nor of the kind that the path needs.
Status set_at(Value& target, std::span<const PathStep> path, Value value);
/// How many list items there may have to be for it: set_at() refuses more than 65,536.
std::size_t items_of(std::span<const PathStep> path);

/// parse_set, then set_at for each.
Status apply_set(Value& target, std::string_view text, SetValues values = SetValues::Typed,
                 SetLists lists = SetLists::AsMeant);

}  // namespace mist::encoding
