#pragma once
// SecretString: text that must not reach a log, a process list or an error. It formats as ***; only reveal()
// gives the bytes, so a search for `reveal(` finds every place where a secret leaves the type.

#include <fmt/core.h>

#include <string>
#include <utility>

namespace mist {

class SecretString {
 public:
  SecretString() = default;
  explicit SecretString(std::string text) : text_(std::move(text)) {}

  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const SecretString&, const SecretString&) = default;

 private:
  std::string text_;
};

}  // namespace mist

template <>
struct fmt::formatter<mist::SecretString> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const mist::SecretString&, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "***");
  }
};
