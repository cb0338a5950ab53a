#include "resolve/solver.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/keyed_hash.h"
#include "base/text.h"
#include "resolve/explain.h"
#include "resolve/partial_solution.h"

namespace mist::resolve {
namespace {

constexpr std::uint32_t kRootLevel = 1;
constexpr std::uint64_t kStepsBetweenChecks = 1024;

/// Newest last; of versions with the same precedence the last by text.
bool comes_before(const Version& a, const Version& b) {
  const auto order = a <=> b;
  return order != 0 ? order < 0 : a.build < b.build;
}

class Solver {
 public:
  Solver(const Request& request, Provider& provider, const Context& context)
      : request_(request), provider_(provider), context_(context) {}

  Result<std::variant<Solution, Failure>> run() {
    add_package(request_.root);
    solution_.decide(kRoot, Choice::one_of(VersionRange::any()));
    MIST_TRY_VOID(add_dependencies(kRoot, VersionRange::any(), needs_of(request_.requirements)));
    std::optional<PackageIndex> next = kRoot;
    while (next) {
      MIST_TRY(const std::optional<FactIndex> failure, propagate(*next));
      if (failure) return std::variant<Solution, Failure>(Failure{std::move(knowledge_), *failure});
      MIST_TRY(next, decide());
    }
    return std::variant<Solution, Failure>(result());
  }

 private:
  /// A requirement by number.
  struct Need {
    PackageIndex on = kRoot;
    VersionRange range;
  };
  /// The solver's notes on a package besides what is known.
  struct Package {
    std::optional<Version> locked;
    std::vector<Version> releases;     // of the listed versions, ascending
    std::vector<Version> prereleases;  // of the listed versions, ascending
    std::vector<FactIndex> facts;      // that speak of it, older first
    std::unordered_map<PackageIndex, std::vector<FactIndex>> dependencies;  // facts of what it needs, by that
    std::map<Version, std::vector<Need>> loaded;
    std::uint64_t counted_at = 0;  // serial of the assignment for which `count` is
    std::size_t count = 0;
    bool queued = false;
  };

  PackageIndex index_of(const std::string& id) {
    const auto [at, made] = indices_.try_emplace(id, static_cast<PackageIndex>(packages_.size()));
    if (!made) return at->second;
    add_package(id);
    if (const auto lock = request_.locked.find(id);
        lock != request_.locked.end() && !request_.update.contains(id))
      packages_.back().locked = lock->second;
    return at->second;
  }

  void add_package(const std::string& id) {
    knowledge_.packages.push_back({.id = id, .listed = false, .versions = {}, .asked = {}});
    packages_.emplace_back();
    solution_.add_package();
  }

  std::vector<Need> needs_of(const std::vector<Requirement>& requirements) {
    std::vector<const Requirement*> sorted;
    for (const Requirement& each : requirements) sorted.push_back(&each);
    std::ranges::stable_sort(sorted, {}, [](const Requirement* each) {
      return std::pair(std::string_view(each->package), each->range.to_string());
    });
    std::vector<Need> needs;
    for (const Requirement* each : sorted) {
      needs.push_back({index_of(each->package), each->range});
      auto& asked = knowledge_.packages[needs.back().on].asked;
      if (std::ranges::find(asked, each->range) == asked.end()) asked.push_back(each->range);
    }
    return needs;
  }

  Status step(std::uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > request_.max_steps)
      return error(ErrorKind::Timeout, "resolving the dependencies of {} takes more than {} steps",
                   request_.root, request_.max_steps)
          .with_hint("narrow the ranges of the packages with the most versions, or lock some of them");
    if (steps_ < next_check_) return {};
    next_check_ = steps_ + kStepsBetweenChecks;
    return context_.check();
  }

  // Facts.

