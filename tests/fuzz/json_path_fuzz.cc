// JSONPath of mistletoe.dev/ready-when: the path stands on the first line, the object after it.
#include "apimachinery/json_path.h"

#include "apply/wait/waiting_rules.h"
#include "encoding/json.h"
#include "targets.h"

namespace mist::fuzz {

void json_path(std::string_view bytes) {
  Input input(bytes);
  const std::string_view text = input.line();
  const auto object = encoding::parse_json(input.rest());
  const encoding::Value root = object.ok() ? *object : encoding::Value();
  if (const auto path = apimachinery::JsonPath::parse(text); path.ok()) {
    for (const encoding::Value* const found : path->select(root)) (void)apimachinery::scalar_text(*found);
    if (path->text() != text) fail("another path", path->text());
  } else {
    check_error(path.error());
  }
  const auto rule = apply::ReadyWhen::parse(text);
  if (!rule.ok()) return check_error(rule.error());
  if (!rule->holds(root) && rule->explain(root).empty()) fail("it doesn't hold, and nobody says why", text);
}

}  // namespace mist::fuzz
