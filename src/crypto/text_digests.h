#pragma once
// The digests that templates make of texts: to recognise a secret's in a message, for nothing else. Pure; any
// thread.

#include <string>
#include <string_view>
#include <vector>

namespace mist::crypto {

/// MD5, SHA-1, SHA-256 and SHA-512 of the text, each in lower-case hexadecimal digits.
std::vector<std::string> text_digests(std::string_view text);

}  // namespace mist::crypto
