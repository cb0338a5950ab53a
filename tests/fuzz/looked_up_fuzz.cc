// Answers of `lookup`, whose secrets are hidden in texts, and the patterns that grant them: the pattern on
// the first line, the object after it.
#include "package/looked_up.h"

#include "base/text_mask.h"
#include "encoding/json.h"
#include "package/lookup_pattern.h"
#include "package/secrets.h"
#include "targets.h"

namespace mist::fuzz {

void looked_up(std::string_view bytes) {
  using namespace package;
  Input input(bytes);
  const std::string_view text = input.line();
  for (const auto& pattern : {LookupPattern::parse(text), LookupPattern::parse_secrets(text)}) {
    if (!pattern.ok()) {
      check_error(pattern.error());
      continue;
    }
    if (pattern->ns != LookupPattern::kAny && pattern->ns != LookupPattern::kOwnNamespace &&
        pattern->covers({"", "Secret"}, pattern->ns + "x", "db", "shop"))
      fail("it covers another namespace", text);
  }
  const auto object = encoding::parse_json(input.rest());
  if (!object.ok()) return;
  const auto values = looked_up_in_texts(values_of_secrets(*object));
  std::string all;
  for (const auto& [name, value] : values) {
    if (value.reveal().size() < kShortestInText) fail("a value that stands in words by chance", name);
    all += "x" + value.reveal() + "y";
  }
  const std::string masked = without_secrets(all, mask_of(values));
  for (const auto& [name, value] : values)
    if (masked.find(value.reveal()) != std::string::npos && value.reveal().find('*') == std::string::npos)
      fail("a secret that shows", name);
}

}  // namespace mist::fuzz
