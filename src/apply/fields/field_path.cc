#include "apply/fields/field_path.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "encoding/json.h"

namespace mist::apply {
namespace {

std::string member_text(const std::string& name) {
  const bool plain = std::ranges::all_of(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; });
  return plain ? "." + name : "[\"" + name + "\"]";
}

std::string key_label(const Value& key) {
  std::string text;
  for (const Value::Member& part : key.as_object())
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", part.key,
                        part.value.is_string() ? part.value.as_string() : encoding::to_json(part.value));
  return "[" + text + "]";
}

}  // namespace

std::string path_text(const std::vector<PathStep>& steps) {
  std::string text;
  for (const PathStep& step : steps) {
    switch (step.kind) {
      case PathStep::Kind::Field:
        text += member_text(step.name);
        break;
      case PathStep::Kind::Index:
        text += fmt::format("[{}]", step.index);
        break;
      case PathStep::Kind::Key:
        text += key_label(step.key);
        break;
      case PathStep::Kind::Item:
        text += "[]";
        break;
    }
  }
  return text;
}

}  // namespace mist::apply
