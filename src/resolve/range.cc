#include "resolve/range.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace mist::resolve {
namespace {

using encoding::SemVerRange;
using Edges = std::vector<Version>;

Version release(std::uint64_t major, std::uint64_t minor, std::uint64_t patch) {
  return {.major = major, .minor = minor, .patch = patch, .prerelease = {}, .build = {}};
}
Version release_of(const Version& version) { return release(version.major, version.minor, version.patch); }

/// 1.2.3-0, which comes before every other prerelease of these numbers.
Version first_prerelease(Version version) {
  version.prerelease = {"0"};
  version.build.clear();
  return version;
}

const Version& least_release() {
  static const Version least = release(0, 0, 0);
  return least;
}
const Version& least_prerelease() {
  static const Version least = first_prerelease(release(0, 0, 0));
  return least;
}

/// A place between two versions, as the first release and the first prerelease behind it; nullopt: none is.
struct Cut {
  std::optional<Version> release;
  std::optional<Version> prerelease;
};

std::optional<Version> first_prerelease(std::optional<Version> version) {
  if (!version) return std::nullopt;
  return first_prerelease(*std::move(version));
}

Cut before(const Version& version) {
  if (version.prerelease.empty()) return {release_of(version), first_prerelease(version.next_release())};
  Version same = version;
  same.build.clear();
  return {release_of(version), std::move(same)};
}

Cut after(const Version& version) {
  if (version.prerelease.empty()) return {version.next_release(), first_prerelease(version.next_release())};
  Version next = version;
  next.build.clear();
  next.prerelease.emplace_back("0");
  return {release_of(version), std::move(next)};
}

/// Before all versions with these numbers, prereleases too.
Cut before_numbers(const Version& version) { return {release_of(version), first_prerelease(version)}; }

Edges edges(const std::optional<Version>& from, const std::optional<Version>& to) {
  if (!from || (to && *to <= *from)) return {};
  Edges result = {*from};
  if (to) result.push_back(*to);
  return result;
}

/// Calls `at(edge, in_a, in_b)` for each edge of either, ascending, with the membership from there on; stops
/// where it returns false.
template <typename At>
void sweep(const Edges& a, const Edges& b, At at) {
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const auto order = i == a.size()   ? std::strong_ordering::greater
                       : j == b.size() ? std::strong_ordering::less
                                       : a[i] <=> b[j];
    const Version& edge = order <= 0 ? a[i] : b[j];
    if (order <= 0) ++i;
    if (order >= 0) ++j;
    if (!at(edge, i % 2 == 1, j % 2 == 1)) return;
  }
}

template <typename In>
Edges combine(const Edges& a, const Edges& b, In in) {
  Edges result;
  sweep(a, b, [&](const Version& edge, bool in_a, bool in_b) {
    if (in(in_a, in_b) != (result.size() % 2 == 1)) result.push_back(edge);
    return true;
  });
  return result;
}

bool never(const Edges& a, const Edges& b, bool (*unwanted)(bool, bool)) {
  bool holds = true;
  sweep(a, b, [&](const Version&, bool in_a, bool in_b) { return holds = !unwanted(in_a, in_b); });
  return holds;
}

bool both(bool a, bool b) { return a && b; }
bool either(bool a, bool b) { return a || b; }
bool only_first(bool a, bool b) { return a && !b; }

Edges inverse(Edges edges, const Version& least) {
  if (!edges.empty() && edges.front() == least)
    edges.erase(edges.begin());
  else
    edges.insert(edges.begin(), least);
  return edges;
}

bool in_edges(const Edges& edges, const Version& version) {
  return (std::ranges::upper_bound(edges, version) - edges.begin()) % 2 == 1;
}

using Versions = std::span<const Version>;

/// The part of `versions` in [edges[i], edges[i + 1]).
Versions part(Versions versions, const Edges& edges, std::size_t i) {
  const auto from = std::ranges::lower_bound(versions, edges[i]);
  const auto to = i + 1 < edges.size() ? std::ranges::lower_bound(versions, edges[i + 1]) : versions.end();
  return {from, to};
}

