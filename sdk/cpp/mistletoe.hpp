// Write Kubernetes packages for Mistletoe in C++20: one function from typed inputs to Kubernetes objects,
// compiled to WebAssembly. Header only, without exceptions, over wasi-libc and libc++. README.md has an
// example.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mistletoe {

// ---- Results

/// Why something failed; its message is what the user reads.
struct Error {
  std::string message;
};

/// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::move(value)) {}
  Result(Error error) : data_(std::move(error)) {}
  explicit operator bool() const { return data_.index() == 0; }
  T& operator*() { return *std::get_if<0>(&data_); }
  const T& operator*() const { return *std::get_if<0>(&data_); }
  T* operator->() { return std::get_if<0>(&data_); }
  const T* operator->() const { return std::get_if<0>(&data_); }
  const Error& error() const { return *std::get_if<1>(&data_); }

 private:
  std::variant<T, Error> data_;
};

/// The error with what was being done before it: "can't make the Service: no port".
inline Error in(std::string_view doing, const Error& error) {
  return {std::string(doing) + ": " + error.message};
}

/// `MISTLETOE_TRY(auto password, mistletoe::secret::password("db"));` returns the error from the function
/// that it stands in.
#define MISTLETOE_TRY(variable, expression) MISTLETOE_TRY_AT(variable, expression, __COUNTER__)
#define MISTLETOE_TRY_AT(variable, expression, number) MISTLETOE_TRY_AS(variable, expression, number)
#define MISTLETOE_TRY_AS(variable, expression, number)                      \
  auto mistletoe_result_##number = (expression);                            \
  if (!mistletoe_result_##number) return mistletoe_result_##number.error(); \
  variable = std::move(*mistletoe_result_##number)

// ---- JSON values

/// A JSON value: `Json{{"kind", "Service"}, {"spec", {{"ports", Json::array({80})}}}}` is an object. Numbers
/// keep the digits that they were read with.
class Json {
 public:
  struct Number {
    std::string digits;  ///< or NaN, Infinity, -Infinity, which no output takes
  };
  using Array = std::vector<Json>;
  using Object = std::map<std::string, Json, std::less<>>;
  using Member = std::pair<const std::string, Json>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : data_(value) {}
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  Json(T value) : data_(Number{digits(value)}) {}
  Json(const char* value) : data_(std::string(value)) {}
  Json(std::string_view value) : data_(std::string(value)) {}
  Json(std::string value) : data_(std::move(value)) {}
  Json(Number value) : data_(std::move(value)) {}
  Json(Array value) : data_(std::move(value)) {}
  Json(Object value) : data_(std::move(value)) {}
  Json(std::initializer_list<Member> members) : data_(Object(members)) {}
  static Json array(std::initializer_list<Json> items = {}) { return Array(items); }
  static Json object() { return Object(); }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const Number* as_number() const { return std::get_if<Number>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  const Object* as_object() const { return std::get_if<Object>(&data_); }
  Array* as_array() { return std::get_if<Array>(&data_); }

  /// The member; null if there is none, or this is no object.
  const Json* find(std::string_view key) const {
    const Object* const object = as_object();
    if (object == nullptr) return nullptr;
    const auto found = object->find(key);
    return found == object->end() ? nullptr : &found->second;
  }
  /// Makes an object of anything else.
  Json& operator[](std::string_view key) {
    if (as_object() == nullptr) data_ = Object();
    return std::get_if<Object>(&data_)->try_emplace(std::string(key)).first->second;
  }
  /// Makes a list of anything else.
  void push_back(Json item) {
    if (as_array() == nullptr) data_ = Array();
    as_array()->push_back(std::move(item));
  }

  static Result<Json> parse(std::string_view text);
  /// As one line. A number that isn't finite fails the render.
  std::string dump() const;

 private:
  template <typename T>
  static std::string digits(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return "NaN";
      if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
      return floating(value);
    } else {
      std::array<char, 32> text{};
      const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
      return {text.data(), end};
    }
  }
  /// As ECMAScript writes a number, from its shortest digits: with an exponent below 1e-6 and from 1e21 on.
  template <typename T>
  static std::string floating(T value) {
    std::array<char, 64> buffer{};
    const char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value),
                                          std::chars_format::scientific)
                                .ptr;
    const std::string_view written(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    const std::size_t e = written.find('e');
    int exponent = 0;
    std::from_chars(written.data() + e + (written[e + 1] == '+' ? 2 : 1), end, exponent);
    std::string shown(written.substr(0, e));
    if (shown.size() > 1) shown.erase(1, 1);
    const int count = static_cast<int>(shown.size()), point = exponent + 1;
    if (point < -5 || point > 21) {
      if (count > 1) shown.insert(1, ".");
      shown += (exponent < 0 ? "e-" : "e+") + std::to_string(std::abs(exponent));
    } else if (point <= 0) {
      shown.insert(0, "0." + std::string(static_cast<std::size_t>(-point), '0'));
    } else if (point < count) {
      shown.insert(static_cast<std::size_t>(point), ".");
    } else {
      shown.append(static_cast<std::size_t>(point - count), '0');
    }
    return value < 0 ? "-" + shown : shown;
  }
  void write(std::string& text) const;

  std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

namespace detail {

/// The code point at `at` of UTF-8, and its length; U+FFFD where there is none.
inline std::pair<char32_t, std::size_t> code_point(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || at + length > text.size()) return {0xfffd, 1};
  char32_t c = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0xfffd, 1};
    c = c << 6 | (byte(i) & 0x3f);
  }
  return {c, length};
}

