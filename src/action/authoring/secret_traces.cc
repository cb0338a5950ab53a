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
  std::string large = text;
  std::ranges::transform(large, large.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  forms.push_back(std::move(large));
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

}  // namespace

SecretTraces::SecretTraces(const std::vector<std::string>& secrets)
    : mask_([&] {
        std::vector<std::string> forms;
        for (const std::string& secret : secrets) {
          add_forms(secret, forms);
          if (std::string bytes; base64_decode(secret, bytes)) add_forms(bytes, forms);
          if (secret.find('\n') == std::string::npos) continue;
          for (const std::string_view line : split(secret, '\n'))
            if (line.size() >= kShortestLine && !line.starts_with("-----")) add_forms(line, forms);
        }
        return TextMask(std::move(forms));
      }()) {}

}  // namespace mist::action
