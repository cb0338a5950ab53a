#pragma once
// JSONPath as `kubectl wait --for=jsonpath=…` and `kubectl get -o jsonpath` write it, without what makes
// text:
// `{.status.phase}`, `{.status.conditions[?(@.type=="Ready")].status}`, `{.items[*].name}`, `{.a['b.c']}`,
// `{.list[-1]}`. A plain value; any thread for const use.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::apimachinery {

class JsonPath {
 public:
  /// With or without the braces; a leading `$` is allowed. Invalid: says what is wrong, and at which
  /// character.
  static Result<JsonPath> parse(std::string_view text);

  /// Everything that the path leads to, in the document's order; nothing where a step is missing. The
  /// pointers live as long as `root`.
  std::vector<const encoding::Value*> select(const encoding::Value& root) const;

  /// As it was given.
  const std::string& text() const { return text_; }

 private:
  enum class StepKind : std::uint8_t { Member, Index, All, Filter };
  enum class Comparison : std::uint8_t { Exists, Equal, NotEqual };
  struct Step {
    StepKind kind = StepKind::Member;
    std::string member = {};
    std::int64_t index = 0;                // negative: from the end
    std::vector<std::string> filter = {};  // members below @
    Comparison comparison = Comparison::Exists;
    encoding::Value operand = {};
  };
  class Parser;
  static bool holds(const Step& step, const encoding::Value& item);
  static void follow(const Step& step, const encoding::Value& from, std::vector<const encoding::Value*>& to);

  std::string text_;
  std::vector<Step> steps_;
};

/// How kubectl compares and prints a scalar: strings as they are, true, 3, 0.5; null is "". Objects and
/// arrays as JSON.
std::string scalar_text(const encoding::Value& value);

}  // namespace mist::apimachinery