inline void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

/// Whether YAML 1.1 (section 5.1) counts `c` as not printable or as a line break.
inline bool needs_escape(char32_t c) {
  return (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

/// `text` as JSON that is YAML, too.
inline std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = code_point(text, at);
    constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    if (const auto special = c < 0x80 ? kShort.find(static_cast<char>(c)) : kShort.npos;
        special != kShort.npos) {
      result += {'\\', kLetters[special]};
    } else if (c < 0x20 || needs_escape(c)) {
      std::array<char, 8> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
      result += escaped.data();
    } else {
      append_utf8(result, c);
    }
    at += length;
  }
  return result + "\"";
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}
  Result<Json> document() {
    Json value;
    if (!this->value(value, 0) || (skip(), at_ != text_.size()))
      return Error{"it is no JSON at byte " + std::to_string(at_)};
    return value;
  }

 private:
  static constexpr int kMostDepth = 500;

  void skip() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != '\0') ++at_;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool value(Json& out, int depth) {
    skip();
    if (at_ == text_.size() || depth > kMostDepth) return false;
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"': {
        std::string text;
        if (!string(text)) return false;
        out = std::move(text);
        return true;
      }
      case 't':
        out = true;
        return take("true");
      case 'f':
        out = false;
        return take("false");
      case 'n':
        out = nullptr;
        return take("null");
      default:
        return number(out);
    }
  }
  bool object(Json& out, int depth) {
    out = Json::object();
    ++at_;
    skip();
    if (take("}")) return true;
    do {
      skip();
      std::string key;
      if (!string(key)) return false;
      skip();
      if (!take(":") || !value(out[key], depth + 1)) return false;
      skip();
    } while (take(","));
    return take("}");
  }
  bool array(Json& out, int depth) {
    out = Json::array();
    ++at_;
    skip();
    if (take("]")) return true;
    do {
      Json item;
      if (!value(item, depth + 1)) return false;
      out.push_back(std::move(item));
      skip();
    } while (take(","));
    return take("]");
  }
  bool number(Json& out) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '\0' && std::strchr("+-.0123456789eE", text_[at_]) != nullptr)
      ++at_;
    if (at_ == begin) return false;
    out = Json::Number{std::string(text_.substr(begin, at_ - begin))};
    return true;
  }
  bool string(std::string& out) {
    if (!take("\"")) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out.push_back(text_[at_++]);
        continue;
      }
      if (++at_ == text_.size()) return false;
      constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
      const char letter = text_[at_++];
      if (const auto known = kLetters.find(letter); known != kLetters.npos) {
        out.push_back(kMeant[known]);
      } else if (char32_t c = 0; letter == 'u' && hexadecimal(c)) {
        if (char32_t low = 0; c >= 0xd800 && c < 0xdc00 && take("\\u") && hexadecimal(low))
          c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        append_utf8(out, c);
      } else {
        return false;
      }
    }
    return take("\"");
  }
  bool hexadecimal(char32_t& out) {
    const std::string_view digits = text_.substr(at_, 4);
    std::uint32_t value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 4 || end.ptr != digits.data() + 4) return false;
    at_ += 4;
    out = value;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

inline Result<Json> Json::parse(std::string_view text) { return detail::JsonParser(text).document(); }

inline void Json::write(std::string& text) const {
  if (is_null()) text += "null";
  if (const bool* const value = as_bool()) text += *value ? "true" : "false";
  if (const Number* const value = as_number()) text += value->digits;
  if (const std::string* const value = as_string()) text += detail::quoted(*value);
  if (const Array* const items = as_array()) {
    text += '[';
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (i > 0) text += ',';
      (*items)[i].write(text);
    }
    text += ']';
  }
  if (const Object* const members = as_object()) {
    text += '{';
    bool first = true;
    for (const auto& [key, value] : *members) {
      if (!std::exchange(first, false)) text += ',';
      text += detail::quoted(key) + ':';
      value.write(text);
    }
    text += '}';
  }
}

