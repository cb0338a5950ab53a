#include "encoding/semver.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "encoding/digit.h"

namespace mist::encoding {
namespace {

bool is_identifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}
bool is_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

std::optional<std::uint64_t> to_number(std::string_view text) {
  if (!is_number(text) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t number = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A version of which the last numbers may be missing or wildcards.
struct Partial {
  SemVer version;
  int given = 0;  // how many of the three numbers
};

bool is_wildcard(std::string_view text) { return text == "x" || text == "X" || text == "*"; }

bool read_prerelease(std::string_view text, SemVer& out) {
  for (const std::string_view part : split(text, '.')) {
    if (!is_identifier(part) || (is_number(part) && part.size() > 1 && part[0] == '0')) return false;
    out.prerelease.emplace_back(part);
  }
  return true;
}

std::optional<Partial> read_partial(std::string_view text) {
  Partial out;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    out.version.build = text.substr(plus + 1);
    for (const std::string_view part : split(out.version.build, '.'))
      if (!is_identifier(part)) return std::nullopt;
    text = text.substr(0, plus);
  }
  std::string_view prerelease;
  const std::size_t dash = text.find('-');
  const bool has_prerelease = dash != std::string_view::npos;
  if (has_prerelease) {
    prerelease = text.substr(dash + 1);
    text = text.substr(0, dash);
  }
  const std::vector<std::string_view> numbers = split(text, '.');
  if (numbers.size() > 3) return std::nullopt;
  const std::array<std::uint64_t*, 3> slots = {&out.version.major, &out.version.minor, &out.version.patch};
  bool wild = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    wild = wild || is_wildcard(numbers[i]);
    if (wild) {
      if (!is_wildcard(numbers[i])) return std::nullopt;
      continue;
    }
    const auto number = to_number(numbers[i]);
    if (!number) return std::nullopt;
    *slots[i] = *number;
    ++out.given;
  }
  if (has_prerelease && !read_prerelease(prerelease, out.version)) return std::nullopt;
  return out;
}

std::string_view without_v(std::string_view text) {
  return text.size() > 1 && (text[0] == 'v' || text[0] == 'V') && is_digit(text[1]) ? text.substr(1) : text;
}

Error not_a_version(std::string_view text) {
  return error(ErrorKind::Invalid, "\"{}\" is not a version", escape_controls(text.substr(0, 80)))
      .with_hint("a version looks like 1.2.3 or 1.2.3-rc.1");
}

std::strong_ordering compare_parts(const std::string& a, const std::string& b) {
  const bool a_number = is_number(a), b_number = is_number(b);
  if (a_number != b_number) return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  // Without leading zeros the longer number is the larger one, however many digits it has.
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

SemVer make(std::uint64_t major, std::uint64_t minor, std::uint64_t patch) {
  return {.major = major, .minor = minor, .patch = patch, .prerelease = {}, .build = {}};
}
// The first version with a larger number there; nullopt: there is none.
std::optional<SemVer> next_major(const SemVer& v) {
  if (v.major == kMost) return std::nullopt;
  return make(v.major + 1, 0, 0);
}
std::optional<SemVer> next_minor(const SemVer& v) {
  if (v.minor == kMost) return next_major(v);
  return make(v.major, v.minor + 1, 0);
}
std::optional<SemVer> next_patch(const SemVer& v) {
  if (v.patch == kMost) return next_minor(v);
  return make(v.major, v.minor, v.patch + 1);
}

/// The first version after all that `partial` stands for; nullopt: there is none.
std::optional<SemVer> after(const Partial& partial) {
  return partial.given == 1   ? next_major(partial.version)
         : partial.given == 2 ? next_minor(partial.version)
                              : next_patch(partial.version);
}

}  // namespace

bool has_range_sign(std::string_view text) {
  return text.find_first_of("^~<>=!|*, ") != std::string_view::npos;
}

bool may_be_range(std::string_view text) {
  return has_range_sign(text) || text.ends_with(".x") || text.ends_with(".X");
}

Result<SemVer> SemVer::parse(std::string_view text) {
  const auto partial = read_partial(text);
  if (!partial || partial->given != 3) return not_a_version(text);
  return partial->version;
}

Result<SemVer> SemVer::parse_lenient(std::string_view text) {
  const auto partial = read_partial(without_v(text));
  const std::string_view numbers = text.substr(0, text.find_first_of("-+"));
  if (!partial || partial->given == 0 || numbers.find_first_of("xX*") != std::string_view::npos ||
      (partial->given != 3 && !partial->version.prerelease.empty()))
    return not_a_version(text);
  return partial->version;
}

std::string SemVer::to_string() const {
  std::string out = fmt::format("{}.{}.{}", major, minor, patch);
  if (!prerelease.empty()) out += "-" + join(prerelease, ".");
  if (!build.empty()) out += "+" + build;
  return out;
}

std::optional<SemVer> SemVer::next_release() const { return next_patch(*this); }

std::strong_ordering operator<=>(const SemVer& a, const SemVer& b) {
  if (const auto order = a.major <=> b.major; order != 0) return order;
  if (const auto order = a.minor <=> b.minor; order != 0) return order;
  if (const auto order = a.patch <=> b.patch; order != 0) return order;
  if (a.prerelease.empty() != b.prerelease.empty())
    return a.prerelease.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  for (std::size_t i = 0; i < std::min(a.prerelease.size(), b.prerelease.size()); ++i)
    if (const auto order = compare_parts(a.prerelease[i], b.prerelease[i]); order != 0) return order;
  return a.prerelease.size() <=> b.prerelease.size();
}

/// Reads one alternative: words, operators, hyphens and KPM's form.
class SemVerRange::Reader {
 public:
  /// `text` is a part of `whole`, which errors quote.
  Reader(std::string_view text, std::string_view whole) : whole_(whole), rest_(trim(text)) {}

