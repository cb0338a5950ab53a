#include "apimachinery/json_path.h"

#include <charconv>
#include <optional>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::apimachinery {

using encoding::Value;

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Step>> parse() {
    skip_spaces();
    const bool braces = take('{');
    skip_spaces();
    (void)take('$');
    std::vector<Step> steps;
    while (true) {
      skip_spaces();
      if (at_end() || peek() == '}') break;
      MIST_TRY(Step step, next_step(steps.empty()));
      steps.push_back(std::move(step));
    }
    if (braces && !take('}')) return wrong("the closing } is missing");
    skip_spaces();
    if (!at_end()) return wrong(braces ? "nothing may follow the closing }" : "there is no { for this }");
    if (steps.empty()) return wrong("it names no field");
    return steps;
  }

 private:
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/' || static_cast<unsigned char>(c) >= 0x80;
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (!at_end() && (peek() == ' ' || peek() == '\t')) ++at_;
  }
  Error wrong(std::string_view what) const {
    return error(ErrorKind::Invalid, "\"{}\" is not a JSONPath: {} (at character {})", escape_controls(text_),
                 what, at_ + 1);
  }

  Result<Step> next_step(bool first) {
    if (take('[')) return bracket();
    if (take('.')) {
      if (!at_end() && peek() == '.') return wrong("the recursive .. is not supported");
      if (take('*')) return Step{.kind = StepKind::All};
      if (take('[')) return bracket();
    } else if (!first) {
      return wrong("a . or a [ is missing");
    }
    std::string name = member_name();
    if (name.empty()) return wrong("the name of a field is missing");
    return Step{.kind = StepKind::Member, .member = std::move(name)};
  }

  // `a\.b` is the member "a.b".
  std::string member_name() {
    std::string name;
    while (!at_end()) {
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        name += text_[at_ + 1];
        at_ += 2;
      } else if (is_name(peek())) {
        name += text_[at_++];
      } else {
        break;
      }
    }
    return name;
  }

  Result<Step> bracket() {
    skip_spaces();
    Step step;
    if (at_end()) return wrong("the closing ] is missing");
    if (take('*')) {
      step.kind = StepKind::All;
    } else if (peek() == '\'' || peek() == '"') {
      MIST_TRY(step.member, quoted());
    } else if (take('?')) {
      MIST_TRY(step, filter());
    } else {
      const std::size_t begin = at_;
      if (peek() == '-') ++at_;
      while (!at_end() && peek() >= '0' && peek() <= '9') ++at_;
      const std::string_view digits = text_.substr(begin, at_ - begin);
      const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), step.index);
      if (failure != std::errc() || end != digits.data() + digits.size()) {
        at_ = begin;
        return wrong("[ ] holds a number, a quoted name, * or ?( )");
      }
      if (!at_end() && (peek() == ':' || peek() == ',')) return wrong("slices and unions are not supported");
      step.kind = StepKind::Index;
    }
    skip_spaces();
    if (!take(']')) return wrong("the closing ] is missing");
    return step;
  }

  Result<std::string> quoted() {
    const char quote = text_[at_++];
    std::string name;
    while (!at_end() && peek() != quote) {
      if (peek() == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_++];
    }
    if (!take(quote)) return wrong("a quote is not closed");
    return name;
  }

  // ?(@.type=="Ready"), with or without spaces.
  Result<Step> filter() {
    // One in another would recurse as deep as somebody's text is long.
    if (in_filter_) return wrong("only fields can stand below @");
    in_filter_ = true;
    Step step{.kind = StepKind::Filter};
    if (!take('(')) return wrong("a filter is written ?( )");
    skip_spaces();
    if (!take('@')) return wrong("a filter begins with @");
    while (!at_end() && (peek() == '.' || peek() == '[')) {
      MIST_TRY(Step inner, next_step(false));
      if (inner.kind != StepKind::Member) return wrong("only fields can stand below @");
      step.filter.push_back(std::move(inner.member));
    }
    skip_spaces();
    if (take('=')) {
      if (!take('=')) return wrong("equality is written ==");
      step.comparison = Comparison::Equal;
    } else if (take('!')) {
      if (!take('=')) return wrong("inequality is written !=");
      step.comparison = Comparison::NotEqual;
    } else if (!at_end() && (peek() == '<' || peek() == '>')) {
      return wrong("only == and != are supported");
    }
    skip_spaces();
    if (step.comparison != Comparison::Exists) {
      MIST_TRY(step.operand, operand());
      skip_spaces();
    }
    if (!take(')')) return wrong("the closing ) is missing");
    in_filter_ = false;
    return step;
  }

  Result<Value> operand() {
    if (at_end()) return wrong("a value is missing");
    if (peek() == '\'' || peek() == '"') {
      MIST_TRY(std::string text, quoted());
      return Value(std::move(text));
    }
    const std::size_t begin = at_;
    while (!at_end() && peek() != ')' && peek() != ' ') ++at_;
    auto scalar = encoding::parse_json(text_.substr(begin, at_ - begin));
    if (scalar.ok() && !scalar->is_object() && !scalar->is_array()) return *std::move(scalar);
    at_ = begin;
    return wrong("a value is a quoted text, a number, true or false");
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  bool in_filter_ = false;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  path.text_ = text;
  MIST_TRY(path.steps_, Parser(text).parse());
  return path;
}

bool JsonPath::holds(const Step& step, const Value& item) {
  const Value* at = &item;
  for (const std::string& member : step.filter) {
    at = at->find(member);
    if (at == nullptr) return false;
  }
  if (step.comparison == Comparison::Exists) return true;
  const bool equal =
      scalar_text(*at) == scalar_text(step.operand) && at->is_string() == step.operand.is_string();
  return equal == (step.comparison == Comparison::Equal);
}

void JsonPath::follow(const Step& step, const Value& from, std::vector<const Value*>& to) {
  switch (step.kind) {
    case StepKind::Member:
      if (const Value* found = from.find(step.member)) to.push_back(found);
      return;
    case StepKind::Index: {
      if (!from.is_array()) return;
      const auto size = static_cast<std::int64_t>(from.size());
      const std::int64_t index = step.index < 0 ? size + step.index : step.index;
      if (index >= 0 && index < size) to.push_back(&from.as_array()[static_cast<std::size_t>(index)]);
      return;
    }
    case StepKind::All:
    case StepKind::Filter:
      if (from.is_array()) {
        for (const Value& item : from.as_array())
          if (step.kind == StepKind::All || holds(step, item)) to.push_back(&item);
      } else if (from.is_object()) {
        for (const Value::Member& member : from.as_object())
          if (step.kind == StepKind::All || holds(step, member.value)) to.push_back(&member.value);
      }
      return;
  }
}

std::vector<const Value*> JsonPath::select(const Value& root) const {
  std::vector<const Value*> found = {&root};
  for (const Step& step : steps_) {
    std::vector<const Value*> next;
    for (const Value* from : found) follow(step, *from, next);
    found = std::move(next);
  }
  return found;
}

std::string scalar_text(const Value& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_null()) return {};
  return encoding::to_json(value);
}

}  // namespace mist::apimachinery
