#include "resolve/explain.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"

namespace mist::resolve {
namespace {

/// A longer proof is no explanation: then the facts that it begins with are listed, as many as this.
constexpr std::size_t kMostSteps = 100;
constexpr std::size_t kMostListed = 20;
/// More alternatives than this are counted and not listed.
constexpr std::size_t kMostRuns = 6;

bool selects_every(const KnownPackage& package, const VersionRange& range) {
  if (range == VersionRange::any()) return true;
  return package.listed && !package.versions.empty() &&
         std::ranges::all_of(package.versions, [&](const Version& each) { return range.contains(each); });
}

/// Versions [first, last] of a package.
struct Run {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::string run_text(const std::vector<Version>& versions, const Run& run) {
  const Version& low = versions[run.first];
  const Version& high = versions[run.last];
  if (run.first == run.last) return low.to_string();
  // A comparison says nothing of prereleases but those that it names.
  const bool prereleases = std::ranges::any_of(versions.begin() + static_cast<std::ptrdiff_t>(run.first),
                                               versions.begin() + static_cast<std::ptrdiff_t>(run.last) + 1,
                                               [](const Version& each) { return !each.prerelease.empty(); });
  const bool ends = run.last + 1 == versions.size();
  if (prereleases || (!ends && !versions[run.last + 1].prerelease.empty()))
    return fmt::format("{} to {}", low.to_string(), high.to_string());
  if (ends) return fmt::format(">={}", low.to_string());
  const std::string end = versions[run.last + 1].to_string();
  return run.first == 0 ? "<" + end : fmt::format(">={} <{}", low.to_string(), end);
}

class Words {
 public:
  explicit Words(const Knowledge& knowledge) : knowledge_(knowledge) {}

  std::string fact(FactIndex index) const {
    const Incompatibility& fact = knowledge_.facts[index];
    if (const auto* one = std::get_if<DependencyCause>(&fact.cause))
      return fmt::format("{} depends on {}", subject(one->package, one->of), versions(one->on, one->range));
    if (const auto* one = std::get_if<NoVersionsCause>(&fact.cause)) {
      const KnownPackage& package = knowledge_.packages[one->package];
      if (package.versions.empty()) return fmt::format("{} has no versions", package.id);
      return fmt::format("no version of {} matches {}", package.id, versions_text(package, one->range));
    }
    if (fact.is_failure()) return "version solving failed";
    const std::vector<std::string> selected = positive(fact), required = negative(fact);
    if (selected.empty()) return fmt::format("{} is required", any_of(required));
    if (!required.empty()) {
      if (selected.size() == 1) return fmt::format("{} requires {}", only_subject(fact), any_of(required));
      return fmt::format("{} together require {}", all_of(selected), any_of(required));
    }
    if (selected.size() == 1) return fmt::format("{} cannot be used", selected[0]);
    if (selected.size() == 2) return fmt::format("{} is incompatible with {}", selected[0], selected[1]);
    return fmt::format("{} cannot be used together", all_of(selected));
  }

  /// Both facts in one clause: "a depends on b, which depends on c". Numbers are those of their lines; 0:
  /// none.
  std::string both(FactIndex first, FactIndex second, int first_line = 0, int second_line = 0) const {
    if (auto text = requires_both(first, second, first_line, second_line)) return *text;
    if (auto text = requires_through(first, second, first_line, second_line)) return *text;
    if (auto text = requires_through(second, first, second_line, first_line)) return *text;
    return fmt::format("{}{} and {}{}", fact(first), line(first_line), fact(second), line(second_line));
  }

  static std::string line(int number) { return number == 0 ? "" : fmt::format(" ({})", number); }

