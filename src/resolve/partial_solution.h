#pragma once
// PubGrub's partial solution: what was decided and what follows from it, in the order in which it was found,
// with the choice that remains for each package after each step. Internal to resolve. One thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "resolve/incompatibility.h"

namespace mist::resolve {

enum class Relation : std::uint8_t { Satisfied, Contradicted, Open };

class PartialSolution {
 public:
  struct Assignment {
    PackageIndex package = kRoot;
    Choice own;                      ///< what this step says
    Choice left;                     ///< what is left of the package's choice after it
    std::uint32_t level = 0;         ///< how many decisions there were, this one included
    std::optional<FactIndex> cause;  ///< nullopt: a decision
    std::uint64_t serial = 0;        ///< no other assignment ever has it
  };

  /// Packages are numbered from 0; call it for each new one.
  void add_package() { of_package_.emplace_back(); }

  void decide(PackageIndex package, Choice choice);
  void derive(PackageIndex package, Choice choice, FactIndex cause);
  /// Forgets everything that was found after decision number `level`.
  void backtrack(std::uint32_t level);

  const Choice& left(PackageIndex package) const;
  Relation relation(const Term& term) const;
  /// A package must be selected, and no version is decided.
  bool is_open(PackageIndex package) const;
  /// Of the package's newest assignment; 0: there is none.
  std::uint64_t serial(PackageIndex package) const;

  /// The earliest assignment after which `term` holds. It must hold now.
  std::uint32_t satisfier(const Term& term) const;
  /// The level of the earliest assignment after which `term` holds, given `given` too; 0: it holds before
  /// all.
  std::uint32_t level_with(const Term& term, const Choice& given) const;

  const Assignment& operator[](std::uint32_t index) const { return assignments_[index]; }
  /// Packages in the order in which they were decided, the root first.
  std::vector<PackageIndex> decided() const;

 private:
  void add(PackageIndex package, Choice own, std::optional<FactIndex> cause);

  std::vector<Assignment> assignments_;
  std::vector<std::vector<std::uint32_t>> of_package_;  // ascending places in assignments_
  std::uint32_t level_ = 0;
  std::uint64_t last_serial_ = 0;
};

}  // namespace mist::resolve
