#pragma once
// Version solving by PubGrub (https://github.com/dart-lang/pub/blob/master/doc/solver.md): finds one version
// of every package that somebody asks for, newest first, or proves that there is none and says why. Where
// packages come from is the caller's: a Provider. The answer is a function of what the provider says; the
// order in which it lists things changes nothing. One thread.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/context.h"
#include "resolve/incompatibility.h"
#include "resolve/range.h"

namespace mist::resolve {

struct Candidate {
  Version version;
  bool yanked = false;  ///< withdrawn by its author: only somebody who has it locked gets it
};

/// Somebody asks for a version of `package` within `range`.
struct Requirement {
  std::string package;  ///< an id that the caller made: opaque, the same for the same package
  VersionRange range;
};

/// The packages that there are. Each question is asked at most once in a resolution.
class Provider {
 public:
  virtual ~Provider() = default;
  /// In any order. Of several with the same precedence (1.0.0+a, 1.0.0+b) the locked one counts, else the
  /// last by its text. A package that isn't there is an error.
  virtual Result<std::vector<Candidate>> versions(const std::string& package) = 0;
  virtual Result<std::vector<Requirement>> dependencies(const std::string& package,
                                                        const Version& version) = 0;
};

struct Request {
  std::string root;  ///< what the requirements are of, in sentences: "platform"
  std::vector<Requirement> requirements;
  /// Versions that are kept while they satisfy. Their packages need not be listed, and they may be yanked.
  std::map<std::string, Version> locked = {};
  std::set<std::string> update = {};    ///< packages whose locked version is forgotten
  std::uint64_t max_steps = 5'000'000;  ///< how many facts may be looked at
};

/// A package that asks for another, and how: the answer to `why`.
struct Asker {
  std::string package;  ///< "": the root
  VersionRange range;
};

struct Selected {
  std::string package;
  Version version;
  std::vector<Asker> askers;  ///< the root first, then by package
};

struct Solution {
  std::vector<Selected> packages;  ///< by id
  /// Ids in the order in which the solver decided. Each has the best version (locked, else newest) that any
  /// solution with the versions decided before it has.
  std::vector<std::string> decided;
};

/// There is no solution.
struct Failure {
  Knowledge knowledge;
  FactIndex fact = 0;  ///< of `knowledge`: the root can't be selected
};

/// Errors: those of the provider, with the path to the package; Cancelled, Timeout of `context`; Timeout when
/// max_steps were not enough.
Result<std::variant<Solution, Failure>> search(const Request& request, Provider& provider,
                                               const Context& context = {});

/// As search(); that there is no solution is an error of kind Conflict, whose `because` is the proof.
Result<Solution> solve(const Request& request, Provider& provider, const Context& context = {});

}  // namespace mist::resolve