namespace detail {

/// The first number that isn't finite, in the order of dump(), behind the path to it: ".spec.replicas is NaN,
/// …". Empty: there is none. The path is put together on the way back, since most values have none.
inline std::string not_finite_below(const Json& value) {
  if (const Json::Number* const number = value.as_number()) {
    if (!number->digits.ends_with("NaN") && !number->digits.ends_with("Infinity")) return "";
    return " is " + number->digits + ", which neither JSON nor YAML has";
  }
  if (const Json::Array* const items = value.as_array()) {
    for (std::size_t i = 0; i < items->size(); ++i) {
      const std::string found = not_finite_below((*items)[i]);
      if (!found.empty()) return "[" + std::to_string(i) + "]" + found;
    }
  }
  if (const Json::Object* const members = value.as_object()) {
    for (const auto& [key, member] : *members) {
      const std::string found = not_finite_below(member);
      if (!found.empty()) return "." + key + found;
    }
  }
  return "";
}

/// The same as an error has it: "spec.replicas is NaN, …".
inline std::string not_finite(const Json& value) {
  const std::string found = not_finite_below(value);
  if (found.starts_with(' ')) return "the value" + found;
  return found.starts_with('.') ? found.substr(1) : found;
}

/// For functions that give a text and no Result: the first number that they couldn't write while this object
/// lives.
class Unwritable {
 public:
  Unwritable() : outer_(std::exchange(current, this)) {}
  ~Unwritable() { current = outer_; }
  Unwritable(const Unwritable&) = delete;
  Unwritable& operator=(const Unwritable&) = delete;

  static void note(const Json& value) {
    if (current != nullptr && current->why_.empty()) current->why_ = not_finite(value);
  }
  const std::string& why() const { return why_; }

 private:
  // Without a destructor, which modules for a sandbox may have no way to register.
  inline static constinit thread_local Unwritable* current = nullptr;

  Unwritable* outer_;
  std::string why_;
};

}  // namespace detail

inline std::string Json::dump() const {
  detail::Unwritable::note(*this);
  std::string text;
  write(text);
  return text;
}

// ---- YAML

namespace detail {

/// Kubernetes YAML that people like to read and every YAML reader understands alike; the same bytes as the
/// SDKs of the other languages write. Block style; apiVersion, kind, name, namespace, metadata first in each
/// mapping, the rest sorted; texts of several lines as literal blocks. A string is plain only where YAML 1.1,
/// YAML 1.2 and the resolvers of kubectl and Helm agree.
class YamlWriter {
 public:
  std::string document(const Json& value) {
    if (is_filled(value))
      lines(value, 0);
    else
      inline_value(value, 0);
    return std::move(text_);
  }

 private:
  static constexpr std::array<std::string_view, 5> kLeading{"apiVersion", "kind", "name", "namespace",
                                                            "metadata"};
  static constexpr std::array<std::string_view, 10> kReserved{"null", "true", "false", "yes", "no",
                                                              "on",   "off",  "y",     "n",   "nan"};

  static bool is_filled(const Json& value) {
    return (value.as_array() != nullptr && !value.as_array()->empty()) ||
           (value.as_object() != nullptr && !value.as_object()->empty());
  }
  void lines(const Json& value, std::size_t indent) {
    if (value.as_array() != nullptr)
      list(*value.as_array(), indent);
    else
      mapping(*value.as_object(), indent);
  }
  void mapping(const Json::Object& object, std::size_t indent) {
    std::vector<const Json::Member*> members;
    for (const std::string_view key : kLeading) {
      if (const auto found = object.find(key); found != object.end()) members.push_back(&*found);
    }
    for (const auto& member : object) {
      if (std::find(kLeading.begin(), kLeading.end(), member.first) == kLeading.end())
        members.push_back(&member);
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& [key, value] = *members[i];
      if (i > 0) text_.append(indent, ' ');
      scalar(key);
      text_ += ':';
      if (is_filled(value)) {
        const std::size_t inner = value.as_array() != nullptr ? indent : indent + 2;
        text_ += '\n';
        text_.append(inner, ' ');
        lines(value, inner);
      } else {
        text_ += ' ';
        inline_value(value, indent);
      }
    }
  }
  void list(const Json::Array& items, std::size_t indent) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_.append(indent, ' ');
      text_ += "- ";
      if (is_filled(items[i]))
        lines(items[i], indent + 2);
      else
        inline_value(items[i], indent);
    }
  }
  /// What starts on the current line, up to and with its line break.
  void inline_value(const Json& value, std::size_t indent) {
    if (const std::string* const text = value.as_string()) {
      if (is_literal(*text)) return literal(*text, indent + 2);
      scalar(*text);
    } else {
      text_ += value.dump();
    }
    text_ += '\n';
  }
  void scalar(std::string_view text) { text_ += is_plain(text) ? std::string(text) : quoted(text); }
  /// A literal block (YAML 1.1, section 9.3.1); its chomping indicator keeps the line breaks at the end
  /// exact.
  void literal(std::string_view text, std::size_t indent) {
    std::string_view body = text.substr(0, text.find_last_not_of('\n') + 1);
    const std::size_t breaks = text.size() - body.size();
    text_ += breaks == 0 ? "|-\n" : breaks == 1 ? "|\n" : "|+\n";
    for (bool more = true; more;) {
      const std::size_t end = body.find('\n');
      const std::string_view line = body.substr(0, end);
      if (!line.empty()) text_.append(indent, ' ');
      text_.append(line) += '\n';
      more = end != body.npos;
      if (more) body.remove_prefix(end + 1);
    }
    text_.append(breaks > 1 ? breaks - 1 : 0, '\n');
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  /// Whether every YAML reader takes the unquoted text for this very string.
  static bool is_plain(std::string_view text) {
    if (is_quantity(text)) return true;
    if (text.empty() || !(is_letter(text[0]) || text[0] == '/')) return false;
    for (const char c : text) {
      if (!is_letter(c) && !is_digit(c) && std::string_view(" -_./:@%+,=").find(c) == std::string_view::npos)
        return false;
    }
    std::string lower(text);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text.find(": ") == text.npos && text.back() != ' ' && text.back() != ':' &&
           std::find(kReserved.begin(), kReserved.end(), lower) == kReserved.end();
  }
  /// A Kubernetes quantity with a suffix that no YAML number has, such as 250m or 64Mi.
  static bool is_quantity(std::string_view text) {
    constexpr std::array<std::string_view, 12> kSuffixes{"m",  "k",  "M",  "G",  "T",  "P",
                                                         "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    const std::size_t at = text.find_first_not_of("0123456789");
    return at != text.npos && at > 0 &&
           std::find(kSuffixes.begin(), kSuffixes.end(), text.substr(at)) != kSuffixes.end();
  }
  /// Whether a literal block shows the text exactly; its first line decides the indentation, so it can't be
  /// blank.
  static bool is_literal(std::string_view text) {
    const std::size_t last = text.find_last_not_of('\n');
    if (last == text.npos || text.find('\n') > last) return false;
    for (std::size_t at = 0; at < text.size();) {
      const auto [c, length] = code_point(text, at);
      if (at == 0 && is_space(c)) return false;
      if ((c < 0x20 && c != '\n' && c != '\t') || needs_escape(c)) return false;
      at += length;
    }
    return true;
  }
  static bool is_space(char32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
  }

  std::string text_;
};

}  // namespace detail

