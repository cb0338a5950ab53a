// Random universes, solved by PubGrub and by trying everything: 2,000 of them, 100,000 in `make test-full`
// (RC_PARAMS=max_success=100000).
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/text.h"
#include "resolve/explain.h"
#include "testing/fake_provider.h"

namespace mist::resolve {
namespace {

using testing::FakeProvider;
using testing::range_of;
using testing::version_of;

/// RapidCheck reads its parameters once, before the first property.
const bool kCasesAreSet = ::setenv("RC_PARAMS", "max_success=2000", 0) == 0;

std::size_t draw(std::size_t least, std::size_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(least, most));
}

const std::vector<std::string> kNames = {"a", "b", "c", "d", "e"};
const std::vector<std::string> kVersions = {"1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0", "3.0.0"};
const std::vector<std::string> kRanges = {
    "*",     "^1",       "^2",       ">=1.1",      "<2",       "<=1.1.0",    "1.0.0",   "!=1.1.0",
    ">=2-0", "1.1 || 3", "^2.0.0-0", "1 < x <= 2", ">=2 <2.5", "2.0.0-rc.1", ">=3.0.0", "1.0.0 || ^2.0.0"};

std::vector<Requirement> random_needs(std::size_t packages, std::size_t most) {
  std::vector<Requirement> needs(draw(0, most + 1));
  for (Requirement& each : needs)
    each = {kNames[draw(0, packages)], range_of(kRanges[draw(0, kRanges.size())])};
  return needs;
}

struct Universe {
  FakeProvider provider;
  Request request;
};

Universe random_universe() {
  Universe universe;
  const std::size_t packages = draw(1, kNames.size() + 1);
  for (std::size_t i = 0; i < packages; ++i) {
    auto& releases = universe.provider.releases[kNames[i]];
    for (const std::string& version : kVersions) {
      if (draw(0, 4) == 0) continue;
      releases.push_back({version_of(version), random_needs(packages, 3), draw(0, 10) == 0});
    }
    if (!releases.empty() && draw(0, 3) == 0)
      universe.request.locked[kNames[i]] = releases[draw(0, releases.size())].version;
    if (draw(0, 6) == 0) universe.request.update.insert(kNames[i]);
  }
  universe.request.root = "platform";
  universe.request.requirements = random_needs(packages, 3);
  return universe;
}

std::string described(const Universe& universe) {
  const auto needs = [](const std::vector<Requirement>& all) {
    std::string out;
    for (const Requirement& each : all)
      out += fmt::format(" {{{} {}}}", each.package, each.range.to_string());
    return out;
  };
  std::string out = "platform:" + needs(universe.request.requirements) + "\n";
  for (const auto& [package, releases] : universe.provider.releases)
    for (const auto& each : releases)
      out += fmt::format("{} {}{}:{}\n", package, each.version.to_string(), each.yanked ? " yanked" : "",
                         needs(each.needs));
  for (const auto& [package, version] : universe.request.locked)
    out += fmt::format("locked {} {}\n", package, version.to_string());
  for (const std::string& package : universe.request.update) out += "update " + package + "\n";
  return out;
}

/// The second opinion: shares nothing with the solver but VersionRange::contains.
class BruteForce {
 public:
  using Selection = std::map<std::string, Version>;

  explicit BruteForce(const Universe& universe) : universe_(universe) {}

  std::optional<Version> locked(const std::string& package) const {
    const auto found = universe_.request.locked.find(package);
    if (found == universe_.request.locked.end() || universe_.request.update.contains(package))
      return std::nullopt;
    return found->second;
  }

  /// The best first.
  std::vector<Version> candidates(const std::string& package) const {
    std::vector<Version> result;
    const auto lock = locked(package);
    for (const auto& each : universe_.provider.releases.at(package))
      if (!each.yanked && !(lock && *lock == each.version)) result.push_back(each.version);
    std::ranges::sort(result, std::greater());
    if (lock) result.insert(result.begin(), *lock);
    return result;
  }

  const std::vector<Requirement>& needs(const std::string& package, const Version& version) const {
    for (const auto& each : universe_.provider.releases.at(package))
      if (each.version == version) return each.needs;
    std::abort();
  }

  bool allowed(const std::string& package, const Version& version,
               const std::vector<Requirement>& requirements) const {
    return std::ranges::all_of(requirements, [&](const Requirement& each) {
      return each.package != package || each.range.contains(version);
    });
  }

  /// Is there a solution that has all of `fixed`?
  bool exists(const Selection& fixed) const {
    Selection selection;
    std::vector<Requirement> asked = universe_.request.requirements;
    for (const auto& [package, version] : fixed) asked.push_back({package, VersionRange::exactly(version)});
    return extend(selection, asked);
  }