std::size_t count_in(Versions versions, const Edges& edges) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < edges.size(); i += 2) count += part(versions, edges, i).size();
  return count;
}

const Version* last_in(Versions versions, const Edges& edges) {
  for (std::size_t i = (edges.size() + 1) / 2; i-- > 0;)
    if (const Versions some = part(versions, edges, 2 * i); !some.empty()) return &some.back();
  return nullptr;
}

/// Of releases or of prereleases: [from, to).
struct Interval {
  Version from;
  std::optional<Version> to;
};

std::vector<Interval> intervals(const Edges& edges) {
  std::vector<Interval> result;
  for (std::size_t i = 0; i < edges.size(); i += 2)
    result.push_back({edges[i], i + 1 < edges.size() ? std::optional(edges[i + 1]) : std::nullopt});
  return result;
}

std::string text_of(const Interval& interval) {
  const auto& [low, high] = interval;
  const bool from_least = low == least_release();
  if (!high) return from_least ? "*" : fmt::format(">={}", low.to_string());
  if (from_least) return "<" + high->to_string();
  const bool caret = low.major > 0 ? high == release(low.major + 1, 0, 0)
                                   : low.minor > 0 && high == release(0, low.minor + 1, 0);
  if (caret) return "^" + low.to_string();
  if (high == release(low.major, low.minor + 1, 0)) return "~" + low.to_string();
  return fmt::format(">={} <{}", low.to_string(), high->to_string());
}

/// As people see it: prereleases just before the first release or the end move these; others in between
/// aren't expressed. `prereleases` keeps those outside.
std::string take_text(Interval interval, std::vector<Interval>& prereleases) {
  if (interval.from.next_release() == interval.to && prereleases.empty()) return interval.from.to_string();
  const Interval plain = interval;
  std::erase_if(prereleases, [&](const Interval& each) {
    const Version first = first_prerelease(plain.from);
    const bool reaches = !each.to || *each.to >= first_prerelease(plain.from.next_release());
    if (first <= each.from && each.from < plain.from && reaches) {
      if (each.from != least_prerelease()) interval.from = each.from;
      return true;
    }
    if (plain.to && each.to && each.from <= first_prerelease(*plain.to) &&
        first_prerelease(*plain.to) < *each.to && *each.to < *plain.to)
      interval.to = each.to;
    return plain.from < each.from && (!plain.to || each.from < *plain.to);
  });
  if (interval.from == plain.from && plain.from.next_release() == interval.to) return plain.from.to_string();
  return text_of(interval);
}

std::string prerelease_text(const Interval& interval) {
  const auto& [low, high] = interval;
  if (low == least_prerelease() && !high) return "prereleases";
  if (!high) return fmt::format("prereleases >={}", low.to_string());
  if (after(low).prerelease == high) return low.to_string();
  // Before the first prerelease of 1.2.4 is, of prereleases, before 1.2.3.
  const bool end_is_release = high->patch > 0 && *high == first_prerelease(*high);
  const Version end = end_is_release ? release(high->major, high->minor, high->patch - 1) : *high;
  // A comparison that reaches over other numbers would have their releases too.
  return fmt::format("{}>={} <{}", release_of(low) == release_of(end) ? "" : "prereleases ", low.to_string(),
                     end.to_string());
}

}  // namespace

VersionRange VersionRange::any() {
  VersionRange range;
  range.releases_ = {least_release()};
  range.prereleases_ = {least_prerelease()};
  return range;
}

VersionRange VersionRange::exactly(const Version& version) {
  VersionRange range;
  const Cut from = before(version), to = after(version);
  range.releases_ = edges(from.release, to.release);
  range.prereleases_ = edges(from.prerelease, to.prerelease);
  return range;
}

VersionRange VersionRange::between(const std::optional<Version>& from, const std::optional<Version>& to) {
  const Cut low = from ? before(*from) : Cut{least_release(), least_prerelease()};
  const Cut high = to ? before(*to) : Cut{};
  VersionRange range;
  range.releases_ = edges(low.release, high.release);
  range.prereleases_ = edges(low.prerelease, high.prerelease);
  return range;
}

