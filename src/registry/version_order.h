#pragma once
// The order in which versions are listed. Pure; any thread.

#include <compare>
#include <string_view>

namespace mist::registry {

/// SemVer 2 precedence (https://semver.org, 11) for what looks like it, a leading 'v' ignored; the rest sorts
/// before it, bytewise. A total order: versions that differ only in build metadata order bytewise.
std::strong_ordering compare_versions(std::string_view a, std::string_view b);

}  // namespace mist::registry
