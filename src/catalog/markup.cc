#include "catalog/markup.h"

#include <algorithm>

#include "base/text.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

constexpr std::size_t kLongestInline = 20'000;
constexpr std::size_t kLongestLink = 2'000;

bool is_web_address(std::string_view url) {
  const auto parsed = http::Url::parse(std::string(url.substr(0, url.find('#'))));
  return parsed.ok() && parsed->user.empty();
}

// One paragraph's text: code, links, strong, emphasis. Never looks back, so it takes linear time but for the
// search of each mark's end, which is bounded.
Markup inline_markup(std::string_view text, int depth = 0);

struct Piece {
  Markup markup;
  std::size_t length = 0;  // of the source; 0: it is none
};

Piece code_at(std::string_view text) {
  std::size_t ticks = text.find_first_not_of('`');
  if (ticks == text.npos) ticks = text.size();
  const std::string fence(ticks, '`');
  const auto end = text.find(fence, ticks);
  if (end == text.npos) return {};
  return {markup("<code>{}</code>", trim(text.substr(ticks, end - ticks))), end + ticks};
}

// Where what opens at `at` is closed again, brackets within it counted; npos: not in what a link may be long.
std::size_t closing(std::string_view text, std::size_t at, char open, char close) {
  int depth = 0;
  for (const std::size_t end = std::min(text.size(), at + kLongestLink); at < end; ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at;
  }
  return std::string_view::npos;
}

Piece link_at(std::string_view text, int depth);

// The words of a link hold no other link; a badge in them is its description.
Markup link_words(std::string_view words, int depth) {
  if (const Piece badge = words.starts_with('!') ? link_at(words, depth + 1) : Piece{};
      badge.length == words.size() && !words.empty())
    return badge.markup;
  return words.find_first_of("[<") == words.npos ? inline_markup(words, depth + 1) : markup("{}", words);
}

Piece link_at(std::string_view text, int depth) {
  if (depth > 3) return {};
  const bool image = text.front() == '!';
  const std::size_t begin = image ? 1 : 0;
  if (text.size() <= begin || text[begin] != '[') return {};
  const auto close = closing(text, begin, '[', ']');
  if (close == text.npos || close + 1 >= text.size() || text[close + 1] != '(') return {};
  const auto end = closing(text, close + 1, '(', ')');
  if (end == text.npos) return {};
  const std::string_view words = text.substr(begin + 1, close - begin - 1);
  std::string_view url = trim(text.substr(close + 2, end - close - 2));
  url = url.substr(0, url.find(' '));
  if (image) return {markup("{}", words), end + 1};
  if (!is_web_address(url)) return {inline_markup(words, depth + 1), end + 1};
  return {markup("<a href=\"{}\" rel=\"nofollow ugc noopener\">{}</a>", url, link_words(words, depth)),
          end + 1};
}

Piece autolink_at(std::string_view text) {
  const auto end = text.find('>');
  if (end == text.npos) return {};
  const std::string_view url = text.substr(1, end - 1);
  if (!is_web_address(url)) return {};
  return {link(url, url), end + 1};
}

Piece emphasis_at(std::string_view text, int depth) {
  if (depth > 3) return {};
  const char mark = text.front();
  const std::size_t width = text.size() > 1 && text[1] == mark ? 2 : 1;
  if (text.size() <= width || text[width] == ' ' || text[width] == mark) return {};
  const std::string_view fence = text.substr(0, width);
  const auto end = text.find(fence, width);
  if (end == text.npos || text[end - 1] == ' ') return {};
  const Markup inner = inline_markup(text.substr(width, end - width), depth + 1);
  return {width == 2 ? markup("<strong>{}</strong>", inner) : markup("<em>{}</em>", inner), end + width};
}

Piece piece_at(std::string_view text, char before, int depth) {
  switch (text.front()) {
    case '`':
      return code_at(text);
    case '!':
    case '[':
      return link_at(text, depth);
    case '<':
      return autolink_at(text);
    case '*':
      return emphasis_at(text, depth);
    case '_':  // snake_case isn't emphasis
      return std::isalnum(static_cast<unsigned char>(before)) != 0 ? Piece{} : emphasis_at(text, depth);
    default:
      return {};
  }
}

Markup inline_markup(std::string_view text, int depth) {
  if (text.size() > kLongestInline) return markup("{}", text);
  Markup out;
  std::size_t plain = 0;
  std::size_t tries = 0;
  for (std::size_t at = 0; at < text.size();) {
    // Text that is full of marks without ends isn't worth more.
    const Piece piece =
        tries < 500 ? piece_at(text.substr(at), at == 0 ? ' ' : text[at - 1], depth) : Piece{};
    if (piece.length == 0) {
      if (std::string_view("`![<*_").find(text[at]) != std::string_view::npos) ++tries;
      ++at;
      continue;
    }
    out += markup("{}", text.substr(plain, at - plain));
    out += piece.markup;
    at += piece.length;
    plain = at;
  }
  out += markup("{}", text.substr(plain));
  return out;
}

class Blocks {
 public:
  explicit Blocks(std::string_view text) : lines_(split(text, '\n')) {
    for (std::string_view& line : lines_)
      if (line.ends_with('\r')) line.remove_suffix(1);
  }

