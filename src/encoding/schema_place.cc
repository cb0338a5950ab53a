#include "encoding/schema_place.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "encoding/schema_message.h"
#include "encoding/set_path.h"

namespace mist::encoding {
namespace {

constexpr std::string_view kUnknownMember = "/additionalProperties";

std::string escaped(std::string_view token) {
  std::string out;
  for (const char c : token) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size())
      out += token[++i] == '1' ? '/' : '~';
    else
      out += token[i];
  }
  return out;
}

// The first member of `object` that `schema` doesn't declare; empty: none.
std::string_view unknown_member(const Value& schema, const Value& object) {
  if (!object.is_object()) return {};
  const Value* const properties = schema.find("properties");
  const MemberFinder declared(properties);
  const auto& members = object.as_object();
  const auto unknown = std::ranges::find_if(
      members, [&](const Value::Member& member) { return !declared.contains(member.key); });
  return unknown == members.end() ? std::string_view() : std::string_view(unknown->key);
}

std::string fault_of(const Value& schema, const Value& value, const SchemaIssue& issue) {
  if (!issue.schema_path.ends_with(kUnknownMember)) return issue.instance_path;
  const std::string_view owner =
      std::string_view(issue.schema_path).substr(0, issue.schema_path.size() - kUnknownMember.size());
  const Value* const of = at_schema_pointer(schema, owner);
  const Value* const object = at_pointer(value, issue.instance_path);
  if (of == nullptr || object == nullptr) return issue.instance_path;
  const std::string_view member = unknown_member(*of, *object);
  return member.empty() ? issue.instance_path : fmt::format("{}/{}", issue.instance_path, escaped(member));
}

}  // namespace

ValueFaults faults_of(const Value& schema, const Value& value, std::span<const SchemaIssue> issues) {
  ValueFaults faults;
  for (const SchemaIssue& issue : issues) faults.pointers.push_back(fault_of(schema, value, issue));
  return faults;
}

std::string to_pointer(std::span<const std::string> tokens) {
  std::string pointer;
  for (const std::string& token : tokens) pointer += "/" + escaped(token);
  return pointer;
}

const Value* value_at_pointer(const Value& value, std::string_view pointer) {
  return at_pointer(value, pointer);
}

std::string set_path_of(std::string_view pointer) {
  std::vector<PathStep> steps;
  if (pointer.empty()) return {};
  for (const std::string_view token : split(pointer.substr(1), '/')) {
    std::size_t index = 0;
    const auto [end, failed] = std::from_chars(token.data(), token.data() + token.size(), index);
    if (!steps.empty() && !token.empty() && failed == std::errc() && end == token.data() + token.size())
      steps.emplace_back(index);
    else
      steps.emplace_back(unescaped(token));
  }
  return to_string(steps);
}

}  // namespace mist::encoding
