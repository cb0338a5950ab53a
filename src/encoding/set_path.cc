#include "encoding/set_path.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.h"

namespace mist::encoding {
namespace {

/// Helm's bounds: a typing error shall not fill the memory.
constexpr std::size_t kMaxIndex = 65536;
constexpr std::size_t kMaxSteps = 100;

Value typed(std::string text) {
  if (const std::string word = lower_case(std::string_view(text).substr(0, 6)); word == "true")
    return true;
  else if (word == "false")
    return false;
  else if (word == "null")
    return nullptr;
  if (text == "0") return 0;
  // A leading zero or a point is part of a version or a name more often than of a number.
  if (text.empty() || text[0] == '0') return Value(std::move(text));
  const std::string_view digits = std::string_view(text).substr(text[0] == '+' ? 1 : 0);
  std::int64_t number = 0;
  const char* const begin = text.data() + (text.size() - digits.size());
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, number);
  if (!digits.starts_with("+") && !digits.empty() && read.ec == std::errc() && read.ptr == end &&
      !(text[0] == '+' && digits[0] == '-'))
    return number;
  return Value(std::move(text));
}

class PathParser {
 public:
  PathParser(std::string_view text, SetValues values, SetLists lists)
      : text_(text), values_(values), lists_(lists) {}

  Result<std::vector<SetAssignment>> assignments() {
    std::vector<SetAssignment> out;
    while (at_ < text_.size()) {
      SetAssignment one;
      MIST_TRY(one.path, path());
      if (!take('='))
        return fail(fmt::format("\"{}\" has no value", shown(to_string(one.path))),
                    out.empty()
                        ? "write key=value"
                        : "a comma begins the next key=value; write \\, for one that belongs to a value");
      if (take('{')) {
        MIST_TRY(one.value, list());
      } else {
        one.value = value(word(","));
      }
      if (at_ < text_.size() && !take(',')) return fail("a comma must follow \"}\"", "");
      out.push_back(std::move(one));
    }
    return out;
  }

  Result<std::vector<PathStep>> whole_path() {
    MIST_TRY(auto out, path());
    if (at_ < text_.size()) return fail(fmt::format("\"{}\" isn't expected in a path", text_[at_]), "");
    return out;
  }

 private:
  Result<std::vector<PathStep>> path() {
    std::vector<PathStep> steps;
    do {
      const std::size_t start = at_;
      std::string key = word(".=[,");
      if (at_ == start) return fail("a key is missing here", "keys are separated by one \".\"");
      steps.emplace_back(std::move(key));
      while (take('[')) {
        MIST_TRY(const std::size_t index, list_index());
        steps.emplace_back(index);
      }
      if (steps.size() > kMaxSteps)
        return fail(fmt::format("the path has more than {} steps", kMaxSteps), "");
    } while (take('.'));
    if (at_ < text_.size() && text_[at_] != '=' && text_[at_] != ',')
      return fail("\".\", \"[\" or \"=\" must follow \"]\"", "");
    return steps;
  }

  Result<std::size_t> list_index() {
    std::size_t index = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    const auto read = std::from_chars(begin, end, index);
    if (read.ec == std::errc::invalid_argument) return fail("an index from 0 on must follow \"[\"", "");
    if (read.ec != std::errc() || index > kMaxIndex)
      return fail(fmt::format("the index is larger than {}", kMaxIndex), "");
    at_ += static_cast<std::size_t>(read.ptr - begin);
    if (!take(']')) return fail("\"]\" is missing after the index", "");
    return index;
  }

  Result<Value> list() {
    const std::size_t open = at_ - 1;
    Value::Array items;
    while (at_ < text_.size()) {
      const std::size_t start = at_;
      std::string text = word(",}");
      const bool is_last = at_ < text_.size() && text_[at_] == '}';
      if (at_ == text_.size()) break;
      if (!is_last || at_ != start || lists_ == SetLists::AsHelm) items.push_back(value(std::move(text)));
      ++at_;
      if (is_last) return Value(std::move(items));
    }
    at_ = open;
    return fail("the list that \"{\" opens isn't closed",
                "end it with \"}\"; a text that begins with \"{\" is written \\{");
  }

  Value value(std::string text) const {
    return values_ == SetValues::Typed ? typed(std::move(text)) : Value(std::move(text));
  }

  /// Reads up to one of `ends` or the end.
  std::string word(std::string_view ends) {
    std::string out;
    for (; at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos; ++at_) {
      if (text_[at_] == '\\') ++at_;
      if (at_ == text_.size()) break;  // a backslash at the end escapes nothing
      out += text_[at_];
    }
    return out;
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  static std::string shown(std::string_view text) { return escape_controls(text.substr(0, 80)); }
  Error fail(std::string message, std::string_view hint) const {
    Error result;
    result.kind = ErrorKind::Invalid;
    result.message = std::move(message);
    result.hint = hint;
    std::uint32_t column = 1;
    for (const char c : text_.substr(0, at_))
      column += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    result.where = SourceLocation{
        .file = {}, .line = 1, .column = column, .excerpt = std::string(text_.substr(0, 2000))};
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SetValues values_;
  SetLists lists_;
};

}  // namespace

Result<std::vector<SetAssignment>> parse_set(std::string_view text, SetValues values, SetLists lists) {
  return PathParser(text, values, lists).assignments();
}

Result<std::vector<PathStep>> parse_set_path(std::string_view text) {
  return PathParser(text, SetValues::Strings, SetLists::AsMeant).whole_path();
}

std::string to_string(std::span<const PathStep> path) {
  std::string out;
  for (const PathStep& step : path) {
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      out += fmt::format("[{}]", *index);
      continue;
    }
    if (!out.empty()) out += '.';
    for (const char c : std::get<std::string>(step)) {
      if (std::string_view("\\.=[,").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::size_t items_of(std::span<const PathStep> path) {
  std::size_t items = 0;
  for (const PathStep& step : path)
    if (const auto* index = std::get_if<std::size_t>(&step))
      items += std::min(*index, std::numeric_limits<std::size_t>::max() - 1 - items);
  return items;
}

Status set_at(Value& target, std::span<const PathStep> path, Value value) {
  if (items_of(path) > kMaxIndex)
    return error(ErrorKind::Invalid, "the path \"{}\" needs more than {} list items", to_string(path),
                 kMaxIndex);
  Value* at = &target;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool wants_list = std::holds_alternative<std::size_t>(path[i]);
    if (at->is_null()) *at = wants_list ? Value(Value::Array()) : Value(Value::Object());
    if (wants_list ? !at->is_array() : !at->is_object()) {
      const std::string here = i == 0 ? "the document" : fmt::format("\"{}\"", to_string(path.first(i)));
      return error(ErrorKind::Invalid, "cannot set \"{}\": {} is of type {}, not {}", to_string(path), here,
                   kind_name(at->kind()), wants_list ? "array" : "object")
          .with_hint(i == 0 ? "" : fmt::format("set {}=null first to replace it", to_string(path.first(i))));
    }
    if (wants_list) {
      const std::size_t index = std::get<std::size_t>(path[i]);
      if (index >= at->as_array().size()) at->as_array().resize(index + 1);
      at = &at->as_array()[index];
    } else {
      at = &(*at)[std::get<std::string>(path[i])];
    }
  }
  *at = std::move(value);
  return {};
}

Status apply_set(Value& target, std::string_view text, SetValues values, SetLists lists) {
  MIST_TRY(auto assignments, parse_set(text, values, lists));
  for (SetAssignment& one : assignments) MIST_TRY_VOID(set_at(target, one.path, std::move(one.value)));
  return {};
}

}  // namespace mist::encoding
