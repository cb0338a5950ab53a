#include "action/authoring/package_checks.h"

#include <algorithm>

#include "base/text.h"

namespace mist::action {

using package::Finding;
using package::LintLevel;

std::vector<PackageCheck> package_checks(const package::TypeStore& types) {
  std::vector<PackageCheck> checks{{.name = "lint"}};
  const std::string minors = types.minors();
  for (const std::string_view each : split(minors, ',')) {
    const std::string_view minor = trim(each);
    if (!minor.empty())
      checks.push_back(
          {.name = fmt::format("Kubernetes {}", minor), .kube_version = fmt::format("v{}.0", minor)});
  }
  return checks;
}

std::string place_of(const Finding& finding) {
  return finding.file.empty() ? std::string() : place_text(finding.file, finding.line, finding.column) + ": ";
}

std::string finding_line(const Finding& finding) {
  return fmt::format("{} {}{} ({})", package::to_string(finding.level), place_of(finding), finding.message,
                     finding.rule);
}

Result<std::string> run_package_check(const FileSystem& files, package::Renderer& renderer,
                                      const PackageCases& cases, const package::TypeStore& types,
                                      const PackageCheck& check, const OnFinding& on_finding,
                                      const Context& context) {
  PackageCases of_version = cases;
  of_version.kube_version = check.kube_version;
  MIST_TRY(const std::vector<Finding> found, lint_package(files, renderer, of_version, types, context));
  for (const Finding& each : found) on_finding(each);
  const auto first = std::ranges::find(found, LintLevel::Error, &Finding::level);
  if (first != found.end()) return error(ErrorKind::Invalid, "{}{}", place_of(*first), first->message);
  if (!check.kube_version.empty()) return "every object fits its schema";
  return found.empty() ? "nothing to object to" : plural(found.size(), "remark");
}

Result<std::string> run_package_script(package::Renderer& renderer, const package::Source& source,
                                       const package::RenderRequest& request,
                                       const std::function<void(std::string_view)>& say,
                                       const Context& context) {
  MIST_TRY(const package::ScriptResult left, renderer.run_pre_install(source, request, context));
  for (const auto& [path, text] : left.written) say(fmt::format("wrote {} ({} bytes)", path, text.size()));
  for (const std::string& path : left.removed) say(fmt::format("removed {}", path));
  return left.written.empty() ? "it ended well, and wrote nothing"
                              : fmt::format("it wrote {}", plural(left.written.size(), "file"));
}

}  // namespace mist::action
