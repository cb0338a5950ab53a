#include "blueprint/nickel_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::blueprint {
namespace {

using encoding::Value;

// Its lexer's tokens (nickel-lang-parser, lexer.rs), those that a later version may make reserved too.
constexpr auto kReserved = std::to_array<std::string_view>(
    {"Array", "Bool",   "Dyn",      "Number",   "String", "as",           "default", "doc", "else",  "false",
     "force", "forall", "fun",      "if",       "import", "in",           "include", "let", "match", "merge",
     "null",  "or",     "optional", "priority", "rec",    "not_exported", "then",    "true"});

// _*[a-zA-Z][_a-zA-Z0-9-']*
bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  const auto first = std::ranges::find_if(name, [](char c) { return c != '_'; });
  return first != name.end() && is_letter(*first) && std::ranges::all_of(name, is_part) &&
         std::ranges::find(kReserved, name) == kReserved.end();
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Nickel takes away the indentation that all lines have, and what stands on the first and last line alone.
bool fits_lines(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || is_blank(text.front()) || text.front() == '\n')
    return false;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && std::ranges::all_of(line, is_blank)) return false;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; };
    if (std::ranges::any_of(line, is_control)) return false;
  }
  return true;
}

std::string lines_literal(std::string_view text, std::size_t indent) {
  std::string marks = "%";
  while (text.find('"' + marks) != std::string_view::npos || text.find(marks + '{') != std::string_view::npos)
    marks += '%';
  std::string literal = "m" + marks + "\"\n";
  for (const std::string_view line : split(text, '\n'))
    literal += (line.empty() ? std::string() : std::string(indent + 2, ' ')) + std::string(line) + "\n";
  return literal + std::string(indent, ' ') + '"' + marks;
}

std::string member_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : fmt::format("{}.{}", path, key);
}

class Writer {
 public:
  explicit Writer(const Substitute& substitute) : substitute_(substitute) {}

  std::string expression(const Value& value, std::size_t indent, const std::string& path) const {
    if (substitute_) {
      if (std::optional<std::string> instead = substitute_(path, value)) return *std::move(instead);
    }
    if (value.is_object()) return record(value.as_object(), indent, path);
    if (value.is_array()) return list(value.as_array(), indent, path);
    if (!value.is_string()) return encoding::to_json(value);
    const std::string& text = value.as_string();
    return fits_lines(text) ? lines_literal(text, indent) : nickel_string(text);
  }

 private:
  std::string record(const Value::Object& members, std::size_t indent, const std::string& path) const {
    if (members.empty()) return "{}";
    std::string text = "{\n";
    for (const auto& [key, value] : members)
      text += fmt::format("{:{}}{},\n", "", indent + 2,
                          field(nickel_field(key), value, indent + 2, member_path(path, key)));
    return text + std::string(indent, ' ') + "}";
  }

  // A record with one field is written as a path: metadata.labels.app = "web".
  std::string field(const std::string& name, const Value& value, std::size_t indent,
                    const std::string& path) const {
    const bool replaced = substitute_ && substitute_(path, value);
    if (!replaced && value.is_object() && value.as_object().size() == 1) {
      const auto& [key, only] = value.as_object().front();
      return field(name + "." + nickel_field(key), only, indent, member_path(path, key));
    }
    return name + " = " + expression(value, indent, path);
  }

  std::string list(const Value::Array& items, std::size_t indent, const std::string& path) const {
    if (items.empty()) return "[]";
    std::string text = "[\n";
    for (std::size_t i = 0; i < items.size(); ++i)
      text += fmt::format("{:{}}{},\n", "", indent + 2,
                          expression(items[i], indent + 2, fmt::format("{}[{}]", path, i)));
    return text + std::string(indent, ' ') + "]";
  }

  const Substitute& substitute_;
};

}  // namespace

std::string nickel_string(std::string_view text) {
  std::string literal = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (c == '%' && i + 1 < text.size() && text[i + 1] == '{') {
      literal += "\\%";
    } else if (c == '\n') {
      literal += "\\n";
    } else if (c == '\r') {
      literal += "\\r";
    } else if (c == '\t') {
      literal += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      literal += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

std::string nickel_field(std::string_view name) {
  return is_identifier(name) ? std::string(name) : nickel_string(name);
}

std::string to_nickel(const Value& value, std::size_t indent, const Substitute& substitute) {
  return Writer(substitute).expression(value, indent, {});
}

}  // namespace mist::blueprint
