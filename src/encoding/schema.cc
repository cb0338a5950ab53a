#include "encoding/schema.h"

#include <mist_runtime.h>

#include <optional>

#include "encoding/json.h"
#include "encoding/schema_message.h"

namespace mist::encoding {
namespace {

/// Frees a text of the Rust library.
struct FreeText {
  void operator()(char* text) const { mist_string_free(text); }
};
using RustText = std::unique_ptr<char, FreeText>;

/// A schema may refer to itself.
constexpr int kDeepestDefault = 64;

bool has_all_required(const Value& schema, const Value& object) {
  const Value* required = schema.find("required");
  if (required == nullptr || !required->is_array()) return true;
  for (const Value& name : required->as_array())
    if (name.is_string() && object.find(name.as_string()) == nullptr) return false;
  return true;
}

std::optional<Value> defaults_of(const Value& root, const Value& schema, int depth) {
  if (depth > kDeepestDefault) return std::nullopt;
  std::optional<Value> result;
  if (const Value* own = schema.find("default")) result = *own;
  if (const Value* target = local_reference(root, schema); target != nullptr && !result)
    result = defaults_of(root, *target, depth + 1);
  const Value* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object() || (result && !result->is_object())) return result;
  const bool is_given = result.has_value();
  Value object = is_given ? std::move(*result) : Value::object();
  for (const Value::Member& property : properties->as_object()) {
    if (object.find(property.key) != nullptr) continue;
    if (auto value = defaults_of(root, property.value, depth + 1))
      object.set(property.key, std::move(*value));
  }
  if (!is_given && (object.empty() || !has_all_required(schema, object)) && depth != 0) return std::nullopt;
  return object;
}

}  // namespace

void Schema::Free::operator()(void* handle) const { mist_schema_free(handle); }

Result<Schema> Schema::compile(const Value& schema) {
  const std::string text = to_json(schema);
  void* handle = nullptr;
  const RustText problem(mist_schema_new(text.data(), text.size(), &handle));
  if (problem != nullptr)
    return error(ErrorKind::Invalid, "this is no valid JSON Schema: {}", problem.get())
        .with_hint("JSON Schema 2020-12 is expected; a $ref may only begin with \"#\"");
  return Schema(schema, handle);
}

std::vector<SchemaIssue> Schema::validate(const Value& value) const {
  const std::string text = to_json(value);
  const RustText answer(mist_schema_validate(handle_.get(), text.data(), text.size()));
  const Result<Value> parsed = parse_json(answer == nullptr ? "" : answer.get());
  if (!parsed.ok() || !parsed->is_array())
    return {{.instance_path = {}, .schema_path = {}, .message = "the schema validator gave no answer"}};
  std::vector<SchemaIssue> issues;
  for (const Value& issue : parsed->as_array()) {
    const std::string_view instance_path = issue.string_at("instance_path");
    const std::string_view schema_path = issue.string_at("schema_path");
    issues.push_back(
        {.instance_path = std::string(instance_path),
         .schema_path = std::string(schema_path),
         .message = schema_message(schema_, schema_path, value, instance_path, issue.string_at("message"))});
  }
  return issues;
}

Value schema_defaults(const Value& schema) {
  auto result = defaults_of(schema, schema, 0);
  return result && result->is_object() ? std::move(*result) : Value::object();
}

}  // namespace mist::encoding