  FactIndex add_fact(Incompatibility fact) {
    const auto index = static_cast<FactIndex>(knowledge_.facts.size());
    for (const Term& term : fact.terms) packages_[term.package].facts.push_back(index);
    knowledge_.facts.push_back(std::move(fact));
    return index;
  }

  /// It stays known, since others may follow from it, and is looked at no more.
  void retire(FactIndex index) {
    for (const Term& term : knowledge_.facts[index].terms) {
      auto& facts = packages_[term.package].facts;
      facts.erase(std::ranges::find(facts, index));
    }
  }

  static Incompatibility dependency(PackageIndex package, VersionRange of, const Need& need) {
    Incompatibility fact;
    Choice asks = Choice::one_of(of);
    Choice refused = Choice::none_of(need.range);
    fact.terms.push_back({package, std::move(asks)});
    if (package != need.on && !refused.is_everything()) fact.terms.push_back({need.on, std::move(refused)});
    fact.cause = DependencyCause{package, std::move(of), need.on, need.range};
    return fact;
  }

  /// `of` asks for all `needs`. Versions that ask for the same become one fact: what is learned of one of
  /// them is then learned of all. Returns those facts.
  Result<std::vector<FactIndex>> add_dependencies(PackageIndex package, const VersionRange& of,
                                                  const std::vector<Need>& needs) {
    std::vector<FactIndex> result;
    for (const Need& need : needs) {
      MIST_TRY_VOID(step());
      auto& known = packages_[package].dependencies[need.on];
      const auto same = std::ranges::find_if(known, [&](FactIndex index) {
        return std::get<DependencyCause>(knowledge_.facts[index].cause).range == need.range;
      });
      VersionRange all = of;
      if (same != known.end()) {
        all = all | std::get<DependencyCause>(knowledge_.facts[*same].cause).of;
        retire(*same);
        known.erase(same);
      }
      Incompatibility fact = dependency(package, std::move(all), need);
      const FactIndex index = add_fact(std::move(fact));
      known.push_back(index);
      result.push_back(index);
    }
    return result;
  }

  // Unit propagation.

  /// The failure, if there is one.
  Result<std::optional<FactIndex>> propagate(PackageIndex first) {
    std::deque<PackageIndex> changed;
    const auto enqueue = [&](PackageIndex package) {
      if (std::exchange(packages_[package].queued, true)) return;
      changed.push_back(package);
    };
    enqueue(first);
    while (!changed.empty()) {
      const PackageIndex package = changed.front();
      changed.pop_front();
      packages_[package].queued = false;
      // Newer facts say more. Nothing is added to the list in this loop but by a conflict, which ends it.
      for (std::size_t i = packages_[package].facts.size(); i-- > 0;) {
        MIST_TRY_VOID(step());
        const FactIndex fact = packages_[package].facts[i];
        const Unsatisfied unsatisfied = look_at(fact);
        if (unsatisfied.count > 1) continue;
        if (unsatisfied.count == 1) {
          derive(*unsatisfied.term, fact);
          enqueue(unsatisfied.term->package);
          continue;
        }
        MIST_TRY(const FactIndex cause, resolve_conflict(fact));
        if (knowledge_.facts[cause].is_failure()) return std::optional(cause);
        for (const PackageIndex each : changed) packages_[each].queued = false;
        changed.clear();
        const Unsatisfied now = look_at(cause);
        MIST_CHECK(now.count == 1, "a root cause derives something");
        derive(*now.term, cause);
        enqueue(now.term->package);
        break;
      }
    }
    return std::optional<FactIndex>();
  }

  /// How many terms don't hold: 0 is a conflict, 1 derives that term's opposite, 2 stands for "says nothing".
  struct Unsatisfied {
    int count = 0;
    const Term* term = nullptr;
  };

  Unsatisfied look_at(FactIndex index) const {
    Unsatisfied result;
    for (const Term& term : knowledge_.facts[index].terms) {
      switch (solution_.relation(term)) {
        case Relation::Contradicted:
          return {2, nullptr};
        case Relation::Satisfied:
          break;
        case Relation::Open:
          if (++result.count > 1) return result;
          result.term = &term;
      }
    }
    return result;
  }

