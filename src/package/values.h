#pragma once
// From the flags that carry values to one document, by Helm's rules: files in their order, deep; then --set
// and its kin in theirs. Null removes. Pure: file contents are given. Any thread.

#include <span>
#include <string>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::package {

using encoding::Value;

enum class ValuesFlag : std::uint8_t {
  File,       ///< -f FILE: `content` is the file's text
  Set,        ///< --set a.b[0]=1,c=x, or the original's YAML form: 'a: 1, b: x'
  SetString,  ///< --set-string a=1: always text
  SetFile,    ///< --set-file a=FILE: `text` is the path of the value, `content` the file's text
};

struct ValuesInput {
  ValuesFlag flag = ValuesFlag::File;
  std::string text;     ///< as given on the command line
  std::string content;  ///< of the file that it names
};

/// Always an object. Invalid, naming the flag or file with line and column.
Result<Value> merge_values(std::span<const ValuesInput> inputs);

}  // namespace mist::package
