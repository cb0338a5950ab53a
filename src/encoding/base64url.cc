#include "encoding/base64url.h"

#include <algorithm>

#include "base/text.h"

namespace mist::encoding {

Result<std::string> base64url_decode(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '+' || c == '/' || c == '=') return error(ErrorKind::Invalid, "a text is not base64url");
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (plain.size() % 4 != 0) plain += '=';
  std::string bytes;
  if (!base64_decode(plain, bytes)) return error(ErrorKind::Invalid, "a text is not base64url");
  return bytes;
}

std::string base64url_encode(std::string_view bytes) {
  std::string text = base64_encode(bytes);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  while (text.ends_with('=')) text.pop_back();
  return text;
}

}  // namespace mist::encoding
