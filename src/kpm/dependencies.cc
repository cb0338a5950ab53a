#include "kpm/dependencies.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace mist::kpm {
namespace {

// Walks the dependencies, depth first. A range that is met only after a version was chosen for its name may
// rule that version out; then all is walked again, with what was learned. Every such walk knows one range
// more than the one before, so there is a last one. A range stays known although a later walk chooses another
// version of the Kube that has it: a plan may be missed so, but none breaks a range. In the same way a Kube
// that several archives have is a conflict only if no need that is met later names one of them.
class Planner {
 public:
  Planner(std::span<const Installed> installed, const Find& find) : installed_(installed), find_(find) {}

  Result<InstallPlan> plan(const K3& root) {
    do {
      plan_ = {};
      chosen_.clear();
      conflict_.reset();
      is_stale_ = has_learned_ = false;
      MIST_TRY_VOID(visit(root));
    } while (is_stale_ || (conflict_ && has_learned_));
    if (conflict_) return *std::move(conflict_);
    return std::move(plan_);
  }

 private:
  Status visit(const K3& k3) {
    path_.push_back(k3.name);
    for (const Dependency& dependency : k3.dependencies) MIST_TRY_VOID(need(dependency));
    path_.pop_back();
    return {};
  }

  Status need(const Dependency& dependency) {
    if (is_satisfied(dependency, installed_)) return {};
    MIST_TRY_VOID(check_cycle(dependency.name));
    learn(dependency);
    const auto chosen = chosen_.find(dependency.name);
    if (chosen == chosen_.end()) return choose(dependency);
    if (!chosen->second)
      plan_.unavailable.push_back(dependency);
    else if (!fits(dependency, *chosen->second))
      is_stale_ = true;
    return {};
  }

  Status check_cycle(const std::string& name) const {
    const auto begin = std::ranges::find(path_, name);
    if (begin == path_.end()) return {};
    std::vector<std::string> cycle(begin, path_.end());
    cycle.push_back(name);
    return error(ErrorKind::Invalid, "the dependencies form a cycle: {}", join(cycle, " -> "))
        .with_hint("install one of them with --force first");
  }

  void learn(const Dependency& dependency) {
    std::vector<Dependency>& needs = needs_[dependency.name];
    const bool is_known = std::ranges::any_of(needs, [&](const Dependency& each) {
      return each.range.text() == dependency.range.text() && each.repo == dependency.repo;
    });
    if (is_known) return;
    needs.push_back(dependency);
    has_learned_ = true;
  }

  Status choose(const Dependency& dependency) {
    const std::string& name = dependency.name;
    std::optional<encoding::SemVer>& chosen = chosen_[name];
    if (std::ranges::find(installed_, name, &Installed::package) != installed_.end()) {
      plan_.unavailable.push_back(dependency);
      return {};
    }
    auto found = find_(name, needs_[name]);
    if (!found.ok()) return give_up(dependency, std::move(found).error());
    chosen = found->version;
    MIST_TRY_VOID(visit(*found));
    plan_.missing.push_back(name);
    return {};
  }

  Status give_up(const Dependency& dependency, Error why) {
    if (why.kind == ErrorKind::NotFound) {
      plan_.unavailable.push_back(dependency);
      if (why.detail<BrokenKube>() != nullptr) plan_.broken.push_back(std::move(why));
      return {};
    }
    if (why.kind != ErrorKind::Conflict) return why;
    if (!conflict_) conflict_ = std::move(why);
    return {};
  }

  std::span<const Installed> installed_;
  const Find& find_;
  InstallPlan plan_ = {};
  std::vector<std::string> path_ = {};
  std::map<std::string, std::vector<Dependency>> needs_ = {};           // of all walks
  std::map<std::string, std::optional<encoding::SemVer>> chosen_ = {};  // of this walk; nullopt: unavailable
  std::optional<Error> conflict_ = {};                                  // the first of this walk
  bool is_stale_ = false, has_learned_ = false;                         // of this walk
};

}  // namespace

bool fits(const Dependency& dependency, const encoding::SemVer& version) {
  return dependency.range.text() == "*" || dependency.range.contains(version);
}

bool is_satisfied(const Dependency& dependency, std::span<const Installed> installed) {
  return std::ranges::any_of(installed, [&](const Installed& each) {
    if (each.package != dependency.name) return false;
    if (dependency.range.text() == "*") return true;
    const auto version = encoding::SemVer::parse_lenient(each.version);
    return version.ok() && fits(dependency, *version);
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
  return Planner(installed, find).plan(root);
}

}  // namespace mist::kpm
