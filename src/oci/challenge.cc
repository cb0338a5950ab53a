#include "oci/challenge.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.h"

namespace mist::oci {
namespace {

constexpr std::size_t kMaxHeader = 16 << 10;

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }

  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }

  std::string token() {
    const auto end = std::ranges::find_if_not(rest_, is_token_character);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // A quoted string, or a token.
  std::string value() {
    if (!take('"')) return token();
    std::string text;
    while (!rest_.empty() && !take('"')) {
      if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    return text;
  }

 private:
  std::string_view rest_;
};

// The member that a parameter belongs to; null: none.
std::string* member_of(Challenge& challenge, std::string_view name) {
  return name == "realm"     ? &challenge.realm
         : name == "service" ? &challenge.service
         : name == "scope"   ? &challenge.scope
         : name == "error"   ? &challenge.problem
                             : nullptr;
}

}  // namespace

std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> found;
  if (header.size() > kMaxHeader) return found;
  HeaderReader reader(header);
  bool known = false;  // the challenge that the parameters belong to
  while (!reader.at_end()) {
    reader.skip(" \t,");
    const std::string word = lower_case(reader.token());
    if (word.empty()) break;
    reader.skip(" \t");
    if (!reader.take('=')) {
      known = word == "basic" || word == "bearer";
      if (known)
        found.push_back({.scheme = word == "basic" ? Challenge::Scheme::Basic : Challenge::Scheme::Bearer,
                         .realm = {},
                         .service = {},
                         .scope = {},
                         .problem = {}});
      continue;
    }
    reader.skip(" \t");
    std::string value = reader.value();
    if (std::string* const member = known ? member_of(found.back(), word) : nullptr; member != nullptr)
      *member = std::move(value);
  }
  return found;
}

std::string scope_of(std::string_view repository, Access access) {
  const auto actions = [&]() -> std::string_view {
    switch (access) {
      case Access::Pull:
        return "pull";
      case Access::Push:
        return "pull,push";
      case Access::Delete:
        return "pull,delete";
    }
    return "pull";
  };
  return fmt::format("repository:{}:{}", repository, actions());
}

}  // namespace mist::oci
