// libFuzzer target: any bytes are a JSON value or a good error; a value prints to the same again, and is the
// same read as YAML where YAML takes it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "encoding/json.h"

namespace {

using namespace mist::encoding;

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

/// 1.0 prints as 1, as Go does, and so is an integer the next time: compare from the first printed form on.
void check(std::string_view text, bool strict) {
  const auto value = parse_json(text, {.strict = strict, .file = "fuzz"});
  if (!value.ok()) {
    const mist::Error& e = value.error();
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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, false);
  check(text, true);
  return 0;
}
