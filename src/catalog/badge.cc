#include "catalog/badge.h"

#include "catalog/markup.h"

namespace mist::catalog {
namespace {

// Each with white text has a contrast of 4.5 at least.
std::string_view color_of(std::optional<VersionState> state) {
  if (!state) return "#595959";
  switch (*state) {
    case VersionState::Passed:
      return "#1a7f37";
    case VersionState::Failed:
      return "#b42318";
    case VersionState::Queued:
    case VersionState::Testing:
      return "#8a5a00";
  }
  return "#595959";
}

// No font of the reader is known here: about as wide as in Verdana, which textLength then holds.
std::size_t width_of(std::string_view text) {
  std::size_t tenths = 0;
  for (const char c : text) {
    const bool is_narrow = std::string_view("fijlrt-.1").find(c) != std::string_view::npos;
    tenths += is_narrow ? 43 : c == 'm' || c == 'w' ? 98 : 69;
  }
  return (tenths + 5) / 10;
}

}  // namespace

std::string badge(const std::string& label, std::optional<VersionState> state) {
  const std::string_view words = state ? to_string(*state) : "unknown";
  const std::size_t left = width_of(label) + 12;
  const std::size_t right = width_of(words) + 12;
  return markup(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"20\" role=\"img\" "
             "aria-label=\"{}: {}\"><title>{}: {}</title>"
             "<rect width=\"{}\" height=\"20\" rx=\"3\" fill=\"#424242\"/>"
             "<path d=\"M{} 0h{}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{}z\" fill=\"{}\"/>"
             "<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">"
             "<text x=\"6\" y=\"14\" textLength=\"{}\">{}</text>"
             "<text x=\"{}\" y=\"14\" textLength=\"{}\">{}</text></g></svg>\n",
             left + right, label, words, label, words, left + right, left, right - 3, right - 3,
             color_of(state), left - 12, label, left + 6, right - 12, words)
      .text();
}

}  // namespace mist::catalog
