#include "package/objects.h"

#include <utility>

#include "base/text.h"
#include "encoding/yaml.h"

namespace mist::package {

using apimachinery::Object;
using apimachinery::RenderedObject;
using encoding::Value;

namespace {

std::string line_of(std::string_view text, std::uint32_t line) {
  for (std::uint32_t i = 1; i < line; ++i) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 500)));
}

}  // namespace

Result<std::vector<RenderedObject>> parse_objects(const std::map<std::string, std::string>& files,
                                                  EventSink& events) {
  std::vector<RenderedObject> objects;
  for (const auto& [path, text] : files) {
    encoding::YamlOptions options;
    options.file = path;
    options.on_warning = [&](const SourceLocation& where, const std::string& what) {
      events.warn(fmt::format("{}:{}: {}", escape_controls(where.file), where.line, escape_controls(what)));
    };
    MIST_TRY(std::vector<Value> documents,
             encoding::parse_yaml_documents(text, options).in("while reading what the package rendered"));
    std::erase_if(documents, [](const Value& document) { return document.is_null(); });
    MIST_TRY(std::vector<Value> flat, apimachinery::flatten_lists(std::move(documents)));
    for (Value& value : flat) {
      const std::uint32_t line = value.position().line;
      auto object = Object::from_value(std::move(value));
      if (!object.ok()) {
        Error failure = std::move(object).error();
        SourceLocation where =
            failure.where.value_or(SourceLocation{.file = {}, .line = line, .column = 0, .excerpt = {}});
        where.file = path;
        where.excerpt = line_of(text, where.line);
        failure.where = std::move(where);
        return std::move(failure).with_frame("while reading what the package rendered");
      }
      objects.push_back({*std::move(object), path, line});
    }
  }
  return objects;
}

}  // namespace mist::package
