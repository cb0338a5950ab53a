#include "crypto/der.h"

#include "base/text.h"

namespace mist::crypto {

std::string der_element(char tag, std::string_view content) {
  std::string text(1, tag);
  if (content.size() < 0x80) {
    text += static_cast<char>(content.size());
  } else {
    std::string length;
    for (std::size_t rest = content.size(); rest > 0; rest >>= 8)
      length.insert(length.begin(), static_cast<char>(rest & 0xff));
    text += static_cast<char>(0x80 | length.size());
    text += length;
  }
  return text.append(content);
}

std::string pem_block(std::string_view label, std::string_view der) {
  constexpr std::size_t kLine = 64;
  const std::string encoded = base64_encode(der);
  std::string lines;
  for (std::size_t at = 0; at < encoded.size(); at += kLine) lines += encoded.substr(at, kLine) + "\n";
  return fmt::format("-----BEGIN {0}-----\n{1}-----END {0}-----\n", label, lines);
}

}  // namespace mist::crypto
