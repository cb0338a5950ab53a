#include "catalog/page_frame.h"

#include "base/url.h"
#include "catalog/asset_path.h"
#include "catalog/script.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

constexpr std::string_view kStyle = R"(:root {
  color-scheme: light dark;
  --back: #fff; --front: #1b1f24; --soft: #57606a; --line: #d0d7de; --box: #f6f8fa; --link: #0550ae;
  --good: #1a7f37; --bad: #b42318; --wait: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0d1117; --front: #e6edf3; --soft: #9aa4b0; --line: #30363d; --box: #161b22; --link: #79b8ff;
    --good: #3fb950; --bad: #ff8178; --wait: #d9a514;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--front);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
header, main, footer { max-width: 70rem; margin-left: auto; margin-right: auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .6rem 1.25rem;
  padding-top: .9rem; padding-bottom: .9rem; border-bottom: 1px solid var(--line); }
header .name { font-weight: 700; font-size: 1.15rem; color: var(--front); text-decoration: none; }
header form { flex: 1 1 16rem; min-width: 0; }
header nav { display: flex; flex-wrap: wrap; gap: .3rem 1.25rem; }
main { overflow-wrap: break-word; }
main:focus { outline: none; }
footer { margin-top: 3rem; padding-top: 1rem; padding-bottom: 2rem; border-top: 1px solid var(--line);
  color: var(--soft); font-size: .9rem; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1.8rem 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1.08rem; margin: 1.4rem 0 .4rem; }
h4, h5, h6 { margin: 1.1rem 0 .3rem; }
.lead { font-size: 1.12rem; color: var(--soft); margin: .2rem 0 1rem; overflow-wrap: anywhere; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .3rem .6rem; z-index: 1; }
.search { display: flex; gap: .5rem; }
input[type=search] { flex: 1; min-width: 0; font: inherit; padding: .45rem .7rem; color: var(--front);
  background: var(--back); border: 1px solid var(--soft); border-radius: .4rem; }