  void derive(const Term& term, FactIndex cause) {
    solution_.derive(term.package, term.choice.complement(), cause);
  }

  // Conflict resolution.

  /// The root cause of a conflict, after going back to where it derives something; or the failure.
  Result<FactIndex> resolve_conflict(FactIndex index) {
    bool is_new = false;
    while (!knowledge_.facts[index].is_failure()) {
      MIST_TRY_VOID(step());
      const Incompatibility& fact = knowledge_.facts[index];
      const Term* term = nullptr;
      std::uint32_t satisfier = 0;
      std::uint32_t previous_level = kRootLevel;
      for (const Term& each : fact.terms) {
        const std::uint32_t own = solution_.satisfier(each);
        if (term == nullptr) {
          term = &each;
          satisfier = own;
          continue;
        }
        previous_level = std::max(previous_level, solution_[std::min(own, satisfier)].level);
        if (own > satisfier) {
          term = &each;
          satisfier = own;
        }
      }
      const PartialSolution::Assignment& last = solution_[satisfier];
      previous_level = std::max(previous_level, solution_.level_with(*term, last.own));
      if (!last.cause || previous_level < last.level) {
        solution_.backtrack(previous_level);
        if (is_new) publish(index);
        return index;
      }
      index = combine(index, *last.cause, last.package);
      is_new = true;
    }
    return index;
  }

  /// The fact that follows from two by resolution on `package`. It is known, but nobody looks at it yet.
  FactIndex combine(FactIndex first, FactIndex second, PackageIndex package) {
    Incompatibility result;
    result.cause = DerivedCause{first, second};
    Choice either{false, VersionRange::none()};
    for (const FactIndex index : {first, second}) {
      for (const Term& term : knowledge_.facts[index].terms) {
        if (term.package == package) {
          either = either | term.choice;
          continue;
        }
        const auto same = std::ranges::find(result.terms, term.package, &Term::package);
        if (same != result.terms.end())
          same->choice = same->choice & term.choice;
        else
          result.terms.push_back(term);
      }
    }
    if (!either.is_everything()) result.terms.push_back({package, std::move(either)});
    // The root is always selected.
    if (result.terms.size() > 1)
      std::erase_if(result.terms, [](const Term& term) { return term.package == kRoot && term.positive(); });
    knowledge_.facts.push_back(std::move(result));
    return static_cast<FactIndex>(knowledge_.facts.size() - 1);
  }

  void publish(FactIndex index) {
    for (const Term& term : knowledge_.facts[index].terms) packages_[term.package].facts.push_back(index);
  }

  // Decisions.

  /// Selects a version, or learns why not; the package to propagate then. nullopt: all is decided.
  Result<std::optional<PackageIndex>> decide() {
    std::optional<PackageIndex> best;
    std::size_t fewest = 0;
    for (PackageIndex each = 0; each < packages_.size(); ++each) {
      if (!solution_.is_open(each)) continue;
      MIST_TRY(const std::size_t count, matching(each));
      // The one with the fewest versions runs out of them first. Ties: by id, so that no order matters.
      if (best && (count > fewest ||
                   (count == fewest && knowledge_.packages[each].id > knowledge_.packages[*best].id)))
        continue;
      best = each;
      fewest = count;
    }
    if (!best) return std::optional<PackageIndex>();
    const Choice& left = solution_.left(*best);
    if (fewest == 0) {
      add_fact({{Term{*best, left}}, NoVersionsCause{*best, left.versions}});
      return best;
    }
    const Version version = preferred(*best);
    MIST_TRY(const bool fits, load(*best, version));
    if (fits) solution_.decide(*best, Choice::one_of(VersionRange::exactly(version)));
    return best;
  }

