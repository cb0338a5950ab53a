#include "encoding/schema_place.h"

#include <charconv>

#include "base/text.h"
#include "encoding/set_path.h"

namespace mist::encoding {
namespace {

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

}  // namespace

std::string SchemaIssue::fault() const {
  return member.empty() ? instance_path : fmt::format("{}/{}", instance_path, escaped(member));
}

ValueFaults faults_of(std::span<const SchemaIssue> issues) {
  ValueFaults faults;
  for (const SchemaIssue& issue : issues) {
    faults.pointers.push_back(issue.fault());
    faults.text_wanted.push_back(issue.text_wanted ? 1 : 0);
  }
  return faults;
}

std::string to_pointer(std::span<const std::string> tokens) {
  std::string pointer;
  for (const std::string& token : tokens) pointer += "/" + escaped(token);
  return pointer;
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
