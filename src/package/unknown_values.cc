#include "package/unknown_values.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "encoding/set_path.h"

namespace mist::package {
namespace {

constexpr std::size_t kMost = 20;

struct UnknownValue {
  std::vector<std::string> path;
  std::vector<std::string> known = {};  // keys in its place
  std::vector<std::string> also = {};   // other places of a key of that name
};

std::string set_path(const std::vector<std::string>& keys) {
  std::vector<encoding::PathStep> steps(keys.begin(), keys.end());
  return escape_controls(encoding::to_string(steps));
}

std::string words_for(const UnknownValue& value) {
  std::string text = fmt::format("nothing in the package reads the value {}", set_path(value.path));
  const std::vector<std::string_view> known(value.known.begin(), value.known.end());
  if (const std::string_view near = nearest(value.path.back(), known); !near.empty()) {
    std::vector<std::string> meant = value.path;
    meant.back() = near;
    return fmt::format("{}; did you mean {}?", text, set_path(meant));
  }
  if (!value.also.empty())
    return fmt::format("{}; did you mean {}?", text, escape_controls(join(value.also, " or ")));
  return text;
}

// Whether a text has `word` with nothing beside it that could belong to it.
bool names(std::string_view text, std::string_view word) {
  const auto belongs = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !belongs(text[at - 1])) && (end == text.size() || !belongs(text[end]))) return true;
  }
  return false;
}

class Search {
 public:
  Search(const Source& source, std::vector<UnknownValue>& found) : source_(source), found_(found) {}

  void look(const Value& schema, const Value* defaults, const Value& given,
            const std::vector<std::string>& above) {
    const Value* const properties = schema.find("properties");
    if (properties == nullptr || !properties->is_object() || properties->empty() || is_open(schema)) return;
    for (const Value::Member& member : given.as_object()) {
      std::vector<std::string> path = above;
      path.push_back(member.key);
      const Value* const fallback =
          defaults != nullptr && defaults->is_object() ? defaults->find(member.key) : nullptr;
      if (const Value* const declared = properties->find(member.key); declared != nullptr) {
        if (member.value.is_object() && declared->is_object()) look(*declared, fallback, member.value, path);
      } else if (fallback == nullptr && !member.value.is_null() && !is_given(path) && !is_named(member.key)) {
        std::vector<std::string> known;
        for (const Value::Member& property : properties->as_object()) known.push_back(property.key);
        found_.push_back({std::move(path), std::move(known), {}});
      }
    }
  }

 private:
  // It says more than its properties do.
  static bool is_open(const Value& schema) {
    return std::ranges::any_of(schema.as_object(), [](const Value::Member& member) {
      constexpr std::string_view kOpen[] = {"additionalProperties",
                                            "patternProperties",
                                            "unevaluatedProperties",
                                            "propertyNames",
                                            "$ref",
                                            "$dynamicRef",
                                            "allOf",
                                            "anyOf",
                                            "oneOf",
                                            "not",
                                            "if",
                                            "then",
                                            "else",
                                            "dependentSchemas"};
      return std::ranges::find(kOpen, member.key) != std::ranges::end(kOpen);
    });
  }

  static bool is_given(const std::vector<std::string>& path) {
    return path.size() == 1 && (path[0] == "name" || path[0] == "namespace");
  }

  bool is_named(std::string_view key) const {
    const auto* const files = std::get_if<Files>(&source_.content);
    return files != nullptr &&
           std::ranges::any_of(*files, [&](const auto& file) { return names(file.second, key); });
  }

  const Source& source_;
  std::vector<UnknownValue>& found_;
};

}  // namespace

std::vector<std::string> unknown_values(const Rendered& rendered, const Source& source,
                                        const Value& user_values) {
  std::vector<UnknownValue> found;
  if (rendered.unknown.is_array()) {
    for (const Value& each : rendered.unknown.as_array()) {
      UnknownValue value{each.texts_at("path"), each.texts_at("known"), each.texts_at("also")};
      if (!value.path.empty()) found.push_back(std::move(value));
    }
  } else if (rendered.metadata.inputs.is_object() && user_values.is_object() &&
             !has_chart_values(find_engine(rendered.engine))) {
    Search(source, found).look(rendered.metadata.inputs, &rendered.metadata.defaults, user_values, {});
  }
  std::vector<std::string> lines;
  for (const UnknownValue& value : found)
    if (lines.size() < kMost) lines.push_back(words_for(value));
  return lines;
}

}  // namespace mist::package
