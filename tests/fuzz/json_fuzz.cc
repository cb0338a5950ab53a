// JSON: any bytes are a value or a good error, and a value prints to the same again.
#include "encoding/json.h"
#include "targets.h"

namespace mist::fuzz {
namespace {

/// 1.0 prints as 1, as Go does, and so is an integer the next time: compare from the first printed form on.
void check_json(std::string_view text, bool strict) {
  using namespace encoding;
  const auto value = parse_json(text, {.strict = strict, .file = "fuzz"});
  if (!value.ok()) {
    const Error& e = value.error();
    if (e.message.empty() || !e.where || e.where->line == 0)
      fail("an error without message or place", e.to_line());
    return;
  }
  const std::string printed = to_json(*value);
  for (const JsonStyle style : {JsonStyle::Compact, JsonStyle::Pretty}) {
    const auto again = parse_json(to_json(*value, style), {.strict = true});
    if (!again.ok()) fail("the printed form can't be read", again.error().to_line());
    if (to_json(*again) != printed) fail("the printed form means something else", printed);
  }
}

}  // namespace

void json(std::string_view bytes) {
  check_json(bytes, false);
  check_json(bytes, true);
}

}  // namespace mist::fuzz