VersionRange VersionRange::of(const SemVerRange::Condition& condition) {
  using Compare = SemVerRange::Compare;
  const auto made = [](const Cut& from, const Cut& to) {
    VersionRange range;
    range.releases_ = edges(from.release, to.release);
    range.prereleases_ = edges(from.prerelease, to.prerelease);
    return range;
  };
  const Cut start = {least_release(), least_prerelease()}, end = {};
  const Version& version = condition.version;
  switch (condition.compare) {
    case Compare::Less:
      return made(start, condition.implied ? before_numbers(version) : before(version));
    case Compare::LessEqual:
      return made(start, after(version));
    case Compare::Greater:
      return made(after(version), end);
    case Compare::GreaterEqual:
      return made(before(version), end);
    case Compare::Equal:
      return exactly(version);
    case Compare::NotEqual:
      if (condition.end) return made(before_numbers(version), before_numbers(*condition.end)).complement();
      return exactly(version).complement();
  }
  return none();
}

Result<VersionRange> VersionRange::parse(std::string_view text, Prereleases prereleases) {
  MIST_TRY(const SemVerRange written, SemVerRange::parse(text));
  VersionRange result;
  for (const SemVerRange::Alternative& alternative : written.alternatives()) {
    VersionRange all = any();
    for (const SemVerRange::Condition& condition : alternative.conditions) all = all & of(condition);
    VersionRange named;
    for (const Version& version : alternative.prereleases)
      if (prereleases == Prereleases::AsHelm)
        named = any();
      else
        named = named | between(first_prerelease(version), release_of(version));
    all.prereleases_ = combine(all.prereleases_, named.prereleases_, both);
    result = result | all;
  }
  result.text_ = trim(text);
  if (result.text_.empty()) result.text_ = "*";
  return result;
}

bool VersionRange::contains(const Version& version) const {
  return in_edges(version.prerelease.empty() ? releases_ : prereleases_, version);
}

std::size_t VersionRange::count(Versions releases, Versions prereleases) const {
  return count_in(releases, releases_) + count_in(prereleases, prereleases_);
}

const Version* VersionRange::last(Versions releases, Versions prereleases) const {
  const Version* release = last_in(releases, releases_);
  const Version* prerelease = last_in(prereleases, prereleases_);
  if (release == nullptr || prerelease == nullptr) return release == nullptr ? prerelease : release;
  return *release < *prerelease ? prerelease : release;
}

bool VersionRange::is_subset_of(const VersionRange& other) const {
  return never(releases_, other.releases_, only_first) && never(prereleases_, other.prereleases_, only_first);
}

bool VersionRange::is_disjoint_from(const VersionRange& other) const {
  return never(releases_, other.releases_, both) && never(prereleases_, other.prereleases_, both);
}

VersionRange VersionRange::complement() const {
  VersionRange result;
  result.releases_ = inverse(releases_, least_release());
  result.prereleases_ = inverse(prereleases_, least_prerelease());
  return result;
}

VersionRange operator&(const VersionRange& a, const VersionRange& b) {
  VersionRange result;
  result.releases_ = combine(a.releases_, b.releases_, both);
  result.prereleases_ = combine(a.prereleases_, b.prereleases_, both);
  return result;
}

VersionRange operator|(const VersionRange& a, const VersionRange& b) {
  VersionRange result;
  result.releases_ = combine(a.releases_, b.releases_, either);
  result.prereleases_ = combine(a.prereleases_, b.prereleases_, either);
  return result;
}

std::string VersionRange::to_string() const {
  if (!text_.empty()) return text_;
  if (is_empty()) return "no version";
  if (*this == any()) return "any version";
  std::vector<Interval> prereleases = intervals(prereleases_);
  std::vector<std::string> parts;
  for (Interval& each : intervals(releases_)) parts.push_back(take_text(std::move(each), prereleases));
  for (const Interval& each : prereleases) parts.push_back(prerelease_text(each));
  return join(parts, " || ");
}

}  // namespace mist::resolve
