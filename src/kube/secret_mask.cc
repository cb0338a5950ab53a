#include "kube/secret_mask.h"

#include <array>
#include <memory>
#include <vector>

#include "base/text.h"
#include "base/text_mask.h"
#include "encoding/json.h"

namespace mist::kube {
namespace {

using encoding::Value;

constexpr std::string_view kHidden = "(hidden)";
// Shorter texts stand in words by chance ("1", "on"); those are only hidden where the server says that it
// quotes a value.
constexpr std::size_t kShortest = 4;

// Words of the API machinery before a value that it quotes (apimachinery's field.Error; the typed values of
// structured-merge-diff; encoding/json).
constexpr std::array<std::string_view, 6> kQuotes{
    "Invalid value: ", "Unsupported value: ",     "Duplicate value: ",
    "Value:",          "illegal base64 data in ", "looking for beginning of value: "};

void add(std::vector<std::string>& secrets, std::string text) {
  if (text.size() >= kShortest) secrets.push_back(std::move(text));
}

// Every scalar, as it is, decoded, and as JSON or Go would quote it.
void collect(const Value& value, std::vector<std::string>& secrets) {
  if (value.is_object()) {
    for (const Value::Member& member : value.as_object()) collect(member.value, secrets);
  } else if (value.is_array()) {
    for (const Value& item : value.as_array()) collect(item, secrets);
  } else if (value.is_string()) {
    const std::string& text = value.as_string();
    add(secrets, text);
    if (std::string plain; base64_decode(text, plain)) add(secrets, std::move(plain));
    std::string quoted = encoding::to_json(value);
    add(secrets, quoted.substr(1, quoted.size() - 2));
  } else if (!value.is_null() && !value.is_bool()) {
    add(secrets, encoding::to_json(value));
  }
}

std::vector<std::string> secrets_of(const Value& sent) {
  std::vector<std::string> secrets;
  for (const std::string_view part : {"data", "stringData"})
    if (const Value* values = sent.find(part)) collect(*values, secrets);
  // The annotation of `kubectl apply` holds the applied values once more.
  if (const std::string_view applied =
          sent.string_at({"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"});
      !applied.empty())
    add(secrets, std::string(applied));
  return secrets;
}

// Where a quoted value ends: at its closing quote, else before what can't belong to it.
std::size_t end_of_value(std::string_view text, std::size_t begin) {
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'' || text[begin] == '`')) {
    const char quote = text[begin];
    for (std::size_t i = begin + 1; i < text.size(); ++i) {
      if (text[i] == '\\' && quote != '`')
        ++i;
      else if (text[i] == quote)
        return i + 1;
    }
    return text.size();
  }
  // map[a:b], {…}, []string{…}: to the bracket that closes the first one.
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') {
      if (depth == 0) return i;
      --depth;
    }
    if (depth == 0 && (c == '\n' || c == ',' || (c == ':' && i + 1 < text.size() && text[i + 1] == ' ')))
      return i;
  }
  return text.size();
}

// "metadata.name: Invalid value: …": names are no secrets, and the user needs them.
bool about_metadata(std::string_view before) {
  if (!before.ends_with(": ")) return false;
  before.remove_suffix(2);
  const std::size_t space = before.find_last_of(" [\n");
  const std::string_view field = space == std::string_view::npos ? before : before.substr(space + 1);
  return field == "metadata" || field.starts_with("metadata.");
}

// One pass for each mark: what is cut out of the middle of a text would move its end each time.
std::string without_quoted(std::string text) {
  for (const std::string_view mark : kQuotes) {
    std::string out;
    std::size_t copied = 0;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      const std::string_view whole = text;
      const bool names = about_metadata(whole.substr(copied, at - copied));
      at += mark.size();
      if (names) continue;
      const std::size_t end = end_of_value(whole, at);
      if (whole.substr(at, end - at).find_first_not_of(' ') == std::string_view::npos) continue;
      out += whole.substr(copied, at - copied);
      out += kHidden;
      copied = at = end;
    }
    if (copied > 0) text = out + text.substr(copied);
  }
  return text;
}

std::string without(std::string text, const TextMask& mask) {
  return without_quoted(mask.masked(std::move(text), kHidden));
}

Error without(Error failure, const TextMask& mask) {
  failure.message = without(std::move(failure.message), mask);
  failure.because = without(std::move(failure.because), mask);
  failure.hint = without(std::move(failure.hint), mask);
  for (std::string& frame : failure.frames) frame = without(std::move(frame), mask);
  if (failure.cause) failure.cause = std::make_shared<const Error>(without(*failure.cause, mask));
  return failure;
}

}  // namespace

bool about_secrets(std::string_view object) {
  return object == "Secret" || object.starts_with("Secret ") || object == "secrets" ||
         object.starts_with("secrets ");
}

std::string mask_secret_values(std::string_view text, const Value& sent) {
  return without(std::string(text), TextMask(secrets_of(sent)));
}

Error mask_secret_values(Error failure, const Value& sent) {
  return without(std::move(failure), TextMask(secrets_of(sent)));
}

}  // namespace mist::kube
