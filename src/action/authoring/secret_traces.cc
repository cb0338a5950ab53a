#include "action/authoring/secret_traces.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "base/base64_inside.h"
#include "base/text.h"
#include "encoding/json.h"

namespace mist::action {
namespace {

constexpr std::size_t kShortest = 4;
constexpr std::size_t kShortestLine = 16;  // of a key, which a text may have with other line ends
constexpr std::size_t kShortestDigest = 32, kLongestDigest = 128;  // digits of MD5 and of SHA-512
constexpr std::string_view kAlgorithms[] = {"md5:", "sha1:", "sha224:", "sha256:", "sha384:", "sha512:"};
// Digits of a part of a secret; a digest has ten of them by chance once in 10^12 for each pair of places.
constexpr std::size_t kRun = 10;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string url_safe(std::string text) {
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::vector<std::string> base64_forms(std::string_view text) {
  std::vector<std::string> forms;
  for (std::size_t before = 0; before < 3; ++before) {
    forms.push_back(base64_inside(text, before));
    forms.push_back(url_safe(forms.back()));
  }
  return forms;
}

enum class Escapes : std::uint8_t { Needed, All };

std::string percent_encoded(std::string_view text, Escapes escapes) {
  std::string encoded;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~").contains(c);
    if (plain && escapes == Escapes::Needed)
      encoded += c;
    else
      encoded += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return encoded;
}

// With digits as they are usually written, and with large ones.
void add_hex(const std::string& text, std::vector<std::string>& forms) {
  forms.push_back(text);
  forms.push_back(upper_case(text));
}

// Only the escapes are written with large digits, and the rest of the text stays.
std::string with_large_escapes(std::string text) {
  for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1))
    for (std::size_t i = at + 1; i <= at + 2 && i < text.size(); ++i)
      text[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
  return text;
}

void add_forms(std::string_view secret, std::vector<std::string>& forms) {
  if (secret.size() < kShortest) return;
  const std::string text(secret);
  forms.push_back(text);
  forms.emplace_back(text.rbegin(), text.rend());
  for (std::string& form : base64_forms(text)) forms.push_back(std::move(form));
  // The data of a Secret is base64 already, and may be encoded once more.
  for (std::string& form : base64_forms(base64_encode(text))) forms.push_back(std::move(form));
  for (const Escapes escapes : {Escapes::Needed, Escapes::All}) {
    forms.push_back(percent_encoded(text, escapes));
    forms.push_back(with_large_escapes(forms.back()));
  }
  add_hex(hex(std::as_bytes(std::span(text))), forms);
  const std::string quoted = encoding::to_json(encoding::Value(text));
  forms.push_back(quoted.substr(1, quoted.size() - 2));
}

// Each secret, the bytes that it is the base64 of, and the lines of a key.
std::vector<std::string> all_secrets(const std::vector<std::string>& secrets) {
  std::vector<std::string> all;
  for (const std::string& secret : secrets) {
    all.push_back(secret);
    if (std::string bytes; base64_decode(secret, bytes)) all.push_back(std::move(bytes));
    if (secret.find('\n') == std::string::npos) continue;
    for (const std::string_view line : split(secret, '\n'))
      if (line.size() >= kShortestLine && !line.starts_with("-----")) all.emplace_back(line);
  }
  return all;
}

TextMask mask_of(const std::vector<std::string>& secrets) {
  std::vector<std::string> forms;
  for (const std::string& secret : all_secrets(secrets)) add_forms(secret, forms);
  return TextMask(std::move(forms));
}

// Calls `each` with every run of kRun digits in `text`, as a number.
template <typename Each>
void each_run(std::string_view text, const Each& each) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << (4 * kRun)) - 1;
  std::uint64_t number = 0;
  std::size_t length = 0;
  for (const char c : text) {
    const int digit = hex_digit(c);
    length = digit < 0 ? 0 : length + 1;
    number = ((number << 4) | static_cast<std::uint64_t>(std::max(digit, 0))) & kMask;
    if (length >= kRun) each(number);
  }
}

// Of the digits that stand in it, and of those that stand for its bytes.
void add_parts(const std::string& text, std::vector<std::uint64_t>& parts) {
  each_run(text, [&](std::uint64_t run) { parts.push_back(run); });
  for (std::size_t i = 0; i + kRun / 2 <= text.size(); ++i) {
    std::uint64_t run = 0;
    for (const char c : std::string_view(text).substr(i, kRun / 2))
      run = (run << 8) | static_cast<unsigned char>(c);
    parts.push_back(run);
  }
}

std::vector<std::uint64_t> parts_of(const std::vector<std::string>& secrets) {
  std::vector<std::uint64_t> parts;
  for (const std::string& secret : all_secrets(secrets))
    for (const std::string& text : {secret, lower_case(secret), upper_case(secret)}) {
      add_parts(text, parts);
      add_parts(std::string(text.rbegin(), text.rend()), parts);
    }
  std::ranges::sort(parts);
  const auto same = std::ranges::unique(parts);
  parts.erase(same.begin(), same.end());
  return parts;
}

}  // namespace

SecretTraces::SecretTraces(const std::vector<std::string>& secrets)
    : mask_(mask_of(secrets)), parts_(parts_of(secrets)) {}

bool SecretTraces::is_clean_digest(std::string_view text) const {
  std::string_view digits = text;
  for (const std::string_view algorithm : kAlgorithms)
    if (text.starts_with(algorithm)) digits = text.substr(algorithm.size());
  if (digits.size() < kShortestDigest || digits.size() > kLongestDigest ||
      !std::ranges::all_of(digits, [](char c) { return hex_digit(c) >= 0; }) || finds(text))
    return false;
  bool has_part = false;
  each_run(digits, [&](std::uint64_t run) { has_part |= std::ranges::binary_search(parts_, run); });
  return !has_part;
}

}  // namespace mist::action
