#pragma once
// HTML that can't hold what somebody else wrote as anything but text: everything that goes into a page is
// escaped, unless it is Markup, and Markup is only made of literals and of what was escaped. Pure; any
// thread.

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace mist::catalog {

class Markup {
 public:
  Markup() = default;
  const std::string& text() const { return text_; }
  Markup& operator+=(const Markup& more) {
    text_ += more.text_;
    return *this;
  }
  bool empty() const { return text_.empty(); }

 private:
  explicit Markup(std::string text) : text_(std::move(text)) {}
  template <std::size_t N, typename... Args>
  friend Markup markup(const char (&format)[N], const Args&... args);
  std::string text_;
};

/// For element content and for attribute values in double quotes: & < > " ', and what would change how the
/// rest is read (controls, bidirectional marks, invalid UTF-8) made visible.
std::string escape_html(std::string_view text);

/// A value in an attribute or a textarea, which a form sends back, or a file to copy: only & < > " ' are
/// escaped, so that it stays as it is, joiners of emoji and of Persian words too.
struct FormValue {
  std::string_view text;
};
std::string escape_html(FormValue value);
/// CR LF as LF.
std::string with_line_feeds(std::string_view text);

inline std::string in_markup(FormValue value) { return escape_html(value); }
inline std::string in_markup(std::string_view text) { return escape_html(text); }
inline std::string in_markup(std::integral auto number) { return std::to_string(number); }
inline const std::string& in_markup(const Markup& markup) { return markup.text(); }

/// `markup("<p class=\"a\">{}</p>", anything)`. Attributes must stand in double quotes; URLs of others go
/// through link() only.
template <std::size_t N, typename... Args>
Markup markup(const char (&format)[N], const Args&... args) {
  return Markup(fmt::format(fmt::runtime(std::string_view(format, N - 1)), in_markup(args)...));
}

/// A link to somewhere else, if `url` is an http or https URL; else the text alone.
Markup link(std::string_view url, std::string_view text);

/// Markdown as READMEs have it: headings (one level lower than written), paragraphs, lists, quotes, code,
/// tables, emphasis, links. HTML in it is text; pictures are their descriptions.
Markup markdown(std::string_view text);

}  // namespace mist::catalog