  Result<Alternative> read() {
    if (rest_.empty()) return std::move(out_);  // any version, as "*"
    while (!rest_.empty()) MIST_TRY_VOID(condition());
    return std::move(out_);
  }

 private:
  Status condition() {
    const std::string_view op = take_operator();
    MIST_TRY(const Partial partial, version_after(op));
    if (op.empty() && peek_hyphen()) return hyphen(partial);
    if (op.empty() && peek_kpm()) return kpm(partial);
    add(op, partial);
    return {};
  }

  void add(std::string_view op, const Partial& partial) {
    const SemVer& low = partial.version;
    name_prerelease(low);
    if (partial.given == 0) {
      // "*", ">=*": any. "<*" and ">*": none.
      if (op == "<" || op == ">" || op == "!=") push(Compare::Less, SemVer{}, true);
      return;
    }
    if (op == ">") {
      if (partial.given == 3) return push(Compare::Greater, low);
      return from(after(partial));
    }
    if (op == ">=" || op == "=>") return push(Compare::GreaterEqual, low);
    if (op == "<") return push(Compare::Less, low);
    if (op == "<=" || op == "=<") {
      if (partial.given == 3) return push(Compare::LessEqual, low);
      return before(after(partial));
    }
    if (op == "!=") {
      push(Compare::NotEqual, low);
      if (partial.given == 3) return;
      out_.conditions.back().end = after(partial);
      if (!out_.conditions.back().end) out_.conditions.back() = {Compare::Less, low, true, {}};
      return;
    }
    if (op == "~" || op == "~>") {
      push(Compare::GreaterEqual, low);
      return before(partial.given == 1 ? next_major(low) : next_minor(low));
    }
    if (op == "^") {
      push(Compare::GreaterEqual, low);
      if (low.major > 0 || partial.given == 1) return before(next_major(low));
      if (low.minor > 0 || partial.given == 2) return before(next_minor(low));
      return before(next_patch(low));
    }
    // "=" or nothing
    if (partial.given == 3) return push(Compare::Equal, low);
    push(Compare::GreaterEqual, low);
    return before(after(partial));
  }

