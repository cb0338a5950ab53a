// to_json.
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "encoding/go_number.h"
#include "encoding/json.h"
#include "encoding/yaml_resolve.h"

namespace mist::encoding {
namespace {

/// The treatment that a byte of a string needs: none, an escape, or a look at the characters around it.
enum class Byte : std::uint8_t { Plain, Escape, Wide };

constexpr std::array<Byte, 256> make_bytes() {
  std::array<Byte, 256> table{};
  for (std::size_t i = 0; i < 0x20; ++i) table[i] = Byte::Escape;
  table['"'] = table['\\'] = Byte::Escape;
  for (std::size_t i = 0x80; i < 0x100; ++i) table[i] = Byte::Wide;
  return table;
}
constexpr std::array<Byte, 256> kBytes = make_bytes();

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default: {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Byte kind = kBytes[static_cast<unsigned char>(text[i])];
    if (kind == Byte::Plain) continue;
    if (kind == Byte::Wide) {
      // U+2028 and U+2029 end lines in JavaScript; Go escapes them always.
      if (!text.substr(i).starts_with("\xe2\x80\xa8") && !text.substr(i).starts_with("\xe2\x80\xa9"))
        continue;
      out += text.substr(done, i - done);
      out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += text.substr(done, i - done);
      append_escape(out, text[i]);
    }
    done = i + 1;
  }
  out += text.substr(done);
  out += '"';
}

class JsonPrinter {
 public:
  JsonPrinter(std::string& out, JsonStyle style)
      : out_(out), pretty_(style == JsonStyle::Pretty), exact_(style == JsonStyle::Exact) {}

  void print(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::Null:
        out_ += "null";
        break;
      case Value::Kind::Bool:
        out_ += value.as_bool() ? "true" : "false";
        break;
      case Value::Kind::Int:
        append_integer(out_, value.as_int());
        break;
      case Value::Kind::UInt:
        append_integer(out_, value.as_uint());
        break;
      case Value::Kind::Double:
        append_double(value.as_double());
        break;
      case Value::Kind::String:
        append_text(value.as_string());
        break;
      case Value::Kind::Array:
        list('[', value.as_array(), ']', [this](const Value& item) { print(item); });
        break;
      case Value::Kind::Object:
        list('{', value.as_object(), '}', [this](const Value::Member& member) {
          append_text(member.key);
          out_ += pretty_ ? ": " : ":";
          print(member.value);
        });
        break;
    }
  }

 private:
  void append_text(const std::string& text) {
    if (is_valid_utf8(text))
      append_string(out_, text);
    else
      append_string(out_, to_valid_utf8(text));
  }

  void list(char open, const auto& items, char close, auto&& item) {
    out_ += open;
    if (!items.empty()) {
      ++level_;
      bool first = true;
      for (const auto& each : items) {
        if (!std::exchange(first, false)) out_ += ',';
        newline();
        item(each);
      }
      --level_;
      newline();
    }
    out_ += close;
  }

  void append_double(double number) {
    if (!std::isfinite(number)) {
      out_ += "null";
      return;
    }
    const std::size_t begin = out_.size();
    append_json_double(out_, number);
    if (exact_ && out_.find_first_of(".e", begin) == std::string::npos) out_ += ".0";
  }

  void newline() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(level_ * 2, ' ');
  }

  std::string& out_;
  std::size_t level_ = 0;
  bool pretty_ = false;
  bool exact_ = false;
};

}  // namespace

std::string to_json(const Value& value, JsonStyle style) {
  std::string out;
  JsonPrinter(out, style).print(value);
  return out;
}

}  // namespace mist::encoding