  bool keeps_lock(PackageIndex index) const {
    return packages_[index].locked && solution_.left(index).versions.contains(*packages_[index].locked);
  }

  Result<std::size_t> matching(PackageIndex index) {
    if (keeps_lock(index)) return std::size_t{1};
    if (!knowledge_.packages[index].listed) MIST_TRY_VOID(list(index));
    Package& package = packages_[index];
    const std::uint64_t serial = solution_.serial(index);
    if (package.counted_at != serial) {
      MIST_TRY_VOID(step());
      package.count = solution_.left(index).versions.count(package.releases, package.prereleases);
      package.counted_at = serial;
    }
    return package.count;
  }

  Version preferred(PackageIndex index) const {
    if (keeps_lock(index)) return *packages_[index].locked;
    const Package& package = packages_[index];
    const Version* found = solution_.left(index).versions.last(package.releases, package.prereleases);
    MIST_CHECK(found != nullptr, "it was counted");
    return *found;
  }

  // Questions to the provider.

  Status list(PackageIndex index) {
    MIST_TRY_VOID(context_.check());
    const std::string& id = knowledge_.packages[index].id;
    auto candidates = provider_.versions(id);
    if (!candidates.ok())
      return std::move(candidates)
          .error()
          .with_frame(fmt::format("while listing the versions of {}", path_to(index)));
    std::vector<Version> versions;
    const std::optional<Version>& locked = packages_[index].locked;
    for (Candidate& each : *candidates)
      if (!each.yanked && !(locked && each.version == *locked)) versions.push_back(std::move(each.version));
    if (locked) versions.push_back(*locked);
    std::ranges::sort(versions, comes_before);
    // Of equals the last.
    const auto rest = std::unique(versions.rbegin(), versions.rend());
    versions.erase(versions.begin(), rest.base());
    for (const Version& each : versions)
      (each.prerelease.empty() ? packages_[index].releases : packages_[index].prereleases).push_back(each);
    knowledge_.packages[index].versions = std::move(versions);
    knowledge_.packages[index].listed = true;
    return {};
  }

  /// A listed version stands for itself and what lies between it and the next one: there is nothing.
  VersionRange with_gap(PackageIndex index, const Version& version) const {
    const KnownPackage& package = knowledge_.packages[index];
    if (!package.listed) return VersionRange::exactly(version);
    const auto at = std::ranges::lower_bound(package.versions, version);
    const auto next = at + 1;
    return VersionRange::between(at == package.versions.begin() ? std::nullopt : std::optional(version),
                                 next == package.versions.end() ? std::nullopt : std::optional(*next));
  }

  /// Learns what a version needs. False: it conflicts with what is decided already.
  Result<bool> load(PackageIndex index, const Version& version) {
    if (!packages_[index].loaded.contains(version)) {
      MIST_TRY_VOID(context_.check());
      const std::string id = knowledge_.packages[index].id;
      const auto requirements = provider_.dependencies(id, version);
      if (!requirements.ok())
        return Error(requirements.error())
            .with_frame(fmt::format("while reading the dependencies of {}{}", path_to(index, &version),
                                    keeps_lock(index) ? ", which is locked" : ""));
      std::vector<Need> needs = needs_of(*requirements);
      // A need of a package for itself is met already, or can never be.
      std::vector<Need> open = needs;
      std::erase_if(open, [&](const Need& each) { return each.on == index && each.range.contains(version); });
      MIST_TRY(const std::vector<FactIndex> facts, add_dependencies(index, with_gap(index, version), open));
      packages_[index].loaded.emplace(version, std::move(needs));
      return std::ranges::none_of(facts, [&](FactIndex fact) { return conflicts(fact, index, version); });
    }
    return true;
  }

  /// Would all terms hold if `version` were selected?
  bool conflicts(FactIndex index, PackageIndex package, const Version& version) const {
    return std::ranges::all_of(knowledge_.facts[index].terms, [&](const Term& term) {
      return term.package == package ? term.choice.versions.contains(version)
                                     : solution_.relation(term) == Relation::Satisfied;
    });
  }

