#include "blueprint/pattern_sample.h"

#include <algorithm>
#include <bitset>
#include <cctype>
#include <cstdint>
#include <limits>

namespace mist::blueprint {
namespace {

using CharacterSet = std::bitset<128>;

constexpr std::size_t kLongestSample = 4096;  // of what one pattern makes
constexpr std::size_t kMostExtra = 256;       // repetitions beyond those that it asks for
constexpr int kDeepestGroup = 100;
constexpr std::string_view kFirstChoices = "a1A-_ ./:";

struct Repeats {
  std::size_t least = 1, most = 1;
};

CharacterSet range_of(char first, char last) {
  CharacterSet all;
  for (int c = first; c <= last; ++c) all.set(static_cast<std::size_t>(c));
  return all;
}

// Of \d and its like; nullopt: the letter names no class.
std::optional<CharacterSet> class_of(char letter) {
  const CharacterSet digits = range_of('0', '9');
  const CharacterSet words = digits | range_of('a', 'z') | range_of('A', 'Z') | range_of('_', '_');
  CharacterSet spaces;
  for (const char c : {'\t', '\n', '\f', '\r', ' '}) spaces.set(static_cast<std::size_t>(c));
  switch (letter) {
    case 'd':
      return digits;
    case 'D':
      return ~digits;
    case 'w':
      return words;
    case 'W':
      return ~words;
    case 's':
      return spaces;
    case 'S':
      return ~spaces;
    default:
      return std::nullopt;
  }
}

class PatternWalk {
 public:
  // `extra`: so much more often than it has to, each repetition is taken.
  PatternWalk(std::string_view pattern, std::size_t extra) : rest_(pattern), extra_(extra) {}

  std::optional<std::string> run() {
    std::string made = alternatives(0);
    if (!rest_.empty() || failed_) return std::nullopt;
    return made;
  }

 private:
  bool takes(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  char next() {
    if (rest_.empty()) {
      failed_ = true;
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  // The first one that can be made counts; the others are read past.
  std::string alternatives(int depth) {
    if (depth > kDeepestGroup) failed_ = true;
    std::string first = sequence(depth);
    while (!failed_ && takes("|")) sequence(depth);
    return first;
  }

  std::string sequence(int depth) {
    std::string made;
    while (!failed_ && !rest_.empty() && rest_.front() != '|' && rest_.front() != ')') {
      const std::string one = atom(depth);
      const Repeats repeats = read_repeats();
      const std::size_t times = std::min(repeats.least + extra_, repeats.most);
      if (made.size() + one.size() * times > kLongestSample) failed_ = true;
      for (std::size_t i = 0; i < times && !failed_; ++i) made += one;
    }
    return made;
  }

  std::string atom(int depth) {
    if (takes("(")) return group(depth);
    if (takes("[")) return std::string(1, choice(bracket()));
    if (takes("^") || takes("$")) return {};
    if (takes(".")) return "a";
    if (takes("\\")) return escape();
    return std::string(1, next());
  }

  std::string group(int depth) {
    if (takes("?P<") || takes("?<")) {
      while (!failed_ && next() != '>') {
      }
    } else if (takes("?")) {
      // Flags, which end in ")" where they hold for what comes after them.
      for (char c = next(); !failed_ && c != ':'; c = next())
        if (c == ')') return {};
    }
    std::string made = alternatives(depth + 1);
    if (!takes(")")) failed_ = true;
    return made;
  }

  std::string escape() {
    const char letter = next();
    if (const auto all = class_of(letter)) return std::string(1, choice(*all));
    if (std::string_view("AzbB").contains(letter)) return {};
    return std::string(1, escaped(letter));
  }

  char escaped(char letter) {
    switch (letter) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      default:
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) failed_ = true;
        return letter;
    }
  }

  CharacterSet bracket() {
    const bool is_negated = takes("^");
    CharacterSet all;
    for (bool is_first = true; !failed_ && (is_first || !rest_.starts_with("]")); is_first = false) {
      if (rest_.starts_with("[:")) {
        failed_ = true;
        break;
      }
      const auto one = item(all);
      if (!one) continue;
      char last = *one;
      if (rest_.size() > 1 && rest_.front() == '-' && rest_[1] != ']') {
        rest_.remove_prefix(1);
        const auto end = item(all);
        if (end) last = *end;
      }
      // Of others than ASCII none is chosen.
      if (*one >= 0 && last >= *one) all |= range_of(*one, last);
    }
    if (!takes("]")) failed_ = true;
    return is_negated ? ~all : all;
  }

  // nullopt: it was a class, which is in `all` now.
  std::optional<char> item(CharacterSet& all) {
    const char c = next();
    if (c != '\\') return c;
    const char letter = next();
    const auto found = class_of(letter);
    if (!found) return escaped(letter);
    all |= *found;
    return std::nullopt;
  }

  char choice(const CharacterSet& all) {
    for (const char c : kFirstChoices)
      if (all.test(static_cast<std::size_t>(c))) return c;
    for (std::size_t c = ' '; c < 127; ++c)
      if (all.test(c)) return static_cast<char>(c);
    failed_ = true;
    return '\0';
  }

  Repeats read_repeats() {
    constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
    Repeats found;
    if (takes("*"))
      found = {0, kAny};
    else if (takes("+"))
      found = {1, kAny};
    else if (takes("?"))
      found = {0, 1};
    else if (const auto bounds = braces())
      found = *bounds;
    else
      return found;
    takes("?");  // as few as possible
    return found;
  }

  // "{2}", "{2,}", "{2,5}"; else a brace is one.
  std::optional<Repeats> braces() {
    const std::string_view before = rest_;
    const auto back = [&] {
      rest_ = before;
      return std::nullopt;
    };
    if (!takes("{")) return std::nullopt;
    const auto least = number();
    if (!least) return back();
    Repeats found{*least, *least};
    if (takes(",")) found.most = number().value_or(std::numeric_limits<std::size_t>::max());
    if (!takes("}")) return back();
    return found;
  }

  std::optional<std::size_t> number() {
    std::size_t value = 0, digits = 0;
    for (; digits < 5 && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++digits)
      value = value * 10 + static_cast<std::size_t>(next() - '0');
    return digits == 0 ? std::nullopt : std::optional(value);
  }

  std::string_view rest_;
  const std::size_t extra_;
  bool failed_ = false;
};

}  // namespace

std::optional<std::string> text_matching(std::string_view pattern, std::size_t least, std::size_t most) {
  const auto attempt = [&](std::size_t extra) -> std::optional<std::string> {
    auto made = PatternWalk(pattern, extra).run();
    return made && made->size() >= least && made->size() <= most ? made : std::nullopt;
  };
  // With what may be left out, then without, then longer.
  for (std::size_t extra : {std::size_t{1}, std::size_t{0}})
    if (auto made = attempt(extra)) return made;
  for (std::size_t extra = 2; extra <= kMostExtra; ++extra)
    if (auto made = attempt(extra)) return made;
  return std::nullopt;
}

}  // namespace mist::blueprint
