#include "encoding/yaml_resolve.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "encoding/digit.h"
#include "encoding/go_number.h"

namespace mist::encoding {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

enum class Hint : std::uint8_t { None, Sign, Digit, Word, Dot };

constexpr std::array<Hint, 256> make_hints() {
  std::array<Hint, 256> table{};
  for (const char c : std::string_view("+-")) table[static_cast<unsigned char>(c)] = Hint::Sign;
  for (const char c : std::string_view("0123456789")) table[static_cast<unsigned char>(c)] = Hint::Digit;
  for (const char c : std::string_view("yYnNtTfFoO~")) table[static_cast<unsigned char>(c)] = Hint::Word;
  table['.'] = Hint::Dot;
  return table;
}
constexpr std::array<Hint, 256> kHints = make_hints();

enum class Word : std::uint8_t { Null, True, False, Nan, Infinity, MinusInfinity };
struct WordMeaning {
  std::string_view text;
  Word word;
};
constexpr WordMeaning kWords[] = {
    {"y", Word::True},
    {"Y", Word::True},
    {"yes", Word::True},
    {"Yes", Word::True},
    {"YES", Word::True},
    {"true", Word::True},
    {"True", Word::True},
    {"TRUE", Word::True},
    {"on", Word::True},
    {"On", Word::True},
    {"ON", Word::True},
    {"n", Word::False},
    {"N", Word::False},
    {"no", Word::False},
    {"No", Word::False},
    {"NO", Word::False},
    {"false", Word::False},
    {"False", Word::False},
    {"FALSE", Word::False},
    {"off", Word::False},
    {"Off", Word::False},
    {"OFF", Word::False},
    {"~", Word::Null},
    {"null", Word::Null},
    {"Null", Word::Null},
    {"NULL", Word::Null},
    {".nan", Word::Nan},
    {".NaN", Word::Nan},
    {".NAN", Word::Nan},
    {".inf", Word::Infinity},
    {".Inf", Word::Infinity},
    {".INF", Word::Infinity},
    {"+.inf", Word::Infinity},
    {"+.Inf", Word::Infinity},
    {"+.INF", Word::Infinity},
    {"-.inf", Word::MinusInfinity},
    {"-.Inf", Word::MinusInfinity},
    {"-.INF", Word::MinusInfinity},
};
constexpr std::size_t kLongestWord = 5;

enum class Type : std::uint8_t { String, Null, Bool, Int, Float, Timestamp };

struct Meaning {
  Type type = Type::String;
  bool flag = false;
  bool is_unsigned = false;
  std::int64_t integer = 0;
  std::uint64_t positive = 0;
  double number = 0;
};

Meaning of_integer(std::int64_t number) { return {.type = Type::Int, .integer = number}; }
Meaning of_unsigned(std::uint64_t number) {
  if (number <= static_cast<std::uint64_t>(INT64_MAX)) return of_integer(static_cast<std::int64_t>(number));
  return {.type = Type::Int, .is_unsigned = true, .positive = number};
}
Meaning of_float(double number) { return {.type = Type::Float, .number = number}; }

Meaning of_word(Word word) {
  switch (word) {
    case Word::Null:
      return {.type = Type::Null};
    case Word::True:
      return {.type = Type::Bool, .flag = true};
    case Word::False:
      return {.type = Type::Bool};
    case Word::Nan:
      return of_float(std::numeric_limits<double>::quiet_NaN());
    case Word::Infinity:
      return of_float(std::numeric_limits<double>::infinity());
    case Word::MinusInfinity:
      return of_float(-std::numeric_limits<double>::infinity());
  }
  return {};
}

/// strconv.ParseInt and ParseUint with base 0 and no underscores left: 0x, 0b, 0o and plain 0 prefixes.
std::optional<Meaning> parse_go_integer(std::string_view text) {
  bool negative = false;
  bool has_sign = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    has_sign = true;
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  }
  if (text.empty() || text[0] == '-') return std::nullopt;
  std::uint64_t size = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto read = std::from_chars(begin, end, size, base);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  constexpr auto kMax = static_cast<std::uint64_t>(INT64_MAX);
  if (negative) {
    if (size > kMax + 1) return std::nullopt;
    return of_integer(static_cast<std::int64_t>(~size + 1));
  }
  if (size > kMax && has_sign) return std::nullopt;
  return of_unsigned(size);
}

/// ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$
bool is_yaml_float(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - start;
  };
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  const std::size_t whole = digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

/// Go's strconv.ParseFloat takes underscores between digits; what go-yaml reads from a leading '.' allows
/// them.
bool remove_go_underscores(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) return false;
  }
  return true;
}

Meaning resolve_dot(std::string_view text) {
  std::string plain;
  if (!remove_go_underscores(text, plain) || !is_yaml_float(plain)) return {};
  double number = 0;
  if (parse_double(plain, number) != std::errc()) return {};
  return of_float(number);
}

Meaning resolve_number(std::string_view text) {
  std::string buffer;
  if (text.find('_') != std::string_view::npos) {
    buffer = text;
    std::erase(buffer, '_');
    text = buffer;
  }
  if (const auto integer = parse_go_integer(text)) return *integer;
  if (is_yaml_float(text)) {
    double number = 0;
    if (parse_double(text, number) == std::errc()) return of_float(number);
  }
  // go-yaml's own reading of binary lets a sign follow the prefix.
  if (text.starts_with("0b+") || text.starts_with("0b-")) {
    const std::string_view digits = text.substr(3);
    std::uint64_t size = 0;
    const char* begin = digits.data();
    const char* end = begin + digits.size();
    const auto read = std::from_chars(begin, end, size, 2);
    const bool negative = text[2] == '-';
    if (!digits.empty() && read.ec == std::errc() && read.ptr == end &&
        size <= static_cast<std::uint64_t>(INT64_MAX) + (negative ? 1 : 0))
      return of_integer(static_cast<std::int64_t>(negative ? ~size + 1 : size));
  }
  return {};
}

const WordMeaning* find_word(std::string_view text) {
  if (text.size() > kLongestWord) return nullptr;
  const auto* found = std::ranges::find(kWords, text, &WordMeaning::text);
  return found == std::ranges::end(kWords) ? nullptr : found;
}

/// go-yaml's resolve() without the tag's say and without timestamps.
Meaning resolve(std::string_view text) {
  if (text.empty()) return {.type = Type::Null};
  switch (kHints[static_cast<unsigned char>(text[0])]) {
    case Hint::None:
      return {};
    case Hint::Word:
      if (const WordMeaning* word = find_word(text)) return of_word(word->word);
      return {};
    case Hint::Dot:
      if (const WordMeaning* word = find_word(text)) return of_word(word->word);
      return resolve_dot(text);
    case Hint::Sign:
      if (const WordMeaning* word = find_word(text)) return of_word(word->word);
      return resolve_number(text);
    case Hint::Digit:
      return resolve_number(text);
  }
  return {};
}

/// One of go-yaml's four layouts for time.Parse: 2006-1-2, optionally [Tt]15:4:5[.999]Z07:00 or "
/// 15:4:5[.999]".
class TimestampReader {
 public:
  explicit TimestampReader(std::string_view text) : rest_(text) {}

  bool read() {
    int year = 0, month = 0, day = 0;
    if (!number(4, 4, year) || !take('-') || !number(1, 2, month) || !take('-') || !number(1, 2, day))
      return false;
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12) return false;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day < 1 || day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return false;
    if (rest_.empty()) return true;
    if (take(' ')) return clock() && rest_.empty();
    if (!take('T') && !take('t')) return false;
    return clock() && zone() && rest_.empty();
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number(std::size_t least, std::size_t most, int& out) {
    std::size_t count = 0;
    out = 0;
    while (count < most && count < rest_.size() && is_digit(rest_[count]))
      out = out * 10 + (rest_[count++] - '0');
    rest_.remove_prefix(count);
    return count >= least;
  }
  bool clock() {
    int hour = 0, minute = 0, second = 0;
    if (!number(1, 2, hour) || hour > 23 || !take(':') || !number(1, 2, minute) || minute > 59 ||
        !take(':') || !number(1, 2, second) || second > 59)
      return false;
    if (rest_.size() >= 2 && (rest_[0] == '.' || rest_[0] == ',') && is_digit(rest_[1])) {
      rest_.remove_prefix(1);
      while (!rest_.empty() && is_digit(rest_[0])) rest_.remove_prefix(1);
    }
    return true;
  }
  bool zone() {
    if (take('Z')) return true;
    int hour = 0, minute = 0;
    return (take('+') || take('-')) && number(2, 2, hour) && hour <= 24 && take(':') &&
           number(2, 2, minute) && minute <= 60;
  }