  Markup render() {
    while (at_ < lines_.size()) {
      const std::string_view line = trim(lines_[at_]);
      if (line.empty())
        ++at_;
      else if (line.starts_with("```") || line.starts_with("~~~"))
        fence(line.substr(0, 3));
      else if (level_of(line) > 0)
        heading(line);
      else if (is_rule(line))
        (out_ += markup("<hr>\n"), ++at_);
      else if (line.starts_with('>'))
        quote();
      else if (item_of(line) > 0)
        list();
      else if (lines_[at_].starts_with("    "))
        indented();
      else if (line.starts_with('|'))
        table();
      else
        paragraph();
    }
    return std::move(out_);
  }

 private:
  static std::size_t level_of(std::string_view line) {
    const auto hashes = line.find_first_not_of('#');
    return hashes != line.npos && hashes >= 1 && hashes <= 6 && line[hashes] == ' ' ? hashes : 0;
  }
  static bool is_rule(std::string_view line) {
    return line.size() >= 3 &&
           (line.find_first_not_of('-') == line.npos || line.find_first_not_of('*') == line.npos);
  }
  // Length of what begins an item; 0: it is none.
  static std::size_t item_of(std::string_view line) {
    if (line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")) return 2;
    const auto digits = line.find_first_not_of("0123456789");
    return digits != line.npos && digits >= 1 && digits <= 4 && line.substr(digits).starts_with(". ")
               ? digits + 2
               : 0;
  }
  static bool begins_block(std::string_view line) {
    return line.empty() || line.starts_with("```") || line.starts_with('>') || line.starts_with('|') ||
           level_of(line) > 0 || item_of(line) > 0 || is_rule(line);
  }

  void fence(std::string_view mark) {
    std::string code;
    for (++at_; at_ < lines_.size() && !trim(lines_[at_]).starts_with(mark); ++at_)
      code += std::string(lines_[at_]) + "\n";
    ++at_;
    out_ += markup("<pre tabindex=\"0\"><code>{}</code></pre>\n", code);
  }
  void indented() {
    std::string code;
    for (; at_ < lines_.size() && lines_[at_].starts_with("    "); ++at_)
      code += std::string(lines_[at_].substr(4)) + "\n";
    out_ += markup("<pre tabindex=\"0\"><code>{}</code></pre>\n", code);
  }
  void heading(std::string_view line) {
    // The page has a heading above them.
    const std::size_t level = std::min<std::size_t>(level_of(line) + 2, 6);
    out_ += markup("<h{}>{}</h{}>\n", level, inline_markup(trim(line.substr(level_of(line)))), level);
    ++at_;
  }
  void quote() {
    std::string text;
    for (; at_ < lines_.size() && trim(lines_[at_]).starts_with('>'); ++at_)
      text += std::string(trim(trim(lines_[at_]).substr(1))) + "\n";
    out_ += markup("<blockquote><p>{}</p></blockquote>\n", inline_markup(trim(text)));
  }
  void list() {
    const bool numbered = std::isdigit(static_cast<unsigned char>(trim(lines_[at_]).front())) != 0;
    Markup items;
    while (at_ < lines_.size() && item_of(trim(lines_[at_])) > 0) {
      const std::string_view line = trim(lines_[at_]);
      std::string text(line.substr(item_of(line)));
      for (++at_; at_ < lines_.size() && !begins_block(trim(lines_[at_])); ++at_)
        text += " " + std::string(trim(lines_[at_]));
      items += markup("<li>{}</li>\n", inline_markup(text));
    }
    out_ += numbered ? markup("<ol>\n{}</ol>\n", items) : markup("<ul>\n{}</ul>\n", items);
  }
  void table() {
    Markup rows;
    bool head = true;
    for (; at_ < lines_.size() && trim(lines_[at_]).starts_with('|'); ++at_) {
      std::string_view line = trim(lines_[at_]);
      if (line.find_first_not_of("|-: ") == line.npos) continue;
      line.remove_prefix(1);
      if (line.ends_with('|')) line.remove_suffix(1);
      Markup cells;
      for (const std::string_view cell : split(line, '|'))
        cells += head ? markup("<th scope=\"col\">{}</th>", inline_markup(trim(cell)))
                      : markup("<td>{}</td>", inline_markup(trim(cell)));
      rows += markup("<tr>{}</tr>\n", cells);
      head = false;
    }
    out_ += markup(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>\n{}</table></div>\n",
        rows);
  }
  void paragraph() {
    std::string text(trim(lines_[at_]));
    for (++at_; at_ < lines_.size() && !begins_block(trim(lines_[at_])); ++at_)
      text += "\n" + std::string(trim(lines_[at_]));
    out_ += markup("<p>{}</p>\n", inline_markup(text));
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  Markup out_;
};

std::string with_entities(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string escape_html(std::string_view text) { return with_entities(escape_controls(text, true)); }

std::string with_line_feeds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || text.substr(i + 1, 1) != "\n") out += text[i];
  return out;
}

std::string escape_html(FormValue value) {
  return is_valid_utf8(value.text) ? with_entities(value.text) : escape_html(value.text);
}

Markup link(std::string_view url, std::string_view text) {
  if (!is_web_address(url)) return markup("{}", text);
  return markup("<a href=\"{}\" rel=\"nofollow ugc noopener\">{}</a>", url, text);
}

Markup markdown(std::string_view text) { return Blocks(text).render(); }

}  // namespace mist::catalog