/// One YAML document that ends with a line break. A number that isn't finite fails the render.
inline std::string to_yaml(const Json& value) {
  detail::Unwritable::note(value);
  return detail::YamlWriter().document(value);
}

// ---- Typed inputs

/// A field of an input struct: its name, its place, and what its JSON Schema says. A field that isn't
/// `required()` has as default what a new struct has there.
template <typename S, typename T>
struct Field {
  std::string_view name;
  T S::* member;
  std::string_view text = {};
  bool is_required = false;
  std::optional<std::int64_t> least = {}, most = {};
  std::string_view regex = {};
  std::array<std::string_view, 16> values = {};

  constexpr Field doc(std::string_view words) const {
    return with([&](Field& f) { f.text = words; });
  }
  constexpr Field required() const {
    return with([](Field& f) { f.is_required = true; });
  }
  /// Of numbers the value, of strings the length, of lists the number of items.
  constexpr Field minimum(std::int64_t value) const {
    return with([&](Field& f) { f.least = value; });
  }
  constexpr Field maximum(std::int64_t value) const {
    return with([&](Field& f) { f.most = value; });
  }
  constexpr Field pattern(std::string_view value) const {
    return with([&](Field& f) { f.regex = value; });
  }
  /// At most 16.
  constexpr Field one_of(std::initializer_list<std::string_view> words) const {
    return with([&](Field& f) { std::copy(words.begin(), words.end(), f.values.begin()); });
  }

 private:
  template <typename Change>
  constexpr Field with(Change change) const {
    Field copy = *this;
    change(copy);
    return copy;
  }
};

template <typename S, typename T>
constexpr Field<S, T> field(std::string_view name, T S::* member) {
  return {name, member};
}

/// For each struct of inputs: `template <> constexpr auto mistletoe::fields<Inputs> =
/// std::tuple{mistletoe::field("name", &Inputs::name).required(), …};`
template <typename S>
constexpr std::nullptr_t fields = nullptr;

namespace detail {

template <typename T>
concept Struct = !std::is_same_v<std::remove_const_t<decltype(fields<T>)>, std::nullptr_t>;
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsList : std::false_type {};
template <typename T>
struct IsList<std::vector<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

inline std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.as_bool() != nullptr) return "a boolean";
  if (value.as_number() != nullptr) return "a number";
  if (value.as_string() != nullptr) return "a string";
  return value.as_array() != nullptr ? "a list" : "an object";
}

inline std::string mismatch(std::string_view path, const Json& value, std::string_view wanted) {
  std::string text = path.empty() ? "the inputs don't" : "the input `" + std::string(path) + "` doesn't";
  return text + " fit this package: it is " + std::string(kind_of(value)) + ", not " + std::string(wanted);
}

