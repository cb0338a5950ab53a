#pragma once
// VersionRange: a set of versions that can be computed with. encoding::SemVerRange reads what people write
// and answers "is this version in it?"; this has what a solver needs besides: union, intersection,
// complement, subset, and one form for each set, so that == compares what ranges mean. Plain values; any
// thread.
//
// Prereleases make this less simple than intervals: >=1.0.0 has 1.1.0 and not 1.1.0-rc.1, and the same for
// every number. So a range is two sets, one of releases and one of prereleases, each a list of intervals.
// Both orders have a next element (1.2.4 after 1.2.3, 1.2.3-rc.0 after 1.2.3-rc), so every interval can be
// written as [from, to), and each set has exactly one shortest list.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/semver.h"

namespace mist::resolve {

using Version = encoding::SemVer;

/// Which prereleases a range takes that names one, as >=1.2.0-rc.1 does.
enum class Prereleases : std::uint8_t {
  SameNumbers,  ///< those of 1.2.0 only: nobody gets the 1.3.0-alpha that they never asked for
  AsHelm,       ///< those of all numbers, as Helm (Masterminds/semver) chooses charts
};

class VersionRange {
 public:
  /// Reads a range as encoding::SemVerRange does. Errors: Invalid, with the place in the range.
  static Result<VersionRange> parse(std::string_view text,
                                    Prereleases prereleases = Prereleases::SameNumbers);

  static VersionRange none() { return {}; }
  /// Every version, prereleases included. ("*" has releases only.)
  static VersionRange any();
  static VersionRange exactly(const Version& version);
  /// Everything that comes before `to` and not before `from`, prereleases included; nullopt: no end.
  static VersionRange between(const std::optional<Version>& from, const std::optional<Version>& to);

  bool contains(const Version& version) const;
  /// How many of these are in the range, and the last that is; null: none. Both lists ascend; quick for many.
  std::size_t count(std::span<const Version> releases, std::span<const Version> prereleases) const;
  const Version* last(std::span<const Version> releases, std::span<const Version> prereleases) const;
  bool is_empty() const { return releases_.empty() && prereleases_.empty(); }
  bool is_subset_of(const VersionRange& other) const;
  bool is_disjoint_from(const VersionRange& other) const;

  VersionRange complement() const;
  friend VersionRange operator&(const VersionRange& a, const VersionRange& b);
  friend VersionRange operator|(const VersionRange& a, const VersionRange& b);

  /// As its author wrote it; a computed range as people would write it. A computed range of releases reads
  /// back as the same set. Prereleases between releases that are in the range can't be expressed and are left
  /// out; elsewhere they are "prereleases >=1.0.0-rc.1", which doesn't read back.
  std::string to_string() const;

  /// The same versions, however they were written.
  friend bool operator==(const VersionRange& a, const VersionRange& b) {
    return a.releases_ == b.releases_ && a.prereleases_ == b.prereleases_;
  }

 private:
  /// Ascending; membership changes at each: [0] is in, [1] is out, … An odd number: without end.
  using Edges = std::vector<Version>;

  static VersionRange of(const encoding::SemVerRange::Condition& condition);

  std::string text_;
  Edges releases_;
  Edges prereleases_;
};

}  // namespace mist::resolve
