#include "kpm/dependencies.h"

#include <algorithm>

#include "base/text.h"

namespace mist::kpm {
namespace {

class Planner {
 public:
  Planner(std::span<const Installed> installed, const Find& find) : installed_(installed), find_(find) {}

  Status visit(const K3& k3) {
    path_.push_back(k3.name);
    for (const Dependency& dependency : k3.dependencies) MIST_TRY_VOID(need(dependency));
    path_.pop_back();
    return {};
  }

  InstallPlan plan;

 private:
  Status need(const Dependency& dependency) {
    if (is_satisfied(dependency, installed_)) return {};
    if (std::ranges::find(path_, dependency.name) != path_.end()) {
      std::vector<std::string> cycle(std::ranges::find(path_, dependency.name), path_.end());
      cycle.push_back(dependency.name);
      return error(ErrorKind::Invalid, "the dependencies form a cycle: {}", join(cycle, " -> "))
          .with_hint("install one of them with --force first");
    }
    const bool is_installed =
        std::ranges::find(installed_, dependency.name, &Installed::package) != installed_.end();
    auto found = find_(dependency.name);
    if (!found.ok() && found.error().kind != ErrorKind::NotFound) return std::move(found).error();
    if (is_installed || !found.ok() || !dependency.range.contains(found->version)) {
      plan.unavailable.push_back(dependency);
      return {};
    }
    if (std::ranges::find(plan.missing, dependency.name) != plan.missing.end()) return {};
    MIST_TRY_VOID(visit(*found));
    plan.missing.push_back(dependency.name);
    return {};
  }

  std::span<const Installed> installed_;
  const Find& find_;
  std::vector<std::string> path_;
};

}  // namespace

bool is_satisfied(const Dependency& dependency, std::span<const Installed> installed) {
  return std::ranges::any_of(installed, [&](const Installed& each) {
    if (each.package != dependency.name) return false;
    if (dependency.range.text() == "*") return true;
    const auto version = encoding::SemVer::parse_lenient(each.version);
    return version.ok() && dependency.range.contains(*version);
  });
}

std::vector<Dependency> unsatisfied(const K3& k3, std::span<const Installed> installed) {
  std::vector<Dependency> found;
  for (const Dependency& each : k3.dependencies)
    if (!is_satisfied(each, installed)) found.push_back(each);
  return found;
}

Result<InstallPlan> plan_dependencies(const K3& root, std::span<const Installed> installed,
                                      const Find& find) {
  Planner planner(installed, find);
  MIST_TRY_VOID(planner.visit(root));
  return std::move(planner.plan);
}

}  // namespace mist::kpm