/// Empty if it went well, else why not.
template <typename T>
std::string read(const Json& value, T& out, const std::string& path) {
  if constexpr (std::is_same_v<T, Json>) {
    out = value;
  } else if constexpr (IsOptional<T>::value) {
    if (value.is_null()) return {};
    return read(value, out.emplace(), path);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (value.as_bool() == nullptr) return mismatch(path, value, "a boolean");
    out = *value.as_bool();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (value.as_string() == nullptr) return mismatch(path, value, "a string");
    out = *value.as_string();
  } else if constexpr (std::is_integral_v<T>) {
    const Json::Number* const number = value.as_number();
    if (number == nullptr) return mismatch(path, value, "an integer");
    const char* const end = number->digits.data() + number->digits.size();
    const auto read = std::from_chars(number->digits.data(), end, out);
    if (read.ptr != end || read.ec != std::errc()) return mismatch(path, value, "an integer of that size");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (value.as_number() == nullptr) return mismatch(path, value, "a number");
    out = static_cast<T>(std::strtod(value.as_number()->digits.c_str(), nullptr));
  } else if constexpr (IsList<T>::value) {
    if (value.as_array() == nullptr) return mismatch(path, value, "a list");
    out.clear();
    for (const Json& item : *value.as_array()) {
      const std::string place = path + "[" + std::to_string(out.size()) + "]";
      if (auto why = read(item, out.emplace_back(), place); !why.empty()) return why;
    }
  } else if constexpr (IsMap<T>::value) {
    if (value.as_object() == nullptr) return mismatch(path, value, "an object");
    out.clear();
    for (const auto& [key, item] : *value.as_object()) {
      if (auto why = read(item, out[key], path.empty() ? key : path + "." + key); !why.empty()) return why;
    }
  } else {
    static_assert(Struct<T>, "a struct of inputs needs mistletoe::fields");
    if (value.as_object() == nullptr) return mismatch(path, value, "an object");
    std::string why;
    const auto one = [&](const auto& each) {
      const Json* const given = value.find(each.name);
      const std::string name(each.name);
      if (given != nullptr) {
        why = read(*given, out.*each.member, path.empty() ? name : path + "." + name);
      } else if (each.is_required) {
        why = "the inputs don't fit this package: there is no `" + (path.empty() ? name : path + "." + name) +
              "`";
      }
      return why.empty();
    };
    std::apply([&](const auto&... each) { return (one(each) && ...); }, fields<T>);
    return why;
  }
  return {};
}

template <typename T>
Json to_json(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return value ? to_json(*value) : Json();
  } else if constexpr (IsList<T>::value) {
    Json list = Json::array();
    for (const auto& item : value) list.push_back(to_json(item));
    return list;
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, item] : value) object[key] = to_json(item);
    return object;
  } else if constexpr (Struct<T>) {
    Json object = Json::object();
    std::apply([&](const auto&... each) { ((object[each.name] = to_json(value.*each.member)), ...); },
               fields<T>);
    return object;
  } else {
    return Json(value);
  }
}