  Status hyphen(const Partial& low) {
    rest_ = trim(rest_.substr(1));
    MIST_TRY(const Partial high, version_after("-"));
    add(">=", low);
    add("<=", high);
    return {};
  }

  /// `1.9 < x <= 1.10`: missing numbers are 0 on both sides.
  Status kpm(const Partial& low) {
    const std::string_view first = take_operator();
    take_word();  // x
    const std::string_view between = rest_;
    const std::string_view second = take_operator();
    if (!second.empty() && second[0] != first[0])
      return wrong(between, fmt::format("\"{}\" and \"{}\" point in opposite directions", first, second),
                   "write both the same way, as in 1.9 < x <= 1.10");
    const auto mirrored = [](std::string_view op) {
      return op == "<"    ? Compare::Greater
             : op == "<=" ? Compare::GreaterEqual
             : op == ">"  ? Compare::Less
                          : Compare::LessEqual;
    };
    name_prerelease(low.version);
    push(mirrored(first), low.version);
    if (second.empty()) return {};
    MIST_TRY(const Partial high, version_after(second));
    const auto straight = [](std::string_view op) {
      return op == "<"    ? Compare::Less
             : op == "<=" ? Compare::LessEqual
             : op == ">"  ? Compare::Greater
                          : Compare::GreaterEqual;
    };
    name_prerelease(high.version);
    push(straight(second), high.version);
    return {};
  }

  void push(Compare compare, SemVer version, bool implied = false) {
    out_.conditions.push_back({compare, std::move(version), implied, {}});
  }
  /// Up to the end that the range implies; nullopt: there is no version beyond it.
  void before(std::optional<SemVer> end) {
    if (end) push(Compare::Less, *std::move(end), true);
  }
  /// From its first prerelease on: whether prereleases count at all is not said here.
  void from(std::optional<SemVer> first) {
    if (!first) return push(Compare::Less, SemVer{}, true);
    first->prerelease = {"0"};
    push(Compare::GreaterEqual, *std::move(first), true);
  }
  void name_prerelease(const SemVer& version) {
    if (!version.prerelease.empty()) out_.prereleases.push_back(version);
  }

  Result<Partial> version_after(std::string_view op) {
    const std::string_view at = rest_;
    const std::string_view word = take_word();
    if (word.empty()) {
      if (op.empty())
        return wrong(at, fmt::format("\"{}\" is not a comparison", escape_controls(at.substr(0, 1))), kHint);
      return wrong(at, fmt::format("a version must follow \"{}\"", op), kHint);
    }
    if (auto partial = read_partial(without_v(word))) return *std::move(partial);
    return wrong(at, fmt::format("\"{}\" is not a version", escape_controls(word.substr(0, 80))), kHint);
  }

  /// `at` is the rest of the text from the place that is wrong.
  Error wrong(std::string_view at, std::string_view what, std::string hint) const {
    const std::size_t place =
        at.empty() ? whole_.size() : static_cast<std::size_t>(at.data() - whole_.data());
    return error(ErrorKind::Invalid, "{}, at character {} of the version range \"{}\"", what, place + 1,
                 escape_controls(whole_.substr(0, 120)))
        .with_hint(std::move(hint));
  }

  static bool is_separator(char c) { return c == ' ' || c == '\t' || c == ','; }

