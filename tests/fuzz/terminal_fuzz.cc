// Text of strangers on a terminal: nothing is left that steers it, and what is escaped stays as it is.
#include <string>

#include "base/text.h"
#include "base/text_mask.h"
#include "targets.h"

namespace mist::fuzz {

void terminal(std::string_view bytes) {
  const std::string shown = escape_controls(bytes);
  if (!is_valid_utf8(shown)) fail("no UTF-8", shown);
  if (escape_controls(shown) != shown) fail("something is left", shown);
  for (const char c : shown)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) fail("a control character", shown);
  for (const char c : escape_controls(bytes, true))
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') fail("a control character", shown);

  // Secrets in a text: the patterns on the first lines.
  Input input(bytes);
  const std::vector<std::string> patterns{std::string(input.line()), std::string(input.line())};
  const TextMask mask(patterns);
  const std::string_view text = input.rest();
  bool there = false;
  for (const std::string& pattern : patterns)
    there = there || (!pattern.empty() && text.find(pattern) != std::string_view::npos);
  if (mask.finds(text) != there) fail("a pattern isn't found, or is found where it isn't", bytes);
  const std::string masked = mask.masked(std::string(text), "");
  if (!there && masked != text) fail("another text", masked);
  std::string base;
  (void)base64_decode(bytes, base);
  if (std::string again; !base64_decode(base64_encode(bytes), again) || again != bytes) fail("base64", bytes);
}

}  // namespace mist::fuzz
