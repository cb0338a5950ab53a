#include "view/drawing_text.h"

#include "base/text.h"

namespace mist::view {

std::string dot_text(std::string_view text) {
  std::string result;
  for (const char c : escape_controls(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string mermaid_text(std::string_view text) {
  std::string result;
  for (const char c : escape_controls(text)) {
    if (c == '"')
      result += "#quot;";
    else
      result += c;
  }
  return result;
}

}  // namespace mist::view
