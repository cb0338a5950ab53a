#pragma once
// Structural schemas, which is what the API server takes in a CustomResourceDefinition: a described contract
// is made one, as far as a schema can ask the same, and what the server would refuse is found before it is
// asked. The rules are those of apiextensions-apiserver (pkg/apiserver/schema, and validation of
// CustomResourceDefinitions). Pure; any thread.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"

namespace mist::blueprint {

using encoding::Value;

/// A place in a schema, from its root (".hosts[].name"; "" is the root), and something about it.
struct SchemaPlace {
  std::string path, what;
};

/// Gives it a type everywhere, or lets it keep what it doesn't name; makes one of two keywords where the
/// server takes only one; keeps fields that can't be changed from being removed, which no rule of their own
/// sees; fills defaults in where the server holds them against rules. Returns what it can no longer ask.
std::vector<SchemaPlace> make_structural(Value& schema);

/// The places that the server would refuse, whatever is done about them.
std::vector<SchemaPlace> refused_by_server(const Value& schema);

/// Whether an empty record can be one that it refuses although nothing in it is required. The server holds a
/// default against these, and doesn't fill in the defaults of its fields before.
bool asks_of_empty(const Value& schema);

/// The rule of Unchanged (mistletoe-contracts.ncl).
inline constexpr std::string_view kUnchangedRule = "self == oldSelf";

/// Whether make_structural() wrote the rule, so that a schema has it which asked the same before without it.
bool keeps_unchanged(const Value& rule);

struct UnknownField {
  std::string name;
  std::vector<std::string> known;  ///< the fields that are there instead
};

/// The first of the names of a path, from the root of the schema, that is none of the fields of a closed
/// record. nullopt: all are, or something on the way takes fields of any name.
std::optional<UnknownField> unknown_field(const Value& schema, std::span<const std::string> path);

/// A member of a schema that is a record; null: there is none.
const Value* record_at(const Value& schema, std::string_view keyword);

/// Fills defaults in, as the API server does, into what is there and into defaults; nulls of fields that
/// can't be null are dropped before. A default of null is none.
void fill_defaults(const Value& schema, Value& value);

}  // namespace mist::blueprint
