#pragma once
// Texts that a regular expression of Go's (RE2) syntax finds itself in, for samples of contracts. Pure; any
// thread.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mist::blueprint {

/// A text of `least` to `most` characters that is made by walking through the pattern: the first alternative
/// of each group, a letter or digit where a class has one. The same pattern gives the same text. nullopt: the
/// pattern has something that this doesn't know (Unicode classes), or no text of that length was found. The
/// caller holds the text against the contract: \b is taken to hold anywhere.
std::optional<std::string> text_matching(std::string_view pattern, std::size_t least, std::size_t most);

}  // namespace mist::blueprint