button { font: inherit; padding: .45rem .95rem; border: 1px solid var(--link); border-radius: .4rem;
  background: var(--link); color: var(--back); cursor: pointer; white-space: nowrap; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto; font-size: .88rem; line-height: 1.45; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
:not(pre) > code { background: var(--box); padding: .1em .3em; border-radius: .25rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
.wide { overflow-x: auto; }
.wide th, .wide td { min-width: 8rem; overflow-wrap: anywhere; }
.unbroken { white-space: nowrap; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
td ul { margin: .3rem 0 0; padding-left: 1.2rem; }
@media (max-width: 40rem) {
  .stacked tr { display: flex; flex-wrap: wrap; gap: 0 .6rem; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  .stacked th, .stacked td { min-width: 0; padding: 0; border: 0; }
  .stacked td:last-child, .stacked .whole { flex: 1 1 100%; }
  .stacked thead { position: absolute; left: -100rem; }
  .cards th, .cards td, .cards td:last-child { flex: 1 1 100%; }
  .cards .unbroken { white-space: normal; }
  .cards td:empty { display: none; }
  .cards [data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
}
ul.plain { list-style: none; padding: 0; margin: 0; }
ul.plain > li { padding: .75rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
ul.plain p { margin: .15rem 0 0; color: var(--soft); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 21rem; gap: 0 2.5rem; }
.columns > * { min-width: 0; }
.columns h2:first-child { margin-top: 1rem; }
@media (max-width: 55rem) { .columns { grid-template-columns: minmax(0, 1fr); } }
aside .wide th, aside .wide td { min-width: 0; padding-right: .6rem; }
aside .wide th { width: 100%; }
aside .wide td:last-child { white-space: nowrap; padding-right: 0; font-size: .9rem; }
dl { margin: 0; }
dt { font-weight: 600; margin-top: .8rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.state { display: inline-block; font-size: .85rem; font-weight: 600; padding: 0 .55em; border-radius: 1em;
  border: 1.5px solid currentColor; white-space: nowrap; }
.passed { color: var(--good); } .failed { color: var(--bad); }
.queued, .testing { color: var(--wait); } .skipped { color: var(--soft); }
.note { overflow-wrap: anywhere; border-left: .3rem solid var(--wait); background: var(--box); padding: .6rem 1rem; margin: 1rem 0; }
.note.bad { border-color: var(--bad); }
.soft { color: var(--soft); }
details { margin: .3rem 0; }
summary { cursor: pointer; padding: .25rem 0; }
summary .time { color: var(--soft); font-size: .9rem; white-space: nowrap; }
blockquote { margin: 1rem 0; padding: 0 1rem; border-left: .25rem solid var(--line); color: var(--soft); }
.facets { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 0 2rem; }
.facets h2 { font-size: 1rem; margin: 1rem 0 .2rem; }
.facets nav ul { list-style: none; padding: 0; margin: 0; }
.facets nav a { display: flex; justify-content: space-between; gap: .5rem; padding: .2rem .4rem;
  text-decoration: none; }
.facets nav a span:first-child { text-decoration: underline; overflow-wrap: anywhere; }
.facets nav a[aria-current] { font-weight: 700; background: var(--box); border-radius: .3rem; }
@media (max-width: 45rem) {
  .facets { grid-template-columns: minmax(0, 1fr); }
  .facets nav { margin-bottom: 1rem; }
  .facets nav ul { display: flex; flex-wrap: wrap; gap: 0 .4rem; margin-left: -.4rem; }
}
.field { margin: 0 0 1rem; }
.field p { margin: .15rem 0 0; color: var(--soft); font-size: .92rem; overflow-wrap: anywhere; }
.field label { display: block; font-weight: 600; overflow-wrap: anywhere; }
.field label .soft { font-weight: 400; }
.field label code, .field b code { background: none; padding: 0; }
.field input, .field select, .field textarea { width: 100%; font: inherit; padding: .4rem .6rem;
  color: var(--front); background: var(--back); border: 1px solid var(--soft); border-radius: .4rem; }
.field [aria-invalid] { border-color: var(--bad); border-width: 2px; }
.field ::placeholder { color: var(--soft); opacity: 1; }
fieldset { border: 1px solid var(--line); border-radius: .4rem; margin: 0 0 1rem; max-width: 40rem; }
.inline { display: inline-block; margin: .2rem .6rem .2rem 0; }
form[data-passkey] { margin-top: 1rem; }
.field { max-width: 40rem; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; }
.beside > * { min-width: 0; }
#filled { margin-top: 0; }
.beside form { margin-bottom: 1rem; }
@media (max-width: 55rem) { .beside { grid-template-columns: minmax(0, 1fr); } }
#rendered-output pre { max-height: 40rem; overflow: auto; }
.wide + form, form + .wide { margin-top: 1rem; }
form + form, form + .inline, form + details { margin-top: .6rem; }
li > .by { color: var(--front); }
.plain-text { white-space: pre-line; overflow-wrap: anywhere; }
ul.plain .plain-text { color: var(--front); }
.code { display: block; width: 14rem; max-width: 100%; }
.graph { font: .85rem system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.graph text { fill: var(--front); }
.graph .kind { fill: var(--soft); font-size: .78rem; }
.graph rect { fill: var(--box); stroke: var(--soft); }
.graph .outside rect { stroke-dasharray: 4 3; }
.graph .edge { fill: none; stroke: var(--soft); stroke-width: 1.4; }
.graph marker path { fill: var(--soft); }
@media (forced-colors: active) {
  .graph text, .graph .kind, .graph marker path { fill: CanvasText; }
  .graph rect { fill: Canvas; stroke: CanvasText; }
  .graph .edge { stroke: CanvasText; }
}
.diff span { display: block; white-space: pre; }
.diff .added { color: var(--good); } .diff .removed { color: var(--bad); } .diff .place { color: var(--soft); }
.figures { display: flex; flex-wrap: wrap; gap: .4rem 2.2rem; padding: 0; list-style: none; }
.figures b { font-size: 1.4rem; display: block; line-height: 1.2; }
)";

Markup hidden(std::string_view name, std::string_view value) {
  return value.empty() ? Markup()
                       : markup("<input type=\"hidden\" name=\"{}\" value=\"{}\">", name, FormValue{value});
}

// A search for somebody who asked for `path`: the name of a package, or the words of another address.
// Empty: the path is of an account, or has no word.
std::string words_of(std::string_view path) {
  constexpr std::size_t kLongest = 60;
  constexpr std::string_view kPackages = "/packages/";
  for (const std::string_view own :
       {"/account", "/admin", "/login", "/logout", "/register", "/search", "/assets"})
    if (path.starts_with(own)) return {};
  if (path.starts_with(kPackages)) {
    path.remove_prefix(kPackages.size());
    path = path.substr(0, path.find('/'));
  }
  std::string search;
  const std::string plain = percent_decoded(path);
  for (const char c : plain.substr(0, kLongest)) {
    const bool is_of_word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (is_of_word)
      search += c;
    else if (!search.empty() && search.back() != ' ')
      search += ' ';
  }
  while (search.ends_with(' ')) search.pop_back();
  return search;
}

Markup onward_links(const PageFrame& frame, std::string_view path) {
  const std::string words = words_of(path);
  return markup(
      "<ul class=\"onward\" aria-label=\"Where to go from here\">\n<li><a href=\"/\">Start "
      "page</a></li>\n{}{}</ul>\n",
      words.empty()
          ? markup("<li><a href=\"/search\">All packages</a></li>\n")
          : markup("<li><a href=\"/search?q={}\">Search for {}</a></li>\n", http::escape_query(words), words),
      frame.account.empty() ? Markup() : markup("<li><a href=\"/account\">Your account</a></li>\n"));
}

}  // namespace

std::string_view state_text(const Narrowing& narrowing) {
  return narrowing.state ? to_string(*narrowing.state) : std::string_view();
}

// `form`: the search of all pages, as this one has it; live pages have the script.
Markup frame_of(const PageFrame& frame, std::string_view title, const Markup& form, const Markup& content,
                Live live) {
  return markup(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"stylesheet\" href=\"{}\">\n"
      "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n{}</head>\n<body>\n"
      "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
      "<header><a class=\"name\" href=\"/\">Mistletoe catalog</a>\n"
      "{}"
      "<nav aria-label=\"Catalog\"><a href=\"/search\">All packages</a><a "
      "href=\"/submit\">Submit</a>{}</nav>"
      "</header>\n<main id=\"content\" tabindex=\"-1\">\n{}</main>\n"
      "<footer>{} &middot; <a href=\"/api/v1/openapi.json\">REST API</a></footer>\n</body>\n</html>\n",
      title, style_path(),
      live == Live::Yes ? markup("<script src=\"{}\" defer></script>\n", script_path()) : Markup(), form,
      frame.account.empty() ? markup("<a href=\"/login\">Sign in</a>")
                            : markup("<a href=\"/account\">{}</a>", frame.account),
      content, frame.url);
}

// A search that is narrowed stays so while other words are typed.
Markup search_form(const Search& search, Live live) {
  return markup(
      "<form class=\"search\" action=\"/search\" role=\"search\"{}><input type=\"search\" name=\"q\" "
      "value=\"{}\" aria-label=\"Search packages\" placeholder=\"Search packages\" autocomplete=\"off\">{}{}"
      "<button>Search</button></form>\n",
      live == Live::Yes ? markup(" data-live=\"heading count results\"") : Markup(), FormValue{search.query},
      hidden("format", search.narrowing.format), hidden("state", state_text(search.narrowing)));
}

Markup frame_of(const PageFrame& frame, std::string_view title, const Markup& content, Live live) {
  return frame_of(frame, title, search_form({}, Live::No), content, live);
}

Markup state_mark(VersionState state) {
  return markup("<span class=\"state {}\">{}</span>", to_string(state), to_string(state));
}

std::string package_path(std::string_view package) { return "/packages/" + http::escape_segment(package); }
std::string version_path(std::string_view package, std::string_view version) {
  return package_path(package) + "/" + http::escape_segment(version);
}
std::string version_path(const Version& version) { return version_path(version.package, version.version); }

Markup code_block(std::string_view text) {
  return markup("<pre tabindex=\"0\"><code>{}</code></pre>\n", text);
}

Markup file_block(std::string_view text) {
  return markup("<pre tabindex=\"0\"><code>{}</code></pre>\n", FormValue{text});
}

Markup wide(std::string_view heading, const Markup& table) {
  return markup("<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"{}\">{}</div>\n",
                heading, table);
}

const std::string& style_sheet() {
  static const std::string text(kStyle);
  return text;
}

const std::string& style_path() {
  static const std::string path = asset_path("style", "css", kStyle);
  return path;
}

const std::string& icon() {
  static const std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\"><rect width=\"32\" height=\"32\" "
      "rx=\"7\" "
      "fill=\"#1a7f37\"/><g fill=\"#fff\"><ellipse rx=\"4.5\" cx=\"11\" cy=\"21\" ry=\"4.5\"/><ellipse "
      "rx=\"4.5\" cx=\"21\" cy=\"21\" "
      "ry=\"4.5\"/><ellipse rx=\"4.5\" cx=\"16\" cy=\"12.5\" ry=\"4.5\"/></g></svg>\n";
  return svg;
}

std::string message_page(const PageFrame& frame, const std::string& title, const std::string& words,
                         std::string_view path) {
  return frame_of(frame, title, markup("<h1>{}</h1>\n<p>{}</p>\n{}", title, words, onward_links(frame, path)))
      .text();
}

}  // namespace mist::catalog
