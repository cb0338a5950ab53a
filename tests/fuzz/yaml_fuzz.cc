// YAML: any bytes are documents or a good error, and what was read prints to the same again.
#include "encoding/yaml.h"

#include "targets.h"

namespace mist::fuzz {
namespace {

void check_yaml(std::string_view text, bool strict) {
  using namespace encoding;
  const auto documents = parse_yaml_documents(text, {.strict = strict, .file = "fuzz"});
  if (!documents.ok()) {
    const Error& e = documents.error();
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

void yaml(std::string_view bytes) {
  check_yaml(bytes, false);
  check_yaml(bytes, true);
}

}  // namespace mist::fuzz
