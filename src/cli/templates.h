#pragma once
// The packages that `mistctl package init` begins with: packages/templates/*, compiled into the program by
// embed_templates.cmake. They are real packages of the name kTemplateName, so that they are read, formatted
// and tested as what they are. Pure; any thread.

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace mist::cli {

/// The placeholder in the templates for the name that the user chooses.
inline constexpr std::string_view kTemplateName = "my-package";

struct TemplateFile {
  std::string_view package;  ///< the template: "chart"
  std::string_view path;     ///< relative
  std::string_view content;
};
std::span<const TemplateFile> template_files();

struct PackageTemplate {
  std::string_view name;
  std::string_view summary;
};
/// For people, in the order of `--list`.
inline constexpr PackageTemplate kPackageTemplates[] = {
    {"chart", "A Helm chart with a schema of its values"},
    {"kustomize", "A Kustomize base with an overlay for production"},
    {"yaml", "Plain Kubernetes YAML, without inputs"},
    {"jinja", "Jinja templates with a schema of their values"},
    {"kube", "A Kube, a package for kpm: Jinja templates with a schema of their values"},
    {"handlebars", "Handlebars templates with a schema of their values"},
    {"nickel", "A Nickel program with contracts of its inputs"},
    {"python", "A program in Python, with types of its inputs"},
    {"typescript", "A program in TypeScript, with the SDK and the types of Kubernetes"},
    {"cdk8s", "A cdk8s app in TypeScript, with the SDK"},
    {"rust", "A program in Rust, with the SDK"},
    {"go", "A program in Go, with the SDK"},
    {"cpp", "A program in C++20, with the SDK"},
    {"c", "A program in C, without dependencies"},
};

/// The files of a template as those of the package `name`, by path.
std::map<std::string, std::string> instantiate(std::string_view package, std::string_view name);

/// The files of `mistctl blueprint init`: examples/blueprints/starter, a blueprint of that name.
std::span<const TemplateFile> blueprint_files();
/// As those of the blueprint `name`, whose kind has that name in PascalCase and is of `group`.
std::map<std::string, std::string> instantiate_blueprint(std::string_view name, std::string_view group);
/// "my-app" → "MyApp".
std::string kind_for(std::string_view name);

}  // namespace mist::cli
