#include "cli/templates.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/text.h"
#include "reconcile/permissions.h"

namespace mist::cli {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

// In one pass, so that a name that holds another one's word stays whole. Of several at one place the first
// counts.
std::string replaced(std::string_view text, std::initializer_list<Replacement> replacements) {
  std::string result;
  while (!text.empty()) {
    const auto found = std::ranges::find_if(
        replacements, [&](const Replacement& each) { return text.starts_with(each.first); });
    result += found == replacements.end() ? text.substr(0, 1) : found->second;
    text.remove_prefix(found == replacements.end() ? 1 : found->first.size());
  }
  return result;
}

}  // namespace

std::map<std::string, std::string> instantiate(std::string_view package, std::string_view name) {
  std::map<std::string, std::string> files;
  for (const TemplateFile& file : template_files()) {
    if (file.package == package)
      files.emplace(replaced(file.path, {{kTemplateName, name}}),
                    replaced(file.content, {{kTemplateName, name}}));
  }
  return files;
}

std::string kind_for(std::string_view name) {
  std::string kind;
  for (const std::string_view part : split(name, '-')) {
    if (part.empty()) continue;
    kind += part;
    char& first = kind[kind.size() - part.size()];
    if (first >= 'a' && first <= 'z') first = static_cast<char>(first - 'a' + 'A');
  }
  return kind;
}

std::map<std::string, std::string> instantiate_blueprint(std::string_view name, std::string_view group) {
  const std::string kind = kind_for(name), plural = reconcile::usual_resource(kind);
  std::map<std::string, std::string> files;
  for (const TemplateFile& file : blueprint_files())
    files.emplace(
        file.path,
        replaced(file.content,
                 {{"example.com", group}, {"starters", plural}, {"Starter", kind}, {"starter", name}}));
  return files;
}

}  // namespace mist::cli
