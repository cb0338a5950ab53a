// JSON Schemas of packages: a schema on the first line, a value after it. The work is counted before it
// begins, and whatever the schema is, both end.
#include "encoding/schema.h"

#include "encoding/json.h"
#include "encoding/schema_cost.h"
#include "targets.h"

namespace mist::fuzz {

void schema(std::string_view bytes) {
  using namespace encoding;
  Input input(bytes);
  const auto text = parse_json(input.line());
  if (!text.ok()) return;
  (void)endless_reference(*text);
  const auto schema = Schema::compile(*text);
  if (!schema.ok()) return check_error(schema.error());
  if (!schema_defaults(*text).is_object()) fail("defaults that are no object", bytes);
  const auto value = parse_json(input.rest());
  if (!value.ok()) return;
  const auto issues = schema->validate(*value);
  if (issues.size() > 100) fail("more issues than the limit", bytes);
  for (const SchemaIssue& issue : issues) {
    if (issue.message.empty()) fail("an issue without message", bytes);
    (void)line_at(*value, issue.instance_path);
  }
}

}  // namespace mist::fuzz