 private:
  std::string versions(PackageIndex index, const VersionRange& range) const {
    const KnownPackage& package = knowledge_.packages[index];
    if (index == kRoot || range == VersionRange::any()) return package.id;
    return fmt::format("{} {}", package.id, versions_text(package, range));
  }
  /// As the object of a sentence: "foo ^1.0.0", "foo" for all of them.
  std::string term(const Term& term) const {
    if (!term.positive()) return versions(term.package, term.choice.versions.complement());
    const KnownPackage& package = knowledge_.packages[term.package];
    if (selects_every(package, term.choice.versions)) return package.id;
    return versions(term.package, term.choice.versions);
  }
  std::string subject(PackageIndex index, const VersionRange& range) const {
    const KnownPackage& package = knowledge_.packages[index];
    if (index == kRoot) return package.id;
    if (selects_every(package, range)) return fmt::format("every version of {}", package.id);
    return versions(index, range);
  }
  std::string only_subject(const Incompatibility& fact) const {
    const Term& one = *std::ranges::find_if(fact.terms, &Term::positive);
    return subject(one.package, one.choice.versions);
  }

  std::vector<std::string> positive(const Incompatibility& fact) const {
    std::vector<std::string> result;
    for (const Term& each : fact.terms)
      if (each.positive()) result.push_back(term(each));
    return result;
  }
  std::vector<std::string> negative(const Incompatibility& fact) const {
    std::vector<std::string> result;
    for (const Term& each : fact.terms)
      if (!each.positive()) result.push_back(term(each));
    return result;
  }
  static std::string any_of(const std::vector<std::string>& texts) { return join(texts, " or "); }
  static std::string all_of(const std::vector<std::string>& texts) { return join(texts, " and "); }

  bool is_dependency(FactIndex index) const {
    return std::holds_alternative<DependencyCause>(knowledge_.facts[index].cause);
  }
  std::string_view verb(FactIndex index) const { return is_dependency(index) ? "depends on" : "requires"; }

  static const Term* only(const Incompatibility& fact, bool positive) {
    const Term* found = nullptr;
    for (const Term& each : fact.terms) {
      if (each.positive() != positive) continue;
      if (found != nullptr) return nullptr;
      found = &each;
    }
    return found;
  }

  /// "a depends on both b and c".
  std::optional<std::string> requires_both(FactIndex first, FactIndex second, int first_line,
                                           int second_line) const {
    const Incompatibility& one = knowledge_.facts[first];
    const Incompatibility& two = knowledge_.facts[second];
    const Term* of_one = only(one, true);
    const Term* of_two = only(two, true);
    if (of_one == nullptr || of_two == nullptr || of_one->package != of_two->package) return std::nullopt;
    if (of_one->choice.versions != of_two->choice.versions) return std::nullopt;
    if (one.terms.size() < 2 || two.terms.size() < 2) return std::nullopt;
    const bool dependencies = is_dependency(first) && is_dependency(second);
    return fmt::format("{} {} both {}{} and {}{}", only_subject(one),
                       dependencies ? "depends on" : "requires", any_of(negative(one)), line(first_line),
                       any_of(negative(two)), line(second_line));
  }

  /// "a depends on b, which depends on c", "a depends on b, which cannot be used".
  std::optional<std::string> requires_through(FactIndex first, FactIndex second, int first_line,
                                              int second_line) const {
    const Incompatibility& one = knowledge_.facts[first];
    const Incompatibility& two = knowledge_.facts[second];
    const Term* needed = only(one, false);
    const Term* of_two = only(two, true);
    if (needed == nullptr || of_two == nullptr || needed->package != of_two->package) return std::nullopt;
    if (only(one, true) == nullptr) return std::nullopt;
    // All that `one` may take must be what `two` speaks of.
    const VersionRange rest = needed->choice.versions.complement() & of_two->choice.versions.complement();
    const KnownPackage& package = knowledge_.packages[needed->package];
    const bool exists =
        package.listed
            ? std::ranges::any_of(package.versions, [&](const Version& each) { return rest.contains(each); })
            : !rest.is_empty();
    if (exists) return std::nullopt;
    std::string out =
        fmt::format("{} {} {}{}, which ", only_subject(one), verb(first), term(*needed), line(first_line));
    if (const auto* dependency = std::get_if<DependencyCause>(&two.cause))
      out += "depends on " + versions(dependency->on, dependency->range);
    else if (two.terms.size() > 1)
      out += fmt::format("requires {}", any_of(negative(two)));
    else if (std::holds_alternative<NoVersionsCause>(two.cause))
      out += package.versions.empty() ? "has no versions" : "no version matches";
    else
      out += "cannot be used";
    return out + line(second_line);
  }

