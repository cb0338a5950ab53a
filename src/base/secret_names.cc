#include "base/secret_names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace mist {
namespace {

// Anywhere in the name.
constexpr std::array<std::string_view, 10> kWords = {"token",      "secret",  "passw",   "credential",
                                                     "signature",  "apikey",  "api_key", "accesskey",
                                                     "access_key", "security"};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Too short to be looked for inside of other words.
bool has_part(std::string_view name, std::string_view part) {
  for (auto at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const auto end = at + part.size();
    if ((at == 0 || !is_alphanumeric(name[at - 1])) && (end == name.size() || !is_alphanumeric(name[end])))
      return true;
  }
  return false;
}

}  // namespace

bool names_secret(std::string_view name) {
  const std::string lower = lower_case(name);
  return has_part(lower, "sig") || std::ranges::any_of(kWords, [&](std::string_view word) {
           return lower.find(word) != std::string::npos;
         });
}

}  // namespace mist
