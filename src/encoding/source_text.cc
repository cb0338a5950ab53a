#include "encoding/source_text.h"

#include <algorithm>

namespace mist::encoding {
namespace {

/// A longer line (a minified document) has no excerpt that helps anybody.
constexpr std::size_t kLongestExcerpt = 2000;
constexpr std::string_view kBom = "\xef\xbb\xbf";

/// The length of the line break at `i`, as YAML 1.1 counts lines (NEL, LS and PS break too); 0: none.
std::size_t break_length(std::string_view text, std::size_t i) {
  switch (static_cast<unsigned char>(text[i])) {
    case '\n':
      return 1;
    case '\r':
      return text.substr(i + 1).starts_with('\n') ? 2 : 1;
    case 0xc2:
      return text.substr(i + 1).starts_with('\x85') ? 2 : 0;
    case 0xe2:
      return text.substr(i).starts_with("\xe2\x80\xa8") || text.substr(i).starts_with("\xe2\x80\xa9") ? 3 : 0;
    default:
      return 0;
  }
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::uint32_t narrow(std::size_t number) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(number, UINT32_MAX));
}

}  // namespace

void SourceText::find_lines() const {
  if (!starts_.empty()) return;
  starts_.push_back(text_.starts_with(kBom) ? kBom.size() : 0);
  for (std::size_t i = 0; i < text_.size();) {
    const std::size_t length = break_length(text_, i);
    if (length != 0) starts_.push_back(i + length);
    i += std::max<std::size_t>(length, 1);
  }
}

std::string_view SourceText::line_text(std::size_t line) const {
  find_lines();
  if (line == 0 || line > starts_.size()) return {};
  const std::size_t start = starts_[line - 1];
  if (line == starts_.size()) return text_.substr(start);
  std::size_t end = starts_[line];
  if (text_[end - 1] == '\n' && end - start >= 2 && text_[end - 2] == '\r')
    return text_.substr(start, end - 2 - start);
  --end;
  while (is_continuation(text_[end])) --end;
  return text_.substr(start, end - start);
}

SourceLocation SourceText::at(std::size_t line, std::size_t column) const {
  SourceLocation where{.file = file_, .line = narrow(line), .column = narrow(column), .excerpt = {}};
  // Text decoded from UTF-16 isn't shown: its bytes are no text for a terminal.
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) return where;
  const std::string_view excerpt = line_text(line);
  if (excerpt.size() <= kLongestExcerpt) where.excerpt = excerpt;
  return where;
}

SourceLocation SourceText::at_offset(std::size_t offset) const {
  find_lines();
  offset = std::min(offset, text_.size());
  const auto next = std::ranges::upper_bound(starts_, offset);
  const std::size_t line = static_cast<std::size_t>(next - starts_.begin());
  if (line == 0) return at(1, 1);
  const std::string_view before = text_.substr(starts_[line - 1], offset - starts_[line - 1]);
  const auto column =
      before.size() - static_cast<std::size_t>(std::ranges::count_if(before, is_continuation));
  return at(line, column + 1);
}

std::size_t SourceText::offset(std::size_t line, std::size_t column) const {
  find_lines();
  if (line == 0 || line > starts_.size()) return text_.size();
  const bool goes_on = line == last_line_ && column >= last_column_;
  std::size_t i = goes_on ? last_offset_ : starts_[line - 1];
  std::size_t at = goes_on ? last_column_ : 1;
  for (; i < text_.size() && at < column; ++at) {
    ++i;
    while (i < text_.size() && is_continuation(text_[i])) ++i;
  }
  last_line_ = line;
  last_column_ = at;
  last_offset_ = i;
  return i;
}

}  // namespace mist::encoding
