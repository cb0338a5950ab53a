#pragma once
// PubGrub's vocabulary: what is known about packages (terms), and what can't be true together
// (incompatibilities). Internal to resolve; the tests look at it too. Plain values; any thread.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "resolve/range.h"

namespace mist::resolve {

/// The selection of one package: a version of `versions`, or nothing if `absent`. A set, so that PubGrub's
/// positive terms (absent is false) and negative ones (absent is true) need no cases.
struct Choice {
  bool absent = true;
  VersionRange versions = VersionRange::any();

  static Choice one_of(VersionRange range) { return {false, std::move(range)}; }
  static Choice none_of(const VersionRange& range) { return {true, range.complement()}; }

  bool is_everything() const { return absent && versions == VersionRange::any(); }
  bool is_subset_of(const Choice& other) const {
    return (!absent || other.absent) && versions.is_subset_of(other.versions);
  }
  bool is_disjoint_from(const Choice& other) const {
    return !(absent && other.absent) && versions.is_disjoint_from(other.versions);
  }
  Choice complement() const { return {!absent, versions.complement()}; }
  friend Choice operator&(const Choice& a, const Choice& b) {
    return {a.absent && b.absent, a.versions & b.versions};
  }
  friend Choice operator|(const Choice& a, const Choice& b) {
    return {a.absent || b.absent, a.versions | b.versions};
  }
};

/// A place in Knowledge::packages.
using PackageIndex = std::uint32_t;
/// The subject of the resolution. It is always selected and has no versions: any() stands for it.
inline constexpr PackageIndex kRoot = 0;

struct Term {
  PackageIndex package = kRoot;
  Choice choice;

  bool positive() const { return !choice.absent; }
};

/// A place in Knowledge::facts.
using FactIndex = std::uint32_t;

/// A package asks for another: {of, not range}. `of` has the listed versions that ask so and the gaps between
/// neighbours among them.
struct DependencyCause {
  PackageIndex package = kRoot;
  VersionRange of;
  PackageIndex on = kRoot;
  VersionRange range;
};
/// No version of the package is in the range.
struct NoVersionsCause {
  PackageIndex package = kRoot;
  VersionRange range;
};
/// Follows from two others.
struct DerivedCause {
  FactIndex first = 0;
  FactIndex second = 0;
};

/// Terms that are not all true in any solution; one term a package.
struct Incompatibility {
  std::vector<Term> terms;
  std::variant<DependencyCause, NoVersionsCause, DerivedCause> cause;

  const DerivedCause* derived() const { return std::get_if<DerivedCause>(&cause); }
  /// The root can't be selected: there is no solution.
  bool is_failure() const {
    return terms.empty() || (terms.size() == 1 && terms[0].package == kRoot && terms[0].positive());
  }
};

/// A package as far as the solver looked at it.
struct KnownPackage {
  std::string id;
  bool listed = false;              ///< `versions` is complete
  std::vector<Version> versions;    ///< that may be selected, ascending
  std::vector<VersionRange> asked;  ///< ranges in which somebody asked for it, in their words
};

/// Everything that the solver learned, causes before what follows from them.
struct Knowledge {
  std::vector<KnownPackage> packages;
  std::vector<Incompatibility> facts;
};

}  // namespace mist::resolve
