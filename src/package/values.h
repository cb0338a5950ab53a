#pragma once
// From the flags that carry values to one document, by Helm's rules: files in their order, deep; then all
// --set-json, then all --set, --set-string, --set-file and --set-literal, each kind in its order. Null
// removes. Pure: file contents are given. Any thread.

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::package {

using encoding::Value;

enum class ValuesFlag : std::uint8_t {
  File,        ///< -f FILE: `content` is the file's text
  Set,         ///< --set a.b[0]=1,c=x, or the original's YAML form: 'a: 1, b: x'
  SetString,   ///< --set-string a=1: always text
  SetFile,     ///< --set-file a=FILE: `text` is the path of the value, `content` the file's text
  SetJson,     ///< --set-json a=[1],b={"c":2}, or one object
  SetLiteral,  ///< --set-literal a.b=TEXT: everything behind the = as it is, backslashes and commas too
};

/// Helm's order (cli/values.Options.MergeValues): by kind, whatever the order on the command line.
inline constexpr std::array kMergeOrder{ValuesFlag::File,      ValuesFlag::SetJson, ValuesFlag::Set,
                                        ValuesFlag::SetString, ValuesFlag::SetFile, ValuesFlag::SetLiteral};
/// "-f", "--set", ….
std::string_view flag_name(ValuesFlag flag);

/// How whole numbers of a file are read. Charts can tell an integer from a float (they print 1e+06 for a
/// million from a file, 1000000 for one from --set), so theirs are read as Helm reads them. The rest of their
/// files is read as Helm reads it, too: several documents, and the last of two equal keys, with a warning.
/// Files of other packages have one document, and a key twice is an error.
enum class Numbers : std::uint8_t { AsWritten, AsHelm };

struct ValuesInput {
  ValuesFlag flag = ValuesFlag::File;
  std::string text;     ///< as given on the command line
  std::string content;  ///< of the file that it names
};

/// Always an object. Invalid, naming the flag or file with line and column. `events`, if any, get the
/// warnings.
Result<Value> merge_values(std::span<const ValuesInput> inputs, Numbers numbers = Numbers::AsWritten,
                           EventSink* events = nullptr);

/// Whether both are written as the same JSON: a whole number of a file and of a flag is one value, whichever
/// type it has for a chart. Members may be in any order.
bool same_values(Value one, Value other);

/// Numbers::AsHelm of values that are no file's: every number a float, as Go decodes JSON into `any`.
void make_floats(Value& value);

}  // namespace mist::package
