#include "apply/wait/waiting_rules.h"

#include "base/duration.h"
#include "base/text.h"

namespace mist::apply {

using apimachinery::JsonPath;
using apimachinery::scalar_text;
using encoding::Value;

namespace {

// Where the path ends and the comparison begins: the first = or != outside of brackets and quotes.
std::size_t end_of_path(std::string_view text) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (depth <= 0 && (c == '=' || (c == '!' && i + 1 < text.size() && text[i + 1] == '='))) {
      return i;
    }
  }
  return text.size();
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

Error at_annotation(Error failure, const Value& value) {
  if (value.position().line != 0)
    failure.where = SourceLocation{
        .file = {}, .line = value.position().line, .column = value.position().column, .excerpt = {}};
  return failure;
}

// The text of an annotation; nullopt: there is none.
Result<std::optional<std::string_view>> annotation(const Value& object, std::string_view name,
                                                   const Value*& value) {
  value = object.at_path({"metadata", "annotations", name});
  if (value == nullptr || value->is_null()) return std::optional<std::string_view>();
  if (!value->is_string())
    return at_annotation(
        error(ErrorKind::Invalid, "the annotation {} must be a string: put it in quotes", name), *value);
  return std::optional<std::string_view>(value->as_string());
}

}  // namespace

Result<ReadyWhen> ReadyWhen::parse(std::string_view text) {
  text = trim(text);
  const std::size_t end = end_of_path(text);
  MIST_TRY(JsonPath path, JsonPath::parse(trim(text.substr(0, end))));
  if (end == text.size()) return ReadyWhen(std::move(path), Comparison::Exists, {});
  const bool negated = text[end] == '!';
  std::string_view value = text.substr(end + (negated ? 2 : 1));
  if (value.starts_with('=')) value.remove_prefix(1);
  value = trim(value);
  if (value.empty()) return error(ErrorKind::Invalid, "\"{}\" compares with nothing", escape_controls(text));
  return ReadyWhen(std::move(path), negated ? Comparison::NotEqual : Comparison::Equal,
                   std::string(unquoted(value)));
}

bool ReadyWhen::satisfied_by(const Value& found) const {
  switch (comparison_) {
    case Comparison::Exists:
      return !found.empty();
    case Comparison::Equal:
      return scalar_text(found) == value_;
    case Comparison::NotEqual:
      return scalar_text(found) != value_;
  }
  return false;
}

bool ReadyWhen::holds(const Value& live) const {
  const std::vector<const Value*> found = path_.select(live);
  if (found.empty()) return false;
  for (const Value* value : found)
    if (!satisfied_by(*value)) return false;
  return true;
}

std::string ReadyWhen::explain(const Value& live) const {
  for (const Value* value : path_.select(live)) {
    if (satisfied_by(*value)) continue;
    std::string text = scalar_text(*value);
    constexpr std::size_t kShown = 100;
    if (text.size() > kShown) text = text.substr(0, kShown) + "…";
    if (comparison_ == Comparison::Exists) return fmt::format("{} is empty", path_.text());
    if (comparison_ == Comparison::NotEqual) return fmt::format("{} is still {}", path_.text(), text);
    return fmt::format("{} is {}, not {}", path_.text(), text.empty() ? "empty" : text, value_);
  }
  return fmt::format("{} is not there yet", path_.text());
}

Result<WaitingRules> waiting_rules(const Value& object) {
  WaitingRules rules;
  const Value* value = nullptr;
  MIST_TRY(const auto ready_when, annotation(object, kReadyWhenAnnotation, value));
  if (ready_when) {
    auto parsed = ReadyWhen::parse(*ready_when);
    if (!parsed.ok())
      return at_annotation(
          error(ErrorKind::Invalid, "the annotation {} can't be read", kReadyWhenAnnotation)
              .with_because(parsed.error().message)
              .with_hint("write a JSONPath and the value that it must have: '{.status.phase}=Running'"),
          *value);
    rules.ready_when = *std::move(parsed);
  }
  MIST_TRY(const auto timeout, annotation(object, kTimeoutAnnotation, value));
  if (timeout) {
    auto parsed = parse_duration(trim(*timeout));
    if (!parsed.ok() || *parsed <= Duration::zero())
      return at_annotation(error(ErrorKind::Invalid, "the annotation {} can't be read", kTimeoutAnnotation)
                               .with_because(parsed.ok() ? fmt::format("\"{}\" is not more than nothing",
                                                                       escape_controls(*timeout))
                                                         : parsed.error().message)
                               .with_hint("write a number with a unit each: 45s, 10m, 1h30m"),
                           *value);
    rules.timeout = *parsed;
  }
  return rules;
}

}  // namespace mist::apply
