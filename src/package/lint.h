#pragma once
// Mistakes and unwise choices in a package (`mistctl package lint`), found in its files and in what it
// rendered. The rules are the table in lint_rules.cc. Pure: data in, findings out. Any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "package/engine.h"
#include "package/rendered.h"

namespace mist::apimachinery {
class KubeTypes;
}

namespace mist::package {

enum class LintLevel : std::uint8_t {
  Error,    ///< it can't be installed, or not as written
  Warning,  ///< it works, and somebody will regret it
  Info,     ///< worth knowing
};
std::string_view to_string(LintLevel level);

struct LintRule {
  std::string_view name;  ///< "image-tag", as in the output
  LintLevel level = LintLevel::Error;
  std::string_view meaning;
};
std::span<const LintRule> lint_rules();

struct Finding {
  std::string_view rule;  ///< of lint_rules()
  LintLevel level = LintLevel::Error;
  std::string file;          ///< inside the package; empty: all of it
  std::uint32_t line = 0;    ///< from 1; 0: unknown
  std::string message;       ///< may hold text of the package: escape it before printing
  std::uint32_t column = 0;  ///< from 1; 0: unknown, or the line says enough
  friend auto operator<=>(const Finding&, const Finding&) = default;
};

/// With the level of its rule.
Finding finding(std::string_view rule, std::string file, std::uint32_t line, std::string message);
/// The finding that an error becomes, at its place in the package.
Finding finding_of(std::string_view rule, const Error& failure, std::string_view during);

/// Findings in the files of a directory before anything is rendered: its metadata, the schema of its values
/// and whether the defaults fit (not of a chart whose schema is ignored), values and templates that nothing
/// uses. `engine` renders it (null: none).
std::vector<Finding> lint_files(const Files& files, const EngineKind* engine,
                                ChartSchema schema = ChartSchema::Holds);

/// Findings in objects that were rendered into the namespace `ns`, at their places in the package; where a
/// line isn't known, of the rendered file. `engine` as above; `types` are those of the Kubernetes that it was
/// rendered for (lint_types.h), null: none came along.
std::vector<Finding> lint_objects(const Rendered& rendered, const EngineKind* engine, std::string_view ns,
                                  const apimachinery::KubeTypes* types = nullptr);

/// About a value of a rendered object, at its place in the package; where its line isn't known, at the file.
Finding finding_at(std::string_view rule, const apimachinery::RenderedObject& at, encoding::Position position,
                   std::string message);

/// The finding that an error of a rendered object becomes, at its place in the package.
Finding finding_of_object(const Error& failure);

/// By file and line, each once: cases of one package find much alike.
void sort_findings(std::vector<Finding>& findings);

}  // namespace mist::package
