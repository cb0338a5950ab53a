// libFuzzer target: any bytes are YAML documents or a good error, and what was read prints to the same again.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "encoding/json.h"
#include "encoding/yaml.h"

namespace {

using namespace mist::encoding;

[[noreturn]] void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s: %s\n", what, detail.c_str());
  std::abort();
}

void check(std::string_view text, bool strict) {
  const auto documents = parse_yaml_documents(text, {.strict = strict, .file = "fuzz"});
  if (!documents.ok()) {
    const mist::Error& e = documents.error();
    if (e.message.empty() || !e.where || e.where->line == 0)
      fail("an error without message or place", e.to_line());
    return;
  }
  const std::string printed = to_yaml_documents(*documents);
  const auto again = parse_yaml_documents(printed, {.strict = true});
  if (!again.ok()) fail("the printed form can't be read", again.error().to_line() + "\n" + printed);
  if (*again != *documents) fail("the printed form means something else", printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, false);
  check(text, true);
  return 0;
}
