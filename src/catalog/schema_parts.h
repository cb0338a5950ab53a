#pragma once
// A JSON Schema as the form of inputs reads it: which of its parts speak of one input, by references and
// alternatives too, and below which of them there are secrets. References may be cyclic, lead to nothing, or
// double at each step: the work is bounded, and what can't be seen counts as a secret. One thread.

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "encoding/schema_message.h"
#include "encoding/value.h"

namespace mist::catalog {

/// The strings of a list, in their order: many keys are looked for in a long `required`. None if it is no
/// list.
std::vector<std::string_view> sorted_texts(const encoding::Value& list);

struct SchemaParts {
  std::vector<const encoding::Value*> sure = {};   ///< hold for each value: its own, `$ref`, `allOf`
  std::vector<const encoding::Value*> maybe = {};  ///< hold for some: `anyOf`, `then`, `patternProperties`
  bool is_secret = false;  ///< one of them, or of an object around it, says so, or leads nobody knows where

  /// The keyword in the first of those that surely hold; null if none has it.
  const encoding::Value* find(std::string_view keyword) const;
};

class InputSchema {
 public:
  /// `schema` outlives this.
  explicit InputSchema(const encoding::Value& schema);

  SchemaParts root();
  SchemaParts member(const SchemaParts& object, std::string_view key);
  bool requires_member(const SchemaParts& object, std::string_view key);
  /// Whether it is a secret, or a value of it may have one inside.
  bool holds_secrets(const SchemaParts& parts) const;

 private:
  void find_secrets();
  bool leads_elsewhere(const encoding::Value& node);
  void complete(SchemaParts& parts);

  const encoding::Value& schema_;
  encoding::PointerFinder pointers_;
  std::unordered_set<const encoding::Value*> secrets_;  // with all that they are in, or that refers to them
  std::unordered_map<const encoding::Value*, std::vector<std::string_view>> required_;  // sorted
};

}  // namespace mist::catalog
