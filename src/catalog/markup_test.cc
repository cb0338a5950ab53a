#include "catalog/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mist::catalog {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Markup, EscapesAllThatIsNotMarkup) {
  const std::string hostile = "<script>alert(\"1\" + '2')</script> & \x01\xff\u202e";
  const std::string text = markup("<p title=\"{}\">{}</p>", hostile, markup("<b>{}</b>", hostile)).text();
  EXPECT_THAT(text,
              HasSubstr("<p title=\"&lt;script&gt;alert(&quot;1&quot; + &#39;2&#39;)&lt;/script&gt; &amp; "));
  EXPECT_THAT(text, HasSubstr("<b>&lt;script&gt;"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
}

TEST(Markup, LinksOnlyToTheWeb) {
  EXPECT_EQ(link("https://example.com/?a=1&b=\"", "x").text(),
            "<a href=\"https://example.com/?a=1&amp;b=&quot;\" rel=\"nofollow ugc noopener\">x</a>");
  for (const char* url :
       {"javascript:alert(1)", " javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x",
        "vbscript:x", "//evil", "java\nscript:x", "", "https://user@evil.example/"})
    EXPECT_EQ(link(url, "<x>").text(), "&lt;x&gt;") << url;
}

TEST(Markdown, HasWhatReadmesHave) {
  const std::string html = markdown(
                               "# Title\n\nSome *soft* and **loud** `code <b>` text with a\n"
                               "[link](https://example.com/a) and snake_case_name.\n\n"
                               "- one\n- two\n  goes on\n\n1. first\n\n> quoted\n\n"
                               "```yaml\na: <1>\n```\n\n    indented\n\n| a | b |\n|---|---|\n| 1 | `2` |\n")
                               .text();
  for (const char* piece :
       {"<h3>Title</h3>", "<em>soft</em>", "<strong>loud</strong>", "<code>code &lt;b&gt;</code>",
        "<a href=\"https://example.com/a\" rel=\"nofollow ugc noopener\">link</a>", "snake_case_name",
        "<li>two goes on</li>", "<ol>\n<li>first</li>", "<blockquote><p>quoted</p></blockquote>",
        "<code>a: &lt;1&gt;\n</code>", "<code>indented\n</code>", "<th scope=\"col\">a</th>",
        "<td><code>2</code></td>"})
    EXPECT_THAT(html, HasSubstr(piece));
}

TEST(Markdown, LinksMayHoldBracketsCodeAndBadges) {
  const auto linked = [](const char* url, const char* words) {
    return fmt::format("<p><a href=\"{}\" rel=\"nofollow ugc noopener\">{}</a></p>\n", url, words);
  };
  EXPECT_EQ(markdown("[Tree](https://example.com/Tree_(plant))").text(),
            linked("https://example.com/Tree_(plant)", "Tree"));
  EXPECT_EQ(markdown("[a [b]](https://example.com/)").text(), linked("https://example.com/", "a [b]"));
  EXPECT_EQ(markdown("[`a` *b*](https://example.com/)").text(),
            linked("https://example.com/", "<code>a</code> <em>b</em>"));
  EXPECT_EQ(markdown("[![etcd](https://example.com/badge.svg)](https://example.com/etcd)").text(),
            linked("https://example.com/etcd", "etcd"));
  EXPECT_EQ(markdown("[a <https://b.example/>](https://example.com/)").text(),
            linked("https://example.com/", "a &lt;https://b.example/&gt;"));
}

TEST(Markdown, NothingInItIsMarkup) {
  const std::string html =
      markdown(
          "<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://tracker.example/p.png)\n\n"
          "<img src=x onerror=alert(1)>\n\n[a\"onclick=\"b](https://example.com/\"onmouseover=\"x)\n\n"
          "<javascript:alert(1)>\n\n# <h1>\n\n| <td> |\n\n```\n</code></pre><script>\n```\n")
          .text();
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("href=\"javascript")));
  EXPECT_THAT(html, Not(HasSubstr("tracker.example")));
  EXPECT_THAT(html, Not(HasSubstr("\"onmouseover=\"")));
  EXPECT_THAT(html, Not(HasSubstr("\"onclick=\"")));
}

// Each of these would take for ever in a parser that goes back.
TEST(Markup, AFormSendsBackWhatItWasGiven) {
  const std::string text = "\U0001F469\u200D\U0001F680 \u0645\u06CC\u200C\u062E <\"'&>";
  EXPECT_EQ(markup("<p title=\"{}\">", FormValue{text}).text(),
            "<p title=\"\U0001F469\u200D\U0001F680 \u0645\u06CC\u200C\u062E &lt;&quot;&#39;&amp;&gt;\">");
  EXPECT_EQ(markup("{}", FormValue{"\xff<"}).text(), "\\xff&lt;") << "pages are UTF-8";
  EXPECT_EQ(with_line_feeds("a\r\nb\rc\r\n\r"), "a\nb\rc\n\r");
}

TEST(Markdown, HostileTextTakesLittleTime) {
  for (const std::string& piece :
       {std::string("["), std::string("*a "), std::string("`"), std::string("**a"), std::string("![a]("),
        std::string("<"), std::string("_a "), std::string("> "), std::string("| "), std::string("- "),
        std::string("[a]("), std::string("[[a](x)"), std::string("[![a](("),
        std::string(1500, '[') + std::string(1500, ']')}) {
    std::string text;
    while (text.size() < 120'000) text += piece;
    const auto began = std::chrono::steady_clock::now();
    const Markup html = markdown(text);
    EXPECT_FALSE(html.empty());
    std::string lines;
    while (lines.size() < 120'000) lines += piece + "\n";
    EXPECT_FALSE(markdown(lines).empty() && piece != "`");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5)) << piece;
  }
}

}  // namespace
}  // namespace mist::catalog
