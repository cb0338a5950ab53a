#pragma once
// JSON Schema 2020-12, as packages declare their inputs with it. Messages are for the person who wrote the
// values: "replicas: must be integer, is string \"three\"". A `$ref` may only point into the schema itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::encoding {

struct SchemaIssue {
  std::string instance_path;  ///< JSON pointer (RFC 6901) to the value that is wrong; "": the whole document
  std::string schema_path;    ///< JSON pointer to the keyword that says so
  std::string message;        ///< with the path as `--set` would write it
  std::string member = {};    ///< of the value, which shouldn't be there; empty: the value itself is wrong
  bool text_wanted = false;   ///< it is a number or a boolean where text is wanted

  /// The JSON pointer to what should be another, or shouldn't be there.
  std::string fault() const;
};

/// The line of what `instance_path` names in `value`, or of the nearest around it that stands in a text; 0:
/// nothing does.
std::uint32_t line_at(const Value& value, std::string_view instance_path);

/// The work that validations may still do, in steps of schema_cost.h, and the alternatives that they may
/// compile to say which one a value nearly fits. At first what a single validation may: about a second, and
/// where every step finds a mistake, which the validator keeps until it is done, half a GiB. The rest is for
/// what they compile, where its costly parts may apply to no value. Far beyond what real schemas need.
struct ValidationBudget {
  std::uint64_t steps = 2'000'000;
  std::size_t alternatives = 32;
  /// The validator follows them when it compiles a schema, each chain in quadratic time and on its stack.
  std::size_t references = 10'000;
  /// Of all patterns together: some hundred real ones. A compiled one may have thousands of times its size.
  std::size_t pattern_bytes = std::size_t{64} << 10;
  std::size_t schema_bytes = std::size_t{8} << 20;  ///< about, as JSON
};

/// A compiled schema. Any thread; validating doesn't change it.
class Schema {
 public:
  /// Errors: Invalid (no schema, a pattern that can't be compiled, a reference outside of it or back to
  /// itself without consuming anything, more than 100,000 defaults).
  static Result<Schema> compile(const Value& schema);

  /// Empty: the value is as the schema wants it. At most 100 issues. A value that nests more than 128 levels
  /// is one issue; so is work beyond 2 million steps, which is counted before it begins.
  std::vector<SchemaIssue> validate(const Value& value) const;

  const Value& value() const { return schema_; }

 private:
  struct Free {
    void operator()(void* handle) const;
  };
  Schema(Value schema, void* handle) : schema_(std::move(schema)), handle_(handle) {}

  Value schema_;
  std::unique_ptr<void, Free> handle_;
};

/// As Schema::validate, for a schema that is used once, with a budget that several such share. Nothing: it is
/// no schema, or the budget doesn't suffice.
std::optional<std::vector<SchemaIssue>> validate_within(ValidationBudget& budget, const Value& schema,
                                                        const Value& value);

/// The values that a schema's `default`s give: those of its properties, at every depth. A property without a
/// default of its own becomes an object if its own properties' defaults satisfy its `required`, whatever its
/// conditions: packages rely on what they were given so far. Always an object.
Value schema_defaults(const Value& schema);

/// Fills defaults into the objects that are in `value`: through properties, items, additionalProperties (not
/// beside patternProperties) and local references. `given` is what was laid over schema_defaults() to get
/// `value`: where it has null, the default stays away. An object whose defaults are all there doesn't change.
/// Beside oneOf, anyOf, not, if, dependent… and maxProperties, also of a part of allOf and of what a $ref
/// names, only properties with a default of their own are filled in, as far as schema_defaults() hasn't given
/// the others.
/// Invalid: more than a million members and items are looked at, or the defaults are more than 16 MiB.
Status fill_schema_defaults(const Value& schema, Value& value, const Value& given);

}  // namespace mist::encoding
