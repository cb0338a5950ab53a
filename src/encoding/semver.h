#pragma once
// Versions and version ranges: SemVer 2.0.0 (semver.org), with ranges as Helm (Masterminds/semver) and npm
// write them and KPM's `1.9 < x <= 1.10`. Plain values; any thread.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mist::encoding {

struct SemVer {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> prerelease;  ///< the parts between dots: {"rc", "1"}
  std::string build;                    ///< without "+"; no part of the order

  /// Exactly what semver.org allows: three numbers without leading zeros. Errors: Invalid.
  static Result<SemVer> parse(std::string_view text);
  /// Also "v1.2.3", "1.2" and "1", whose missing numbers are 0. Errors: Invalid.
  static Result<SemVer> parse_lenient(std::string_view text);

  std::string to_string() const;

  /// The first release with larger numbers: 1.2.4 of 1.2.3 and of 1.2.3-rc.1; nullopt: there is none.
  std::optional<SemVer> next_release() const;

  /// Precedence (semver.org 11): a prerelease comes before its release; build metadata doesn't count.
  friend std::strong_ordering operator<=>(const SemVer& a, const SemVer& b);
  friend bool operator==(const SemVer& a, const SemVer& b) { return (a <=> b) == 0; }
};

/// Whether a text has a character that ranges have and no version has: ^1.4, ">=1.2 <2", *.
bool has_range_sign(std::string_view text);
/// The same, or it ends in ".x". By how it is written, whether or not it can be understood.
bool may_be_range(std::string_view text);

/// A set of versions: alternatives (`||`) of conditions that all must hold (space or comma).
///   =1.2.3  1.2.3  !=1.2.3  >1.2  >=1.2  <2  <=2   comparisons (a bare 1.2 or 1.2.x: any 1.2)
///   ^1.2.3   >=1.2.3 <2.0.0, and ^0.2.3 <0.3.0, ^0.0.3 <0.0.4
///   ~1.2.3   >=1.2.3 <1.3.0, and ~1 <2.0.0
///   1.2.x 1.* *   any in place of the wildcard
///   1.2 - 2.3    both ends included, 2.3 meaning any 2.3
///   1.9 < x <= 1.10    KPM's form; numbers that are missing are 0
///   >=1.19-0     a prerelease of the version whose missing numbers are 0, as charts write it
/// A prerelease is in the set only if a condition of the alternative names a prerelease of the same numbers.
class SemVerRange {
 public:
  enum class Compare : std::uint8_t { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };
  struct Condition {
    Compare compare = Compare::Equal;
    SemVer version;
    /// An end that the range implies, as the 2.0.0 of ^1.2.3: a prerelease of 2.0.0 is beyond it.
    bool implied = false;
    /// Of a NotEqual with missing numbers: != 1.2 takes out everything from 1.2.0 to before 1.3.0.
    std::optional<SemVer> end = {};
  };
  struct Alternative {
    std::vector<Condition> conditions;  ///< all must hold
    std::vector<SemVer> prereleases;    ///< those that its author named
  };

  /// Of its text: what ranges are to each other takes quadratic time.
  static constexpr std::size_t kLongest = 4096;

  /// Errors: Invalid, with the part that isn't understood and where in the range it stands; a longer one.
  static Result<SemVerRange> parse(std::string_view text);

  bool contains(const SemVer& version) const;
  /// As charts are chosen (Masterminds/semver): an alternative that names any prerelease takes those of all
  /// numbers.
  bool contains_as_helm(const SemVer& version) const;
  /// True for a range that only one version fits: `1.2.3` or `=1.2.3`.
  bool is_exact() const;
  /// As it was written.
  const std::string& text() const { return text_; }
  /// One of them must hold; never empty. For those who compute with ranges (resolve/range.h).
  const std::vector<Alternative>& alternatives() const { return alternatives_; }

 private:
  class Reader;

  static bool holds(const Condition& condition, const SemVer& version);

  std::string text_;
  std::vector<Alternative> alternatives_;
};

}  // namespace mist::encoding