  // Answers.

  const std::vector<Need>& needs_of_decided(PackageIndex index) const {
    static const std::vector<Need> none;
    const VersionRange& range = solution_.left(index).versions;
    for (const auto& [version, needs] : packages_[index].loaded)
      if (range.contains(version)) return needs;
    return none;
  }

  std::string name_of(PackageIndex index, const Version* version) const {
    const std::string& id = knowledge_.packages[index].id;
    return version == nullptr ? id : fmt::format("{} {}", id, version->to_string());
  }

  const Version* decided_version(PackageIndex index) const {
    const VersionRange& range = solution_.left(index).versions;
    for (const auto& [version, needs] : packages_[index].loaded)
      if (range.contains(version)) return &version;
    return nullptr;
  }

  /// "acme/redis (platform → acme/api 1.2.0 → acme/redis)".
  std::string path_to(PackageIndex index, const Version* version = nullptr) const {
    const std::string name = name_of(index, version);
    std::vector<std::string> path = {name};
    const std::vector<PackageIndex> decided = solution_.decided();
    std::size_t before = decided.size();
    for (PackageIndex at = index; at != kRoot;) {
      // The first that asked, of those decided before: so it ends at the root.
      std::size_t by = 0;
      while (by < before && !asks(decided[by], at)) ++by;
      if (by == before) break;  // it follows from a derived fact
      at = decided[by];
      before = by;
      path.push_back(at == kRoot ? request_.root : name_of(at, decided_version(at)));
    }
    std::ranges::reverse(path);
    return path.size() == 1 ? name : fmt::format("{} ({})", name, join(path, " → "));
  }

  bool asks(PackageIndex package, PackageIndex on) const {
    if (package == kRoot)
      return std::ranges::any_of(request_.requirements, [&](const Requirement& each) {
        return each.package == knowledge_.packages[on].id;
      });
    return std::ranges::any_of(needs_of_decided(package), [&](const Need& each) { return each.on == on; });
  }

  Solution result() const {
    Solution out;
    std::map<std::string, Selected> selected;
    for (const PackageIndex index : solution_.decided()) {
      if (index == kRoot) continue;
      const std::string& id = knowledge_.packages[index].id;
      out.decided.push_back(id);
      selected[id] = {id, *decided_version(index), {}};
    }
    for (const Requirement& each : request_.requirements)
      selected[each.package].askers.push_back({"", each.range});
    for (auto& [id, one] : selected)
      for (const Need& need : needs_of_decided(indices_.at(id)))
        selected[knowledge_.packages[need.on].id].askers.push_back({id, need.range});
    for (auto& [id, one] : selected) out.packages.push_back(std::move(one));
    return out;
  }

  const Request& request_;
  Provider& provider_;
  const Context& context_;
  Knowledge knowledge_;
  PartialSolution solution_;
  std::vector<Package> packages_;
  std::unordered_map<std::string, PackageIndex, KeyedHash> indices_;
  std::uint64_t steps_ = 0;
  std::uint64_t next_check_ = 0;
};

}  // namespace

Result<std::variant<Solution, Failure>> search(const Request& request, Provider& provider,
                                               const Context& context) {
  return Solver(request, provider, context).run();
}

Result<Solution> solve(const Request& request, Provider& provider, const Context& context) {
  MIST_TRY(auto outcome, search(request, provider, context));
  if (auto* solution = std::get_if<Solution>(&outcome)) return std::move(*solution);
  const Failure& failure = std::get<Failure>(outcome);
  return error(ErrorKind::Conflict, "no versions satisfy all dependencies of {}", request.root)
      .with_because(explain(failure.knowledge, failure.fact))
      .with_hint("change one of the ranges named above, or publish a version that they allow");
}

}  // namespace mist::resolve
