#include "package/plain_yaml.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/tree.h"
#include "encoding/json_escapes.h"
#include "encoding/yaml.h"
#include "package/engine.h"
#include "package/test_case.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 3> kYamlEndings{".yaml", ".yml", ".json"};

// Files that npm and tsc read beside a program.
constexpr std::array<std::string_view, 3> kNpmFiles{"package.json", "package-lock.json", "tsconfig.json"};

bool is_of_npm(std::string_view path) {
  return std::ranges::find(kNpmFiles, path.substr(path.rfind('/') + 1)) != kNpmFiles.end();
}

bool is_kubernetes_file(std::string_view path) {
  return std::ranges::any_of(kYamlEndings, [&](std::string_view ending) { return path.ends_with(ending); });
}

// The short form of metadata, which the SDK makes a document of when it compiles the program.
bool is_source_of_a_program(const Files& files) {
  const auto metadata = files.find(std::string(kPackageFile));
  if (metadata == files.end()) return false;
  const Value document = encoding::parse_yaml(metadata->second, {}).value_or(Value());
  return document.is_object() && document.find("kind") == nullptr && document.find("name") != nullptr;
}

}  // namespace

Result<Files> kubernetes_files(const Source& source, const Files& files, bool declared) {
  if (!declared && is_source_of_a_program(files))
    return error(ErrorKind::Invalid, "{} is the source of a program: its {} has no kind", source.reference,
                 kPackageFile)
        .with_hint("build its module and name that; for Kubernetes YAML, add kind: MistPackage");
  Files found;
  for (const auto& [path, text] : files) {
    // Configuration of tools around a package (.github, .idea) isn't part of it.
    if (!is_kubernetes_file(path) || is_hidden_path(path)) continue;
    if (declared && (path == kPackageFile || is_test_file(path) || is_of_npm(path))) continue;
    found.emplace(path, encoding::with_yaml_escapes(text));  // as kubectl reads JSON
  }
  for (const ProgramMark& mark : program_marks()) {
    if (found.empty() && files.contains(std::string(mark.file)))
      return error(ErrorKind::Invalid, "{} is no package yet", source.reference)
          .with_hint(build_it_first(mark.language, source.reference));
  }
  if (found.empty())
    return error(ErrorKind::Invalid, "{} holds no .yaml, .yml or .json file", source.reference)
        .with_hint(
            "a package is a .wasm module, a chart, a directory that an engine renders (docs/engines), or "
            "Kubernetes YAML");
  return found;
}

Status refuse_values(const Source& source, const Files& files, const Value& values) {
  const auto is_here = [&](const ProgramMark& mark) { return files.contains(std::string(mark.file)); };
  const auto marks = program_marks();
  const auto program = std::ranges::find_if(marks, is_here);
  for (const Value::Member& member : values.as_object()) {
    if (member.key == "name") continue;
    return error(ErrorKind::Invalid, "{} is plain Kubernetes YAML and takes no values, but {} is set",
                 source.reference, escape_controls(member.key))
        .with_hint(program != marks.end() ? build_it_first(program->language, source.reference)
                                          : "remove -f and --set, or make it a package with inputs");
  }
  return {};
}

}  // namespace mist::package
