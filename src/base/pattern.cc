#include "base/pattern.h"

#include <regex>
#include <string>

namespace mist {
namespace {

// The library recurses for each character of both.
constexpr std::size_t kLongest = 1000;

}  // namespace

struct Pattern::Compiled {
  std::regex expression;
};

Result<Pattern> Pattern::parse(std::string_view text) {
  if (text.size() > kLongest)
    return error(ErrorKind::Invalid, "a regular expression has at most {} bytes", kLongest);
  try {
    return Pattern(std::make_shared<const Compiled>(
        Compiled{std::regex(text.begin(), text.end(), std::regex::ECMAScript)}));
  } catch (const std::regex_error& failure) {
    return error(ErrorKind::Invalid, "\"{}\" is not a regular expression", text).with_because(failure.what());
  }
}

bool Pattern::found_in(std::string_view text) const {
  if (text.size() > kLongest) return false;
  try {
    return std::regex_search(text.begin(), text.end(), compiled_->expression);
  } catch (const std::regex_error&) {
    return false;
  }
}

}  // namespace mist
