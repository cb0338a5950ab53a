#pragma once
// Why there is no solution, in sentences: PubGrub's derivation of the failure, as its documentation tells it
// (https://github.com/dart-lang/pub/blob/master/doc/solver.md#error-reporting). Every sentence names its
// premises; a conclusion that is needed far below gets a number. Internal to resolve. Pure; any thread.

#include <string>

#include "resolve/incompatibility.h"

namespace mist::resolve {

/// Lines without a newline at the end. `failure` is a fact for which is_failure() holds.
std::string explain(const Knowledge& knowledge, FactIndex failure);

/// How the sentences name the versions of `package` that are in `range`: in the words of somebody who asked
/// for exactly these, else by the versions that exist. Alternatives are joined by " || "; "1.0.0 to 1.2.0"
/// has both and all between, prereleases too.
std::string versions_text(const KnownPackage& package, const VersionRange& range);

}  // namespace mist::resolve
