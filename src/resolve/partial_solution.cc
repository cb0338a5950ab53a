#include "resolve/partial_solution.h"

#include <algorithm>

#include "base/error.h"

namespace mist::resolve {

void PartialSolution::decide(PackageIndex package, Choice choice) {
  ++level_;
  add(package, std::move(choice), std::nullopt);
}

void PartialSolution::derive(PackageIndex package, Choice choice, FactIndex cause) {
  add(package, std::move(choice), cause);
}

void PartialSolution::add(PackageIndex package, Choice own, std::optional<FactIndex> cause) {
  Choice remaining = left(package) & own;
  of_package_[package].push_back(static_cast<std::uint32_t>(assignments_.size()));
  assignments_.push_back({package, std::move(own), std::move(remaining), level_, cause, ++last_serial_});
}

void PartialSolution::backtrack(std::uint32_t level) {
  while (!assignments_.empty() && assignments_.back().level > level) {
    of_package_[assignments_.back().package].pop_back();
    assignments_.pop_back();
  }
  level_ = level;
}

const Choice& PartialSolution::left(PackageIndex package) const {
  static const Choice everything;
  const auto& own = of_package_[package];
  return own.empty() ? everything : assignments_[own.back()].left;
}

Relation PartialSolution::relation(const Term& term) const {
  const Choice& choice = left(term.package);
  if (choice.is_disjoint_from(term.choice)) return Relation::Contradicted;
  return choice.is_subset_of(term.choice) ? Relation::Satisfied : Relation::Open;
}

bool PartialSolution::is_open(PackageIndex package) const {
  const auto& own = of_package_[package];
  if (own.empty() || assignments_[own.back()].left.absent) return false;
  return std::ranges::all_of(own, [&](std::uint32_t index) { return assignments_[index].cause.has_value(); });
}

std::uint64_t PartialSolution::serial(PackageIndex package) const {
  const auto& own = of_package_[package];
  return own.empty() ? 0 : assignments_[own.back()].serial;
}

std::uint32_t PartialSolution::satisfier(const Term& term) const {
  const auto& own = of_package_[term.package];
  const auto found = std::ranges::partition_point(
      own, [&](std::uint32_t index) { return !assignments_[index].left.is_subset_of(term.choice); });
  MIST_CHECK(found != own.end(), "the term does not hold");
  return *found;
}

std::uint32_t PartialSolution::level_with(const Term& term, const Choice& given) const {
  if (given.is_subset_of(term.choice)) return 0;
  const auto& own = of_package_[term.package];
  const auto found = std::ranges::partition_point(own, [&](std::uint32_t index) {
    return !(assignments_[index].left & given).is_subset_of(term.choice);
  });
  MIST_CHECK(found != own.end(), "the term does not hold");
  return assignments_[*found].level;
}

std::vector<PackageIndex> PartialSolution::decided() const {
  std::vector<PackageIndex> result;
  for (const Assignment& each : assignments_)
    if (!each.cause) result.push_back(each.package);
  return result;
}

}  // namespace mist::resolve