  const Knowledge& knowledge_;
};

class Proof {
 public:
  Proof(const Knowledge& knowledge, FactIndex failure)
      : knowledge_(knowledge), words_(knowledge), failure_(failure) {
    count();
  }

  std::string write() {
    if (knowledge_.facts[failure_].derived() == nullptr)
      return fmt::format("Because {}, version solving failed.", words_.fact(failure_));
    if (uses_.size() - external_.size() > kMostSteps) return summary();
    visit(failure_, false);
    const std::size_t padding = numbers_.empty() ? 0 : fmt::format("({}) ", numbers_.size()).size();
    std::string out;
    for (const Line& each : lines_) {
      if (!out.empty()) out += "\n";
      if (each.text.empty()) continue;
      const std::string number = each.number == 0 ? "" : fmt::format("({}) ", each.number);
      out += fmt::format("{:<{}}{}", number, padding, each.text);
    }
    return out;
  }

 private:
  struct Line {
    std::string text;  // "": a new line of thought begins
    int number = 0;
  };

  /// Which facts the failure rests on, and how often each is a premise.
  void count() {
    std::vector<FactIndex> todo = {failure_};
    while (!todo.empty()) {
      const FactIndex index = todo.back();
      todo.pop_back();
      if (++uses_[index] > 1) continue;
      if (const DerivedCause* cause = knowledge_.facts[index].derived()) {
        todo.push_back(cause->second);
        todo.push_back(cause->first);
      } else {
        external_.insert(index);
      }
    }
  }

  std::string summary() const {
    std::string out = fmt::format("These {} facts cannot all hold ({} steps show it):", external_.size(),
                                  uses_.size() - external_.size());
    std::size_t listed = 0;
    for (const FactIndex index : external_) {
      if (listed++ == kMostListed) {
        out += fmt::format("\n… and {} more.", external_.size() - kMostListed);
        break;
      }
      out += fmt::format("\n{}.", words_.fact(index));
    }
    return out;
  }

  bool is_derived(FactIndex index) const { return knowledge_.facts[index].derived() != nullptr; }
  int line_of(FactIndex index) const {
    const auto found = numbers_.find(index);
    return found == numbers_.end() ? 0 : found->second;
  }

  void write_line(FactIndex fact, std::string text, bool numbered) {
    int number = 0;
    if (numbered) {
      number = static_cast<int>(numbers_.size()) + 1;
      numbers_[fact] = number;
    }
    lines_.push_back({std::move(text), number});
  }

  /// Proves a derived fact; `conclusion`: it ends a line of thought, so it gets a number.
  void visit(FactIndex index, bool conclusion) {
    const DerivedCause& cause = *knowledge_.facts[index].derived();
    const bool numbered = conclusion || uses_[index] > 1;
    const std::string_view link = conclusion || index == failure_ ? "So," : "And";
    const std::string what = words_.fact(index);
    const auto from = [&](const std::string& premises) {
      write_line(index, fmt::format("Because {}, {}.", premises, what), numbered);
    };
    const auto after_lines_above = [&](const std::string& premises) {
      write_line(index, fmt::format("{} because {}, {}.", link, premises, what), numbered);
    };
    if (!is_derived(cause.first) && !is_derived(cause.second)) {
      from(words_.both(cause.first, cause.second));
    } else if (is_derived(cause.first) && is_derived(cause.second)) {
      visit_two(cause, index, numbered, from, after_lines_above);
    } else {
      const auto [derived, external] = is_derived(cause.first) ? std::pair(cause.first, cause.second)
                                                               : std::pair(cause.second, cause.first);
      if (const int number = line_of(derived); number != 0) {
        from(words_.both(external, derived, 0, number));
      } else if (collapses(derived)) {
        // One step with two premises reads better than two steps with one each.
        const DerivedCause& inner = *knowledge_.facts[derived].derived();
        const auto [deeper, inner_external] = is_derived(inner.first) ? std::pair(inner.first, inner.second)
                                                                      : std::pair(inner.second, inner.first);
        visit(deeper, false);
        after_lines_above(words_.both(inner_external, external));
      } else {
        visit(derived, false);
        after_lines_above(words_.fact(external));
      }
    }
  }