  void skip_separators() {
    while (!rest_.empty() && is_separator(rest_[0])) rest_.remove_prefix(1);
  }
  std::string_view take_operator() {
    constexpr std::string_view kOperators[] = {">=", "=>", "<=", "=<", "!=", "~>",
                                               "==", ">",  "<",  "=",  "~",  "^"};
    for (const std::string_view op : kOperators) {
      if (!rest_.starts_with(op)) continue;
      rest_.remove_prefix(op.size());
      skip_separators();
      return op == "==" ? "=" : op;
    }
    return {};
  }
  std::string_view take_word() {
    const std::size_t end = std::min(rest_.find_first_of(" \t,<>=!~^"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skip_separators();
    return word;
  }
  bool peek_hyphen() const { return rest_.starts_with("- ") || rest_.starts_with("-\t") || rest_ == "-"; }
  bool peek_kpm() const {
    if (!rest_.starts_with('<') && !rest_.starts_with('>')) return false;
    const std::string_view after_op = trim(rest_.substr(rest_.substr(1).starts_with('=') ? 2 : 1));
    return after_op.starts_with("x ") || after_op == "x" || after_op.starts_with("x<") ||
           after_op.starts_with("x>");
  }

  static constexpr const char* kHint = "ranges look like ^1.2, ~1.2.3, >=1.2 <2, 1.2.x or 1.9 < x <= 1.10";

  std::string_view whole_;
  std::string_view rest_;
  Alternative out_;
};

Result<SemVerRange> SemVerRange::parse(std::string_view text) {
  if (text.size() > kLongest)
    return error(ErrorKind::Invalid, "a version range has more than {} characters", kLongest)
        .with_hint("write the range that its alternatives make together");
  SemVerRange range;
  range.text_ = text;
  std::string_view rest = text;
  while (true) {
    const std::size_t bar = rest.find("||");
    const std::string_view part = rest.substr(0, bar);
    if (trim(part).empty() && part.size() < text.size())
      return error(ErrorKind::Invalid,
                   "a version is missing beside \"||\", at character {} of the version range \"{}\"",
                   part.data() - text.data() + 1, escape_controls(text.substr(0, 120)))
          .with_hint("write both alternatives, as in ^1.2 || ^2.0, or * for any version");
    MIST_TRY(auto alternative, Reader(part, text).read());
    range.alternatives_.push_back(std::move(alternative));
    if (bar == std::string_view::npos) return range;
    rest.remove_prefix(bar + 2);
  }
}

bool SemVerRange::holds(const Condition& condition, const SemVer& version) {
  const auto numbers = [](const SemVer& v) { return std::tie(v.major, v.minor, v.patch); };
  if (condition.implied && condition.compare == Compare::Less)
    return numbers(version) < numbers(condition.version);
  if (condition.end)
    return numbers(version) < numbers(condition.version) || numbers(version) >= numbers(*condition.end);
  const auto order = version <=> condition.version;
  switch (condition.compare) {
    case Compare::Less:
      return order < 0;
    case Compare::LessEqual:
      return order <= 0;
    case Compare::Greater:
      return order > 0;
    case Compare::GreaterEqual:
      return order >= 0;
    case Compare::Equal:
      return order == 0;
    case Compare::NotEqual:
      return order != 0;
  }
  return false;
}

bool SemVerRange::contains(const SemVer& version) const {
  const auto same_numbers = [&](const SemVer& named) {
    return named.major == version.major && named.minor == version.minor && named.patch == version.patch;
  };
  return std::ranges::any_of(alternatives_, [&](const Alternative& all) {
    return std::ranges::all_of(all.conditions, [&](const Condition& each) { return holds(each, version); }) &&
           (version.prerelease.empty() || std::ranges::any_of(all.prereleases, same_numbers));
  });
}

bool SemVerRange::contains_as_helm(const SemVer& version) const {
  return std::ranges::any_of(alternatives_, [&](const Alternative& all) {
    return std::ranges::all_of(all.conditions, [&](const Condition& each) { return holds(each, version); }) &&
           (version.prerelease.empty() || !all.prereleases.empty());
  });
}

bool SemVerRange::is_exact() const {
  return alternatives_.size() == 1 && alternatives_[0].conditions.size() == 1 &&
         alternatives_[0].conditions[0].compare == Compare::Equal;
}

}  // namespace mist::encoding