template <typename T>
Json schema_of() {
  if constexpr (std::is_same_v<T, Json>) {
    return Json::object();
  } else if constexpr (IsOptional<T>::value) {
    return schema_of<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::is_unsigned_v<T>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", "number"}};
  } else if constexpr (IsList<T>::value) {
    return {{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
  } else if constexpr (IsMap<T>::value) {
    return {{"type", "object"}, {"additionalProperties", schema_of<typename T::mapped_type>()}};
  } else {
    static_assert(Struct<T>, "a struct of inputs needs mistletoe::fields");
    Json properties = Json::object(), required = Json::array();
    const T defaults{};
    const auto one = [&](const auto& each) {
      using Value = std::remove_cvref_t<decltype(defaults.*each.member)>;
      Json schema = schema_of<Value>();
      const std::string suffix = std::is_same_v<Value, std::string> ? "Length"
                                 : IsList<Value>::value             ? "Items"
                                                                    : "imum";
      if (!each.text.empty()) schema["description"] = each.text;
      if (each.least) schema["min" + suffix] = *each.least;
      if (each.most) schema["max" + suffix] = *each.most;
      if (!each.regex.empty()) schema["pattern"] = each.regex;
      if (!each.values[0].empty()) {
        for (const std::string_view word : each.values) {
          if (!word.empty()) schema["enum"].push_back(word);
        }
      }
      if (each.is_required) {
        required.push_back(each.name);
      } else if (Json value = to_json(defaults.*each.member); !value.is_null()) {
        schema["default"] = std::move(value);
      }
      properties[each.name] = std::move(schema);
    };
    std::apply([&](const auto&... each) { (one(each), ...); }, fields<T>);
    Json schema{{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
    if (!required.as_array()->empty()) schema["required"] = std::move(required);
    return schema;
  }
}

}  // namespace detail

/// The JSON Schema (2020-12) of a struct of inputs. The release's name is never required: the host gives it.
template <typename Inputs>
Json schema() {
  Json whole = detail::schema_of<Inputs>();
  if (const Json* const required = whole.find("required")) {
    Json others = Json::array();
    for (const Json& name : *required->as_array()) {
      if (*name.as_string() != "name") others.push_back(name);
    }
    Json::Object members = *whole.as_object();
    members.erase("required");
    if (!others.as_array()->empty()) members.emplace("required", std::move(others));
    whole = std::move(members);
  }
  if (const Json* const name = whole.find("properties")->find("name");
      name != nullptr && name->find("default") != nullptr) {
    Json::Object members = *name->as_object();
    members.erase("default");
    whole["properties"]["name"] = std::move(members);
  }
  return whole;
}

// ---- The host

namespace detail {

#ifdef __wasm__
extern "C" {
__attribute__((import_module("mistletoe_v1"), import_name("request"))) std::uint32_t mistletoe_request(
    const char*, std::uint32_t);
__attribute__((import_module("mistletoe_v1"), import_name("response"))) void mistletoe_response(char*);
}

inline std::string exchange(const std::string& request) {
  std::string answer(mistletoe_request(request.data(), static_cast<std::uint32_t>(request.size())), '\0');
  mistletoe_response(answer.data());
  return answer;
}
#else
/// Natively, in a package's own tests, takes a host's place: secrets are letters that depend on their name
/// alone.
inline std::string exchange(const std::string& text) {
  const auto request = Json::parse(text);
  const std::string op = request ? *request->find("op")->as_string() : "";
  if (op == "log") return R"({"ok":{}})";
  if (op == "lookup")
    return request->find("name")->as_string()->empty() ? R"({"ok":{"items":[]}})" : R"({"ok":null})";
  if (op != "secret.get") return R"({"error":{"message":"there is no host here that could answer that"}})";
  std::uint64_t state = 0xcbf29ce484222325;
  for (const char c : *request->find("name")->as_string())
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const Json* const length = request->find("length");
  std::string value(length == nullptr ? 24 : std::strtoul(length->as_number()->digits.c_str(), nullptr, 10),
                    'a');
  for (char& c : value) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    c = static_cast<char>('a' + state % 6);
  }
  return Json{{"ok", Json{{"value", value}}}}.dump();
}
#endif

inline Result<Json> ask(const Json& request) {
  auto answer = Json::parse(exchange(request.dump()));
  if (!answer) return in("the host's answer can't be read", answer.error());
  if (const Json* const value = answer->find("ok")) return *value;
  const Json* const error = answer->find("error");
  const Json* const message = error == nullptr ? nullptr : error->find("message");
  if (message == nullptr || message->as_string() == nullptr) return Error{"the host gave no answer"};
  const Json* const hint = error->find("hint");
  if (hint == nullptr || hint->as_string() == nullptr) return Error{*message->as_string()};
  return Error{*message->as_string() + " (" + *hint->as_string() + ")"};
}

inline Result<std::string> text_at(Result<Json> answer, std::string_view key) {
  if (!answer) return answer.error();
  const Json* const value = answer->find(key);
  if (value == nullptr || value->as_string() == nullptr)
    return Error{"the host's answer has no `" + std::string(key) + "`"};
  return *value->as_string();
}

}  // namespace detail

/// Secrets that stay: the host derives each from the release's seed and from names (docs/secrets.md). A name
/// is up to 128 letters, digits, '-', '_', '.' and '/'; each form of a secret needs a name of its own.
namespace secret {

/// PEM: PKCS #8 and SubjectPublicKeyInfo.
struct KeyPair {
  std::string private_key;
  std::string public_key;
};

struct PasswordOptions {
  int length = 24;                        ///< 4 to 1024
  std::string alphabet = {};              ///< empty: letters and digits
  std::vector<std::string> require = {};  ///< at least one each of: lower, upper, digit, symbol
};

inline Result<std::string> password(std::string_view name, const PasswordOptions& options = {}) {
  Json request{{"op", "secret.get"}, {"name", name}, {"kind", "password"}};
  if (options.length != 24) request["length"] = options.length;
  if (!options.alphabet.empty()) request["alphabet"] = options.alphabet;
  for (const std::string& each : options.require) request["require"].push_back(each);
  return detail::text_at(detail::ask(request), "value");
}
inline Result<std::string> of_length(std::string_view kind, std::string_view name, int length) {
  return detail::text_at(
      detail::ask({{"op", "secret.get"}, {"name", name}, {"kind", kind}, {"length", length}}), "value");
}
/// `length` letters and digits (4 to 1024).
inline Result<std::string> alphanumeric(std::string_view name, int length) {
  return of_length("alphanumeric", name, length);
}
/// `length` lower-case hexadecimal digits (4 to 1024).
inline Result<std::string> hex(std::string_view name, int length) { return of_length("hex", name, length); }
/// `length` random bytes (4 to 1024), as text in base64.
inline Result<std::string> base64(std::string_view name, int length) {
  return of_length("base64", name, length);
}
/// A random UUID (version 4).
inline Result<std::string> uuid(std::string_view name) {
  return detail::text_at(detail::ask({{"op", "secret.get"}, {"name", name}, {"kind", "uuid"}}), "value");
}
inline Result<KeyPair> key_pair(std::string_view kind, std::string_view name) {
  const auto answer = detail::ask({{"op", "secret.get"}, {"name", name}, {"kind", kind}});
  MISTLETOE_TRY(std::string private_key, detail::text_at(answer, "value"));
  MISTLETOE_TRY(std::string public_key, detail::text_at(answer, "publicKey"));
  return KeyPair{std::move(private_key), std::move(public_key)};
}
inline Result<KeyPair> ed25519(std::string_view name) { return key_pair("ed25519", name); }
/// On P-256.
inline Result<KeyPair> ecdsa(std::string_view name) { return key_pair("ecdsa", name); }

}  // namespace secret

/// Lines for the user, shown with their level.
namespace log {

inline void line(std::string_view level, std::string_view message) {
  // A package doesn't fail because nobody listens.
  static_cast<void>(detail::ask({{"op", "log"}, {"level", level}, {"message", message}}));
}
inline void debug(std::string_view message) { line("debug", message); }
inline void info(std::string_view message) { line("info", message); }
inline void warn(std::string_view message) { line("warn", message); }

}  // namespace log

/// What a called package gave.
struct Called {
  std::map<std::string, std::string> files;  ///< path: YAML
  Json exports;                              ///< checked by the host against its schema
  std::string message;                       ///< for the user
};

/// Renders the package that spec.dependencies calls `name`, with `input` as its data. An error if that isn't
/// declared, refuses the input or fails by itself: it names the path of packages.
inline Result<Called> call(std::string_view name, Json input) {
  if (const std::string why = detail::not_finite(input); !why.empty())
    return Error{"can't write the input of " + std::string(name) + ": " + why};
  MISTLETOE_TRY(Json answer,
                detail::ask({{"op", "package.call"}, {"package", name}, {"input", std::move(input)}}));
  Called called;
  if (const Json* const files = answer.find("files"); files != nullptr && files->as_object() != nullptr) {
    for (const auto& [path, text] : *files->as_object()) called.files.emplace(path, *text.as_string());
  }
  if (const Json* const exports = answer.find("exports")) called.exports = *exports;
  if (const Json* const message = answer.find("message");
      message != nullptr && message->as_string() != nullptr)
    called.message = *message->as_string();
  return called;
}

namespace detail {

inline Result<Json> lookup(std::string_view api_version, std::string_view kind, std::string_view ns,
                           std::string_view name) {
  return ask(
      {{"op", "lookup"}, {"apiVersion", api_version}, {"kind", kind}, {"namespace", ns}, {"name", name}});
}

}  // namespace detail

/// The object of the cluster; null if there is none of that name. `ns` is empty for kinds that have none. The
/// package may read the objects of its own release, and those that spec.needs.clusterRead of mistletoe.yaml
/// declares and its user grants with --allow-lookup; any other object is an error, and the render fails
/// whatever the package does with it. Without a cluster, in `mistctl generate` and in tests, there is none.
inline Result<Json> lookup(std::string_view api_version, std::string_view kind, std::string_view ns,
                           std::string_view name) {
  if (name.empty())
    return Error{"lookup of a " + std::string(kind) + " needs a name; lookup_all gives all of them"};
  return detail::lookup(api_version, kind, ns, name);
}

/// All objects of a kind in the namespace, or everywhere if it is empty: a list. Errors as of lookup().
inline Result<Json> lookup_all(std::string_view api_version, std::string_view kind, std::string_view ns) {
  MISTLETOE_TRY(const Json answer, detail::lookup(api_version, kind, ns, ""));
  const Json* const items = answer.find("items");
  if (items == nullptr) return Error{"the host's answer has no `items`"};
  return *items;
}

// ---- The output

/// What a package gives back: files of Kubernetes YAML, one document or several in each, in the order in
/// which they were first set.
class Output {
 public:
  /// Sets the file at `path`, a relative path such as web/service.yaml, replacing what was there.
  Output& with_file(std::string path, std::string content) {
    const auto known =
        std::find_if(files_.begin(), files_.end(), [&](const auto& each) { return each.first == path; });
    if (known != files_.end())
      known->second = std::move(content);
    else
      files_.emplace_back(std::move(path), std::move(content));
    return *this;
  }
  /// Adds the files of a package that was called, each below `folder`.
  Output& with_files_from(std::string_view folder, const Called& called) {
    for (const auto& [path, content] : called.files) with_file(std::string(folder) + "/" + path, content);
    return *this;
  }
  /// Sets the file at `path` to one object. Safer than a text template: no value can change the document's
  /// structure. A number that isn't finite fails the render.
  Output& with_object(std::string path, const Json& object) {
    check("the file " + path, object);
    return with_file(std::move(path), to_yaml(object));
  }
  /// Declares that `object` (KIND[.GROUP]/[NAMESPACE/]NAME) comes after `target` (KIND/NAME, with @ready
  /// behind it to wait until it is ready): docs/order.md.
  Output& after(std::string_view object, std::string_view target) { return edge("after", object, target); }
  Output& before(std::string_view object, std::string_view target) { return edge("before", object, target); }
  /// What the user sees after the render, such as how to go on.
  Output& with_message(std::string message) {
    message_ = std::move(message);
    return *this;
  }
  /// What packages that call this one may read.
  Output& with_exports(Json exports) {
    check("the exports", exports);
    exports_ = std::move(exports);
    return *this;
  }

  const std::vector<std::pair<std::string, std::string>>& files() const { return files_; }
  const std::string& message() const { return message_; }
  const Json& exports() const { return exports_; }
  /// The first thing that couldn't be written, which is then the error of the render; mostly empty.
  const std::string& failure() const { return failure_; }

 private:
  void check(std::string_view what, const Json& value) {
    const std::string why = detail::not_finite(value);
    if (!why.empty() && failure_.empty()) failure_ = "can't write " + std::string(what) + ": " + why;
  }
  Output& edge(std::string_view direction, std::string_view object, std::string_view target) {
    edges_.push_back(Json{{"object", object}, {std::string(direction), target}});
    return with_object("mist-order.yaml",
                       {{"apiVersion", "mistletoe.dev/v1"}, {"kind", "MistOrder"}, {"edges", edges_}});
  }

  std::vector<std::pair<std::string, std::string>> files_;
  std::string message_, failure_;
  Json exports_;
  Json edges_ = Json::array();
};

/// What a host tells a package about its surroundings.
struct Context {
  std::string release_name, release_namespace;
  std::string kube_version;               ///< of the API server: "v1.36.1"
  std::vector<std::string> api_versions;  ///< that it serves: "apps/v1"
};

// ---- The program

namespace detail {

inline Context context_of(const Json& document) {
  Context context;
  const auto text = [&](std::string_view group, std::string_view key) {
    const Json* const found = document.find(group);
    const Json* const value = found == nullptr ? nullptr : found->find(key);
    return value == nullptr || value->as_string() == nullptr ? std::string() : *value->as_string();
  };
  context.release_name = text("release", "name");
  context.release_namespace = text("release", "namespace");
  context.kube_version = text("capabilities", "kubeVersion");
  if (const Json* const capabilities = document.find("capabilities")) {
    const Json* const versions = capabilities->find("apiVersions");
    if (versions != nullptr) static_cast<void>(read(*versions, context.api_versions, ""));
  }
  return context;
}

template <typename Function>
struct Signature;
template <typename R, typename I, typename... Rest>
struct Signature<R (*)(I, Rest...)> {
  using Inputs = std::remove_cvref_t<I>;
  static constexpr bool kWithContext = sizeof...(Rest) == 1;
};

inline std::string failure_document(const Error& error) {
  return R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Err","message":)" +
         quoted(error.message) + "}}";
}

inline std::string result_document(const Result<Output>& result) {
  if (!result) return failure_document(result.error());
  std::string text = R"({"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok")";
  if (!result->message().empty()) text += ",\"message\":" + quoted(result->message());
  text += ",\"files\":{";
  for (std::size_t i = 0; i < result->files().size(); ++i) {
    const auto& [path, content] = result->files()[i];
    text += (i > 0 ? "," : "") + quoted(path) + ":" + quoted(content);
  }
  text += "}";
  const Json& exports = result->exports();
  // A host reads a text as YAML, which its quotation is.
  if (const std::string* const words = exports.as_string())
    text += ",\"exports\":" + quoted(quoted(*words));
  else if (!exports.is_null())
    text += ",\"exports\":" + exports.dump();
  return text + "}}";
}

}  // namespace detail

/// Renders a package as a host would, from an input document as JSON; meant for the package's own tests.
/// `generate` takes the inputs, or the inputs and the Context.
template <typename Generate>
Result<Output> render(Generate generate, std::string_view text) {
  using Signature = detail::Signature<Generate>;
  auto document = Json::parse(text);
  if (!document) return in("the input document can't be read", document.error());
  const Json* const kind = document->find("kind");
  if (kind == nullptr || kind->as_string() == nullptr || *kind->as_string() != "MistInput")
    return Error{"the input document's kind isn't `MistInput`"};
  typename Signature::Inputs inputs{};
  const Json* const data = document->find("data");
  if (std::string why = detail::read(data == nullptr ? Json::object() : *data, inputs, ""); !why.empty())
    return Error{why};
  const detail::Unwritable unwritable;
  Result<Output> output = [&]() -> Result<Output> {
    if constexpr (Signature::kWithContext)
      return generate(inputs, detail::context_of(*document));
    else
      return generate(inputs);
  }();
  if (output && !output->failure().empty()) return Error{output->failure()};
  if (output && !unwritable.why().empty()) return Error{unwritable.why()};
  return output;
}

/// All that main does: the input document on standard input, the result document on standard output.
template <typename Generate>
int run(Generate generate) {
  std::string text;
  std::array<char, 1 << 14> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), stdin)) > 0;)
    text.append(buffer.data(), got);
  const auto document = Json::parse(text);
  const Json* const kind = document ? document->find("kind") : nullptr;
  std::string answer;
  if (kind != nullptr && kind->as_string() != nullptr && *kind->as_string() == "MistDescribe") {
    answer =
        Json{{"apiVersion", "mistletoe.dev/v1"},
             {"kind", "MistResult"},
             {"data",
              Json{{"result", "Ok"},
                   {"package", Json{{"inputs", schema<typename detail::Signature<Generate>::Inputs>()}}}}}}
            .dump();
  } else {
    answer = detail::result_document(render(generate, text));
  }
  answer += '\n';
  const bool written =
      std::fwrite(answer.data(), 1, answer.size(), stdout) == answer.size() && std::fflush(stdout) == 0;
  return written ? 0 : 1;
}

}  // namespace mistletoe