  template <typename From, typename After>
  void visit_two(const DerivedCause& cause, FactIndex index, bool numbered, const From& from,
                 const After& after_lines_above) {
    const int first_line = line_of(cause.first), second_line = line_of(cause.second);
    const auto with_number = [&](FactIndex fact) { return words_.fact(fact) + Words::line(line_of(fact)); };
    if (first_line != 0 && second_line != 0)
      return from(words_.both(cause.first, cause.second, first_line, second_line));
    if (first_line != 0 || second_line != 0) {
      visit(first_line != 0 ? cause.second : cause.first, false);
      return after_lines_above(with_number(first_line != 0 ? cause.first : cause.second));
    }
    const bool first_short = is_one_line(cause.first), second_short = is_one_line(cause.second);
    if (first_short || second_short) {
      visit(second_short ? cause.first : cause.second, false);
      const FactIndex last = second_short ? cause.second : cause.first;
      // The first may have needed the second, and then there is nothing left to prove.
      if (line_of(last) != 0) return after_lines_above(with_number(last));
      visit(last, false);
      return write_line(index, fmt::format("Thus, {}.", words_.fact(index)), numbered);
    }
    visit(cause.first, true);
    lines_.push_back({});
    if (line_of(cause.second) != 0)
      return from(words_.both(cause.first, cause.second, line_of(cause.first), line_of(cause.second)));
    visit(cause.second, false);
    after_lines_above(with_number(cause.first));
  }

  bool is_one_line(FactIndex index) const {
    const DerivedCause& cause = *knowledge_.facts[index].derived();
    return !is_derived(cause.first) && !is_derived(cause.second);
  }

  /// Used once, and follows from one derived fact that has no number yet.
  bool collapses(FactIndex index) {
    if (uses_[index] > 1) return false;
    const DerivedCause& cause = *knowledge_.facts[index].derived();
    if (is_derived(cause.first) == is_derived(cause.second)) return false;
    return line_of(is_derived(cause.first) ? cause.first : cause.second) == 0;
  }

  const Knowledge& knowledge_;
  Words words_;
  FactIndex failure_;
  std::map<FactIndex, int> uses_;
  std::set<FactIndex> external_;
  std::map<FactIndex, int> numbers_;
  std::vector<Line> lines_;
};

}  // namespace

std::string versions_text(const KnownPackage& package, const VersionRange& range) {
  for (const VersionRange& asked : package.asked)
    if (asked == range) return asked.to_string();
  std::vector<Run> runs;
  std::size_t count = 0;
  for (std::size_t i = 0; i < package.versions.size(); ++i) {
    if (!range.contains(package.versions[i])) continue;
    ++count;
    if (!runs.empty() && runs.back().last + 1 == i)
      runs.back().last = i;
    else
      runs.push_back({i, i});
  }
  if (!package.listed || runs.empty()) {
    const VersionRange rest = range.complement();
    for (const VersionRange& asked : package.asked)
      if (asked == rest) return "other than " + asked.to_string();
    return range.to_string();
  }
  if (count == package.versions.size() && count > 1)
    return fmt::format("{} to {}", package.versions.front().to_string(), package.versions.back().to_string());
  if (runs.size() > kMostRuns)
    return fmt::format("({} of the versions {} to {})", count,
                       package.versions[runs.front().first].to_string(),
                       package.versions[runs.back().last].to_string());
  std::vector<std::string> parts;
  for (const Run& run : runs) parts.push_back(run_text(package.versions, run));
  return join(parts, " || ");
}

std::string explain(const Knowledge& knowledge, FactIndex failure) {
  return Proof(knowledge, failure).write();
}

}  // namespace mist::resolve
