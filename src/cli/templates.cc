#include "cli/templates.h"

namespace mist::cli {
namespace {

std::string replaced(std::string_view text, std::string_view name) {
  std::string result;
  for (auto at = text.find(kTemplateName); at != text.npos; at = text.find(kTemplateName)) {
    result.append(text.substr(0, at)).append(name);
    text.remove_prefix(at + kTemplateName.size());
  }
  return result.append(text);
}

}  // namespace

std::map<std::string, std::string> instantiate(std::string_view package, std::string_view name) {
  std::map<std::string, std::string> files;
  for (const TemplateFile& file : template_files()) {
    if (file.package == package) files.emplace(replaced(file.path, name), replaced(file.content, name));
  }
  return files;
}

}  // namespace mist::cli
