#pragma once
// Words for a violated JSON Schema keyword, and the places in a schema that pointers and references name.
// Pure; any thread.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encoding/member_finder.h"
#include "encoding/value.h"

namespace mist::encoding {

/// The value that a JSON pointer (RFC 6901) names below `value`; null if there is none.
const Value* at_pointer(const Value& value, std::string_view pointer);

/// The same for many pointers into values that stay where they are: members of large objects are found
/// without a scan for each. One thread.
class PointerFinder {
 public:
  const Value* at(const Value& value, std::string_view pointer);
  /// A member.
  const Value* find(const Value& object, std::string_view key);
  /// As local_reference() below.
  const Value* local_reference(const Value& schema, const Value& node);

 private:
  std::unordered_map<const Value*, MemberFinder> finders_;
};

/// As above, in a schema, where a step "$ref" goes on in what the reference names.
const Value* at_schema_pointer(const Value& schema, std::string_view pointer);

/// The target of a local reference ("#/$defs/port") in `node`; null if it is none.
const Value* local_reference(const Value& schema, const Value& node);

struct SchemaMessage {
  std::string text;          ///< "replicas: must be integer, is string \"three\""
  std::string member = {};   ///< as SchemaIssue::member
  bool text_wanted = false;  ///< as SchemaIssue::text_wanted
};

enum class ShowValue : bool { No, Yes };

/// No: a schema on this path says that the value is a secret, with `writeOnly: true` or `format: password`.
ShowValue shows_value(const Value& schema, std::string_view schema_path);

/// "must be "a" or "b", is "c"".
std::string must_be_among(const Value& choices, const Value& instance, ShowValue show);

/// At least one; one for each member that shouldn't be there, at most 20. `validator_says` stands in where we
/// know nothing better.
std::vector<SchemaMessage> schema_messages(const Value& schema, std::string_view schema_path,
                                           const Value& instance, std::string_view instance_path,
                                           std::string_view validator_says);

}  // namespace mist::encoding