  bool is_solution(const Selection& selection) const {
    std::vector<Requirement> asked = universe_.request.requirements;
    for (const auto& [package, version] : selection)
      for (const Requirement& need : needs(package, version)) asked.push_back(need);
    for (const Requirement& each : asked) {
      const auto found = selection.find(each.package);
      if (found == selection.end() || !each.range.contains(found->second)) return false;
    }
    for (const auto& [package, version] : selection) {
      const std::vector<Version> all = candidates(package);
      if (std::ranges::find(all, version) == all.end()) return false;
      if (std::ranges::find(asked, package, &Requirement::package) == asked.end()) return false;
    }
    return true;
  }

 private:
  bool extend(Selection& selection, const std::vector<Requirement>& asked) const {
    for (const auto& [package, version] : selection)
      if (!allowed(package, version, asked)) return false;
    const auto open = std::ranges::find_if(
        asked, [&](const Requirement& each) { return !selection.contains(each.package); });
    if (open == asked.end()) return true;
    const std::string package = open->package;
    for (const Version& version : candidates(package)) {
      if (!allowed(package, version, asked)) continue;
      std::vector<Requirement> more = asked;
      for (const Requirement& need : needs(package, version)) more.push_back(need);
      selection[package] = version;
      if (extend(selection, more)) return true;
      selection.erase(package);
    }
    return false;
  }

  const Universe& universe_;
};

void check(const Universe& universe, const BruteForce& brute, const Solution& solution) {
  BruteForce::Selection all;
  for (const Selected& each : solution.packages) all[each.package] = each.version;
  RC_ASSERT(brute.is_solution(all));
  RC_ASSERT(solution.decided.size() == all.size());
  // Nothing better, given what was decided before.
  BruteForce::Selection earlier;
  for (const std::string& package : solution.decided) {
    for (const Version& better : brute.candidates(package)) {
      if (better == all[package]) break;
      auto fixed = earlier;
      fixed[package] = better;
      RC_LOG() << package << " " << better.to_string() << " is better";
      RC_ASSERT(!brute.exists(fixed));
    }
    earlier[package] = all[package];
  }
  // For `why`.
  std::size_t askers = 0;
  for (const Selected& each : solution.packages)
    for (const Asker& by : each.askers) {
      ++askers;
      const auto& needs =
          by.package.empty() ? universe.request.requirements : brute.needs(by.package, all.at(by.package));
      RC_ASSERT(std::ranges::any_of(needs, [&](const Requirement& need) {
        return need.package == each.package && need.range.to_string() == by.range.to_string();
      }));
    }
  std::size_t needed = universe.request.requirements.size();
  for (const auto& [package, version] : all) needed += brute.needs(package, version).size();
  RC_ASSERT(askers == needed);
}

/// Every fact of a proof, looked at by itself.
class ProofCheck {
 public:
  ProofCheck(const Universe& universe, const BruteForce& brute, const Failure& failure)
      : universe_(universe), brute_(brute), knowledge_(failure.knowledge) {
    RC_ASSERT(knowledge_.facts[failure.fact].is_failure());
    visit(failure.fact);
  }

 private:
  const std::string& id(PackageIndex index) const { return knowledge_.packages[index].id; }

  void visit(FactIndex index) {
    if (!seen_.insert(index).second) return;
    const Incompatibility& fact = knowledge_.facts[index];
    for (const Term& term : fact.terms) reads_as_meant(term);
    if (const auto* cause = std::get_if<DependencyCause>(&fact.cause)) {
      for (const Version& version : versions_of(cause->package)) {
        if (cause->package != kRoot && !cause->of.contains(version)) continue;
        const auto& needs = cause->package == kRoot ? universe_.request.requirements
                                                    : brute_.needs(id(cause->package), version);
        RC_ASSERT(std::ranges::any_of(needs, [&](const Requirement& each) {
          return each.package == id(cause->on) && each.range == cause->range;
        }));
      }
      reads_as_meant(cause->on, cause->range);
      // The terms say no more than that.
      for (const Version& version : versions_of(cause->package))
        for (const auto& other : choices_of(cause->on)) {
          if (cause->package == cause->on && !(other && *other == version)) continue;
          const bool broken = (cause->package == kRoot || cause->of.contains(version)) &&
                              !(other && cause->range.contains(*other));
          const bool told = std::ranges::all_of(fact.terms, [&](const Term& term) {
            return holds(term, term.package == cause->package ? std::optional(version) : other);
          });
          RC_ASSERT(told == broken);
        }
    } else if (const auto* none = std::get_if<NoVersionsCause>(&fact.cause)) {
      for (const Version& version : versions_of(none->package)) RC_ASSERT(!none->range.contains(version));
    } else {
      const DerivedCause& derived = *fact.derived();
      RC_ASSERT(derived.first < index);
      RC_ASSERT(derived.second < index);
      visit(derived.first);
      visit(derived.second);
      follows(fact, knowledge_.facts[derived.first], knowledge_.facts[derived.second]);
    }
  }

