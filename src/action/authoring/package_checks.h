#pragma once
// The checks of a package that need no cluster, as catalogs and `kpm test` make them before they install it:
// its script runs, the rules of lint_package.h, then every object against the schemas of each Kubernetes
// minor that came with this program. One thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "action/authoring/lint_package.h"

namespace mist::action {

/// The rules, or the schemas of one Kubernetes.
struct PackageCheck {
  std::string name;               ///< "lint", "Kubernetes 1.36"
  std::string kube_version = {};  ///< "v1.36.0"; empty: what commands without a cluster assume
};

/// The rules first, then each minor that `types` has.
std::vector<PackageCheck> package_checks(const package::TypeStore& types);

/// "templates/a.yaml:3: ", to be put before its message; empty: it is about the whole package.
std::string place_of(const package::Finding& finding);
/// "error templates/a.yaml:3: spec.replcas: there is no such field (field)".
std::string finding_line(const package::Finding& finding);

using OnFinding = std::function<void(const package::Finding&)>;

/// The result in a few words: "nothing to object to", "2 remarks", "every object fits its schema".
/// `on_finding` is told of each finding, in their order. Errors: Invalid, with place and words of the first
/// finding that is an error; those of lint_package.
Result<std::string> run_package_check(const FileSystem& files, package::Renderer& renderer,
                                      const PackageCases& cases, const package::TypeStore& types,
                                      const PackageCheck& check, const OnFinding& on_finding,
                                      const Context& context);

/// Runs the script of a Kube (package::has_pre_install) in the sandbox: "it wrote 2 files". `say` is told of
/// each file that it wrote or removed. Errors: those of package::Renderer::run_pre_install.
Result<std::string> run_package_script(package::Renderer& renderer, const package::Source& source,
                                       const package::RenderRequest& request,
                                       const std::function<void(std::string_view)>& say,
                                       const Context& context);

}  // namespace mist::action