  std::string_view rest_;
};

Resolved to_resolved(const Meaning& meaning, std::string_view text) {
  Resolved out;
  switch (meaning.type) {
    case Type::String:
    case Type::Timestamp:
      out.value = Value(text);
      break;
    case Type::Null:
      break;
    case Type::Bool:
      out.value = Value(meaning.flag);
      break;
    case Type::Int:
      out.value = meaning.is_unsigned ? Value(meaning.positive) : Value(meaning.integer);
      out.is_unsigned = meaning.is_unsigned;
      break;
    case Type::Float:
      out.is_float = true;
      out.number = meaning.number;
      out.value = std::isfinite(meaning.number) ? json_number(meaning.number) : Value(meaning.number);
      break;
  }
  return out;
}

/// encoding/base64's StdEncoding: padded, line breaks ignored.
bool decode_go_base64(std::string_view text, std::string& out) {
  std::string packed;
  packed.reserve(text.size());
  std::ranges::copy_if(text, std::back_inserter(packed), [](char c) { return c != '\n' && c != '\r'; });
  return base64_decode(packed, out);
}

}  // namespace

bool resolve_plain(std::string_view text, Resolved& out) {
  if (!text.empty() && kHints[static_cast<unsigned char>(text[0])] == Hint::None) return false;
  const Meaning meaning = resolve(text);
  if (meaning.type == Type::String) return false;
  out = to_resolved(meaning, text);
  return true;
}

Resolved resolve_tagged(std::string_view tag, std::string_view text) {
  const auto fault = [](ScalarFault what) {
    Resolved out;
    out.fault = what;
    return out;
  };
  if (!tag.starts_with(kTagPrefix)) return {.value = Value(text)};
  const std::string_view name = tag.substr(kTagPrefix.size());
  if (name == "str") return {.value = Value(text)};
  if (name == "binary") {
    std::string bytes;
    if (!decode_go_base64(text, bytes)) return fault(ScalarFault::BadBase64);
    return {.value = Value(to_valid_utf8(bytes))};
  }
  Meaning meaning;
  if (name == "timestamp") {
    // Only text that looks like a time is a timestamp, and it stays text.
    if (!looks_like_timestamp(text)) return fault(ScalarFault::WrongTag);
    meaning.type = Type::Timestamp;
    return to_resolved(meaning, text);
  }
  const bool known = name == "int" || name == "float" || name == "bool" || name == "null";
  if (!known) return {.value = Value(text)};
  meaning = resolve(text);
  if (name == "float" && meaning.type == Type::Int && !meaning.is_unsigned)
    meaning = of_float(static_cast<double>(meaning.integer));
  const bool fits =
      (name == "int" && meaning.type == Type::Int) || (name == "float" && meaning.type == Type::Float) ||
      (name == "bool" && meaning.type == Type::Bool) || (name == "null" && meaning.type == Type::Null);
  return fits ? to_resolved(meaning, text) : fault(ScalarFault::WrongTag);
}

bool looks_like_timestamp(std::string_view text) {
  return !text.empty() && is_digit(text[0]) && TimestampReader(text).read();
}

std::string to_valid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    std::size_t length = 1;
    while (length < 4 && length < text.size() && !is_valid_utf8(text.substr(0, length))) ++length;
    if (is_valid_utf8(text.substr(0, length))) {
      out += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace mist::encoding