  std::vector<Version> versions_of(PackageIndex index) const {
    return index == kRoot ? std::vector<Version>{Version{}} : brute_.candidates(id(index));
  }
  std::vector<std::optional<Version>> choices_of(PackageIndex index) const {
    std::vector<std::optional<Version>> result;
    if (index != kRoot) result.emplace_back();
    for (Version& each : versions_of(index)) result.emplace_back(std::move(each));
    return result;
  }
  static bool holds(const Term& term, const std::optional<Version>& choice) {
    return choice ? term.choice.versions.contains(*choice) : term.choice.absent;
  }

  /// Any choice of versions, for all packages named, that breaks `conclusion` also breaks a premise.
  void follows(const Incompatibility& conclusion, const Incompatibility& first,
               const Incompatibility& second) const {
    std::vector<PackageIndex> packages;
    for (const Incompatibility* fact : {&conclusion, &first, &second})
      for (const Term& term : fact->terms)
        if (std::ranges::find(packages, term.package) == packages.end()) packages.push_back(term.package);
    std::map<PackageIndex, std::optional<Version>> chosen;
    const auto broken = [&](const Incompatibility& fact) {
      return std::ranges::all_of(fact.terms,
                                 [&](const Term& term) { return holds(term, chosen.at(term.package)); });
    };
    const std::function<void(std::size_t)> each = [&](std::size_t depth) {
      if (depth == packages.size()) {
        RC_ASSERT(!broken(conclusion) || broken(first) || broken(second));
        return;
      }
      for (const auto& choice : choices_of(packages[depth])) {
        chosen[packages[depth]] = choice;
        each(depth + 1);
      }
    };
    each(0);
  }

  void reads_as_meant(const Term& term) const {
    const VersionRange& range = term.choice.versions;
    reads_as_meant(term.package, term.positive() ? range : range.complement());
  }

  /// The words mean the same versions, of those that exist.
  void reads_as_meant(PackageIndex index, const VersionRange& range) const {
    if (index == kRoot || !knowledge_.packages[index].listed) return;
    const std::string text = versions_text(knowledge_.packages[index], range);
    RC_LOG() << id(index) << " " << text;
    for (const Version& version : versions_of(index))
      RC_ASSERT(read(text, version) == range.contains(version));
  }
  static bool read(const std::string& text, const Version& version) {
    if (text == "any version" || text == "no version") return text == "any version";
    constexpr std::string_view kOther = "other than ", kPrereleases = "prereleases";
    if (text.starts_with(kOther)) return !range_of(text.substr(kOther.size())).contains(version);
    std::string_view rest = text;
    while (true) {
      const std::size_t bar = rest.find(" || ");
      const std::string_view part = rest.substr(0, bar);
      if (part.starts_with(kPrereleases)) {
        const auto range = VersionRange::parse(part.substr(kPrereleases.size()), Prereleases::AsHelm);
        if (!version.prerelease.empty() && (part == kPrereleases || range->contains(version))) return true;
      } else if (const std::size_t to = part.find(" to "); to != std::string_view::npos) {
        if (version >= version_of(part.substr(0, to)) && version <= version_of(part.substr(to + 4)))
          return true;
      } else if (range_of(part).contains(version)) {
        return true;
      }
      if (bar == std::string_view::npos) return false;
      rest.remove_prefix(bar + 4);
    }
  }

  const Universe& universe_;
  const BruteForce& brute_;
  const Knowledge& knowledge_;
  std::set<FactIndex> seen_;
};

void numbers_are_there(const std::string& text) {
  RC_ASSERT(text.ends_with("version solving failed."));
  for (int number = 1; number < 20; ++number) {
    const std::string reference = fmt::format(" ({})", number);
    if (text.find(reference) == std::string::npos) continue;
    const std::string definition = fmt::format("({}) ", number);
    RC_ASSERT(text.starts_with(definition) || text.find("\n" + definition) < text.find(reference));
  }
}

RC_GTEST_PROP(SolverProperty, AgreesWithTryingEverything, ()) {
  Universe universe = random_universe();
  RC_LOG() << described(universe);
  const auto outcome = search(universe.request, universe.provider);
  if (!outcome.ok()) RC_FAIL(outcome.error().to_line());
  const BruteForce brute(universe);
  RC_CLASSIFY(outcome->index() == 0, "solved");
  if (const auto* solution = std::get_if<Solution>(&*outcome)) {
    check(universe, brute, *solution);
    return;
  }
  const Failure& failure = std::get<Failure>(*outcome);
  const std::string text = explain(failure.knowledge, failure.fact);
  RC_LOG() << text;
  RC_ASSERT(!brute.exists({}));
  ProofCheck(universe, brute, failure);
  numbers_are_there(text);
}

}  // namespace
}  // namespace mist::resolve
