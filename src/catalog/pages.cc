#include "catalog/pages.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "catalog/graph_picture.h"
#include "catalog/preview_script.h"
#include "catalog/script.h"
#include "catalog/security_report.h"
#include "crypto/digest.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using encoding::Value;

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
header form { flex: 1 1 16rem; }
footer { margin-top: 3rem; padding-top: 1rem; padding-bottom: 2rem; border-top: 1px solid var(--line);
  color: var(--soft); font-size: .9rem; }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible, pre:focus-visible, summary:focus-visible,
.wide:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1.8rem 0 .4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1.08rem; margin: 1.4rem 0 .4rem; }
h4, h5, h6 { margin: 1.1rem 0 .3rem; }
.lead { font-size: 1.12rem; color: var(--soft); margin: .2rem 0 1rem; overflow-wrap: anywhere; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .3rem .6rem; }
.search { display: flex; gap: .5rem; }
input[type=search] { flex: 1; min-width: 0; font: inherit; padding: .45rem .7rem; color: var(--front);
  background: var(--back); border: 1px solid var(--soft); border-radius: .4rem; }
button { font: inherit; padding: .45rem .95rem; border: 1px solid var(--link); border-radius: .4rem;
  background: var(--link); color: var(--back); cursor: pointer; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto; font-size: .88rem; line-height: 1.45; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
:not(pre) > code { background: var(--box); padding: .1em .3em; border-radius: .25rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
.wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
ul.plain { list-style: none; padding: 0; margin: 0; }
ul.plain > li { padding: .75rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
ul.plain p { margin: .15rem 0 0; color: var(--soft); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 21rem; gap: 0 2.5rem; }
.columns > * { min-width: 0; }
.columns h2:first-child { margin-top: 1rem; }
@media (max-width: 55rem) { .columns { grid-template-columns: minmax(0, 1fr); } }
aside th, aside td { white-space: nowrap; padding-right: .6rem; }
dl { margin: 0; }
dt { font-weight: 600; margin-top: .8rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.state { display: inline-block; font-size: .85rem; font-weight: 600; padding: 0 .55em; border-radius: 1em;
  border: 1.5px solid currentColor; white-space: nowrap; }
.passed { color: var(--good); } .failed { color: var(--bad); }
.queued, .testing { color: var(--wait); } .skipped { color: var(--soft); }
.note { border-left: .3rem solid var(--wait); background: var(--box); padding: .6rem 1rem; margin: 1rem 0; }
.soft { color: var(--soft); }
details { margin: .3rem 0; }
summary { cursor: pointer; padding: .25rem 0; }
summary .time { color: var(--soft); font-size: .9rem; }
blockquote { margin: 1rem 0; padding: 0 1rem; border-left: .25rem solid var(--line); color: var(--soft); }
.facets { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 0 2rem; }
@media (max-width: 45rem) { .facets { grid-template-columns: minmax(0, 1fr); } }
.facets h2 { font-size: 1rem; margin: 1rem 0 .2rem; }
.facets nav ul { list-style: none; padding: 0; margin: 0; }
.facets nav a { display: flex; justify-content: space-between; gap: .5rem; padding: .2rem .4rem;
  text-decoration: none; }
.facets nav a span:first-child { text-decoration: underline; overflow-wrap: anywhere; }
.facets nav a[aria-current] { font-weight: 700; background: var(--box); border-radius: .3rem; }
.found:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.field { margin: 0 0 1rem; }
.field p { margin: .15rem 0 0; color: var(--soft); font-size: .92rem; overflow-wrap: anywhere; }
.field label { display: block; font-weight: 600; overflow-wrap: anywhere; }
.field input, .field select, .field textarea { width: 100%; font: inherit; padding: .4rem .6rem;
  color: var(--front); background: var(--back); border: 1px solid var(--soft); border-radius: .4rem; }
.field [aria-invalid] { border-color: var(--bad); border-width: 2px; }
.field ::placeholder { color: var(--soft); opacity: 1; }
select:focus-visible, textarea:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.5rem; }
.beside > * { min-width: 0; }
@media (max-width: 55rem) { .beside { grid-template-columns: minmax(0, 1fr); } }
#rendered-output pre { max-height: 40rem; overflow: auto; }
.graph { font: .85rem system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
.graph text { fill: var(--front); }
.graph .kind { fill: var(--soft); font-size: .78rem; }
.graph rect { fill: var(--box); stroke: var(--soft); }
.graph .outside rect { stroke-dasharray: 4 3; }
.graph .edge { fill: none; stroke: var(--soft); stroke-width: 1.4; }
.graph marker path { fill: var(--soft); }
.diff span { display: block; white-space: pre; }
.diff .added { color: var(--good); } .diff .removed { color: var(--bad); } .diff .place { color: var(--soft); }
.figures { display: flex; flex-wrap: wrap; gap: .4rem 2.2rem; padding: 0; list-style: none; }
.figures b { font-size: 1.4rem; display: block; line-height: 1.2; }
)";

enum class Live : std::uint8_t { No, Yes };

// `form`: the search of all pages, as this one has it; live pages have the script.
Markup frame_of(const PageFrame& frame, std::string_view title, const Markup& form, const Markup& content,
                Live live = Live::No) {
  return markup(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<link rel=\"stylesheet\" href=\"{}\">\n"
      "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n{}</head>\n<body>\n"
      "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
      "<header><a class=\"name\" href=\"/\">Mistletoe catalog</a>\n"
      "{}"
      "<nav aria-label=\"Catalog\"><a href=\"/search\">All packages</a> &nbsp; <a "
      "href=\"/submit\">Submit</a></nav>"
      "</header>\n<main id=\"content\">\n{}</main>\n"
      "<footer>{} &middot; <a href=\"/api/v1/openapi.json\">REST API</a></footer>\n</body>\n</html>\n",
      title, style_path(),
      live == Live::Yes ? markup("<script src=\"{}\" defer></script>\n", script_path()) : Markup(), form,
      content, frame.url);
}

Markup hidden(std::string_view name, std::string_view value) {
  return value.empty() ? Markup() : markup("<input type=\"hidden\" name=\"{}\" value=\"{}\">", name, value);
}

std::string_view state_text(const Narrowing& narrowing) {
  return narrowing.state ? to_string(*narrowing.state) : std::string_view();
}

// A search that is narrowed stays so while other words are typed.
Markup search_form(const Search& search, Live live) {
  return markup(
      "<form class=\"search\" action=\"/search\" role=\"search\"{}><input type=\"search\" name=\"q\" "
      "value=\"{}\" aria-label=\"Search packages\" placeholder=\"Search packages\" autocomplete=\"off\">{}{}"
      "<button>Search</button></form>\n",
      live == Live::Yes ? markup(" data-live=\"heading count results\"") : Markup(), search.query,
      hidden("format", search.narrowing.format), hidden("state", state_text(search.narrowing)));
}

Markup frame_of(const PageFrame& frame, std::string_view title, const Markup& content, Live live = Live::No) {
  return frame_of(frame, title, search_form({}, Live::No), content, live);
}

Markup state_mark(VersionState state) {
  return markup("<span class=\"state {}\">{}</span>", to_string(state), to_string(state));
}

std::string package_path(std::string_view package) { return "/packages/" + http::escape_segment(package); }
std::string version_path(const Version& version) {
  return package_path(version.package) + "/" + http::escape_segment(version.version);
}

Markup listing(const std::vector<Listed>& found) {
  Markup items;
  for (const Listed& each : found)
    items += markup("<li><a class=\"found\" href=\"{}\"><b>{}</b></a> {} {}<p>{}</p></li>\n",
                    package_path(each.package), each.package, each.version, state_mark(each.state),
                    each.description.empty() ? "No description." : each.description);
  return markup("<ul class=\"plain\">\n{}</ul>\n", items);
}

Markup code_block(std::string_view text) {
  return markup("<pre tabindex=\"0\"><code>{}</code></pre>\n", text);
}

// How git+… references name it.
std::string git_reference(const Version& version, const Project& project) {
  const std::string path = project.path.empty() ? "" : "//" + project.path;
  return fmt::format("git+{}{}?ref={}", project.url, path, http::escape_query(version.tag));
}

Markup install_section(const PageFrame& frame, const Version& version,
                       const std::optional<Project>& project) {
  Markup out = markup("<h2 id=\"install\">Install</h2>\n");
  if (!version.facts.k3.empty()) {
    out += markup("<h3>kpm</h3>\n");
    out += code_block(fmt::format("kpm archive-add --service catalog {}\nkpm update\nkpm install {}:{}",
                                  shell_word(frame.url), version.package, version.version));
  }
  if (project) {
    const std::string reference = shell_word(git_reference(version, *project));
    out += markup("<h3>mistctl</h3>\n");
    out += code_block(fmt::format("mistctl install {} --wait \\\n  -p {}", version.package, reference));
    out += markup("<h3>kubectl</h3>\n");
    out += code_block(fmt::format("mistctl generate {} \\\n  -p {} \\\n  | kubectl apply -f -",
                                  version.package, reference));
    if (version.facts.format == "Helm chart") {
      out += markup("<h3>helm</h3>\n");
      out += code_block(fmt::format("git clone --depth 1 --branch {} {} {}\nhelm install {} ./{}",
                                    shell_word(version.tag), shell_word(project->url), version.package,
                                    version.package,
                                    version.package + (project->path.empty() ? "" : "/" + project->path)));
    }
  }
  return out;
}

std::string type_words(const Value& schema) {
  const Value* const type = schema.find("type");
  if (type == nullptr) return schema.find("enum") != nullptr ? "one of" : "any";
  if (type->is_string()) return type->as_string();
  std::vector<std::string> names;
  if (type->is_array())
    for (const Value& each : type->as_array())
      if (each.is_string()) names.push_back(each.as_string());
  return join(names, " or ");
}

// Rows of inputs, their members below them; deeper ones are left to the schema.
void input_rows(const Value& schema, const std::string& prefix, int depth, Markup& rows) {
  const Value* const members = schema.find("properties");
  if (members == nullptr || !members->is_object()) return;
  std::vector<std::string> required;
  if (const Value* const list = schema.find("required"); list != nullptr && list->is_array())
    for (const Value& each : list->as_array())
      if (each.is_string()) required.push_back(each.as_string());
  for (const auto& [key, value] : members->as_object()) {
    const std::string name = prefix + key;
    const Value* const fallback = value.find("default");
    const bool needed = std::ranges::find(required, key) != required.end();
    rows += markup("<tr><th scope=\"row\"><code>{}</code></th><td>{}{}</td><td>{}</td><td>{}</td></tr>\n",
                   name, type_words(value), needed ? ", required" : "",
                   fallback == nullptr ? Markup() : markup("<code>{}</code>", encoding::to_json(*fallback)),
                   value.string_at("description"));
    if (depth < 3) input_rows(value, name + ".", depth + 1, rows);
  }
}

Markup inputs_section(const Version& version) {
  const PackageFacts& facts = version.facts;
  Markup rows;
  input_rows(facts.inputs, {}, 0, rows);
  if (rows.empty() && facts.defaults.empty()) return {};
  Markup out = markup("<h2 id=\"inputs\">Inputs</h2>\n");
  if (!rows.empty())
    out += markup(
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">Name</th><th "
        "scope=\"col\">Type</th>"
        "<th scope=\"col\">Default</th><th "
        "scope=\"col\">Meaning</th></tr></thead>\n<tbody>{}</tbody></table></div>\n"
        "<p><a href=\"{}/inputs\">Fill them in</a></p>\n",
        rows, version_path(version));
  if (!facts.defaults.empty()) out += markup("<h3>Defaults</h3>\n{}", code_block(facts.defaults));
  return out;
}

Markup facts_list(const PageFrame& frame, const Version& version, const std::optional<Project>& project) {
  const PackageFacts& facts = version.facts;
  Markup out = markup("<dt>Version</dt><dd>{} {}</dd>\n", version.version, state_mark(version.state));
  out += markup("<dt>Published</dt><dd>{}</dd>\n", format_time(version.created).substr(0, 10));
  if (!facts.format.empty()) out += markup("<dt>Kind</dt><dd>{}</dd>\n", facts.format);
  if (!facts.home.empty()) out += markup("<dt>Website</dt><dd>{}</dd>\n", link(facts.home, facts.home));
  if (project) {
    out += markup("<dt>Source</dt><dd>{}, tag <code>{}</code>, commit <code>{}</code></dd>\n",
                  link(project->url, project->url), version.tag, version.commit.substr(0, 12));
    out += markup("<dt>Submitted by</dt><dd>{}</dd>\n", project->owner);
  }
  if (!facts.maintainers.empty())
    out += markup("<dt>Maintainers</dt><dd>{}</dd>\n", join(facts.maintainers, ", "));
  if (!version.digest.empty())
    out += markup("<dt>Digest</dt><dd><a href=\"/api/v1/blobs/{}\"><code>{}…</code></a></dd>\n",
                  version.digest, version.digest.substr(0, 23));
  out += markup("<dt>Badge</dt><dd><img src=\"{}/badge.svg\" alt=\"{}: {}\" height=\"20\">{}</dd>\n",
                package_path(version.package), version.package, to_string(version.state),
                code_block(fmt::format("[![{0}]({1}{2}/badge.svg)]({1}{2})", version.package, frame.url,
                                       package_path(version.package))));
  return markup("<dl>{}</dl>\n", out);
}

Markup dependencies_section(const PackageFacts& facts) {
  Markup items;
  for (const PackageFacts::Dependency& each : facts.dependencies)
    items += is_dns1123_label(each.name) ? markup("<li><a href=\"{}\">{}</a> {}</li>\n",
                                                  package_path(each.name), each.name, each.range)
                                         : markup("<li>{} {}</li>\n", each.name, each.range);
  return items.empty() ? items : markup("<h2 id=\"dependencies\">Dependencies</h2>\n<ul>\n{}</ul>\n", items);
}

Markup versions_section(const Version& shown, const std::vector<Version>& versions) {
  Markup rows;
  for (const Version& each : versions)
    rows += markup("<tr><th scope=\"row\"><a href=\"{}\"{}>{}</a></th><td>{}{}</td><td>{}</td></tr>\n",
                   version_path(each), each.id == shown.id ? markup(" aria-current=\"page\"") : Markup(),
                   each.version, state_mark(each.state),
                   each.yanked ? markup(" <span class=\"state skipped\">yanked</span>") : Markup(),
                   format_time(each.created).substr(0, 10));
  Markup out = markup(
      "<h2 id=\"versions\">Versions</h2>\n<div class=\"wide\" tabindex=\"0\"><table>\n{}</table></div>\n",
      rows);
  if (!versions.empty() && shown.id != versions.back().id)
    out +=
        markup("<p><a href=\"{}/changes\">What changed in {}</a></p>\n", version_path(shown), shown.version);
  return out;
}

// A line of a unified diff is told apart by its sign, and by its colour.
Markup diff_block(const std::vector<std::string>& lines) {
  Markup out;
  for (const std::string& line : lines) {
    const std::string_view tone = line.starts_with('+')   ? "added"
                                  : line.starts_with('-') ? "removed"
                                  : line.starts_with('@') ? "place"
                                                          : "same";
    out += markup("<span class=\"{}\">{}</span>", tone, line.empty() ? " " : line);
  }
  return markup("<pre class=\"diff\" tabindex=\"0\"><code>{}</code></pre>\n", out);
}

// Of which version the changes are shown: links, the chosen one marked.
Markup compared_with(const Version& shown, const std::vector<Version>& versions, std::string_view from) {
  Markup items;
  for (const Version& each : versions) {
    if (each.id == shown.id) continue;
    items += markup("<li><a href=\"{}/changes?from={}\"{}>{}</a></li>\n", version_path(shown),
                    http::escape_query(each.version),
                    each.version == from ? markup(" aria-current=\"true\"") : Markup(), each.version);
  }
  return markup("<details><summary>Compare with another version</summary>\n<ul>\n{}</ul>\n</details>\n",
                items);
}

Markup run_summary(const Version& shown, const std::optional<Run>& run) {
  Markup out = markup("<h2 id=\"test\">Test result</h2>\n");
  if (!run || run->steps.empty()) {
    out += markup(
        "<p>{} {}</p>\n", state_mark(shown.state),
        shown.state == VersionState::Testing ? "A worker is testing it now." : "It waits for a worker.");
    return out;
  }
  Markup rows;
  for (const Step& each : run->steps)
    rows +=
        markup("<tr><th scope=\"row\">{}</th><td><span class=\"state {}\">{}</span></td><td>{}</td></tr>\n",
               each.name, to_string(each.state), to_string(each.state), each.summary);
  out += markup(
      "<div class=\"wide\" tabindex=\"0\"><table>\n{}</table></div>\n<p>{}<a href=\"{}/test\">Logs of all "
      "steps</a></p>\n",
      rows, run->nodes.empty() ? std::string() : fmt::format("Installed on {}. ", run->nodes),
      version_path(shown));
  return out;
}

// "12 packages".
std::string count_words(const Facets& facets) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(facets.found, 0));
  return facets.more ? "at least " + plural(count, "package") : plural(count, "package");
}

struct Choice {
  std::string words;
  std::int64_t count = -1;  // -1: isn't shown
  Search search;            // what choosing it asks for
  bool chosen = false;
};

Markup facet(std::string_view title, const std::vector<Choice>& choices) {
  Markup items;
  for (const Choice& each : choices)
    items += markup("<li><a href=\"/search?{}\"{}><span>{}</span>{}</a></li>\n", query_of(each.search),
                    each.chosen ? markup(" aria-current=\"true\"") : Markup(), each.words,
                    each.count < 0 ? Markup() : markup("<span class=\"soft\">{}</span>", each.count));
  return markup("<h2>{}</h2>\n<ul>\n{}</ul>\n", title, items);
}

Markup format_facet(const Search& search, const Facets& facets) {
  std::vector<Choice> choices;
  const auto add = [&](std::string words, const std::string& format, std::int64_t count) {
    Search wanted = search;
    wanted.narrowing.format = format;
    choices.push_back({std::move(words), count, std::move(wanted), search.narrowing.format == format});
  };
  add("Any", "", -1);
  for (const Facets::Count& each : facets.formats) add(each.value, each.value, each.count);
  return facet("Kind", choices);
}

Markup state_facet(const Search& search, const Facets& facets) {
  std::vector<Choice> choices;
  const auto add = [&](std::string words, std::optional<VersionState> state, std::int64_t count) {
    Search wanted = search;
    wanted.narrowing.state = state;
    choices.push_back({std::move(words), count, std::move(wanted), search.narrowing.state == state});
  };
  add("Any", std::nullopt, -1);
  for (const Facets::Count& each : facets.states) add(each.value, version_state_of(each.value), each.count);
  return facet("Test", choices);
}

std::string filled_words(const FilledInputs& filled) {
  std::string words = filled.count == 0 ? "Nothing is set yet" : plural(filled.count, "input") + " set";
  if (!filled.faults.empty()) words += ", " + plural(filled.faults.size(), "mistake");
  if (!filled.open.empty()) words += "; still needed: " + join(filled.open, ", ");
  return words + ".";
}

Markup values_preview(const Version& version, const std::optional<Project>& project,
                      const FilledInputs& filled) {
  Markup out;
  for (const auto& [name, fault] : filled.faults)
    out += markup("<p class=\"failed\"><code>{}</code> {}.</p>\n", name, fault);
  out += markup("<h2>values.yaml</h2>\n{}",
                code_block(filled.count == 0 ? "# the defaults\n" : encoding::to_yaml(filled.values)));
  if (!version.facts.k3.empty())
    out +=
        markup("<h2>kpm</h2>\n{}",
               code_block(fmt::format("kpm install {}:{} -f values.yaml", version.package, version.version)));
  if (project)
    out += markup("<h2>mistctl</h2>\n{}",
                  code_block(fmt::format("mistctl install {} -f values.yaml --wait \\\n  -p {}",
                                         version.package, shell_word(git_reference(version, *project)))));
  return out;
}

// Hidden until its script is there, which shows it.
Markup preview_section(const Version& version, const std::optional<Preview>& preview) {
  if (!preview) return {};
  if (preview->state == PreviewState::Impossible)
    return markup("<p class=\"soft\" id=\"no-preview\">There is no preview of its objects: {}.</p>\n",
                  preview->problem);
  return markup(
      "<section id=\"rendered\" aria-labelledby=\"rendered-title\" data-preview=\"{}\" data-worker=\"{}\" "
      "hidden>\n<h2 id=\"rendered-title\">Objects</h2>\n<p id=\"rendered-about\">Your browser runs the "
      "package, without a network, and shows the objects that it makes of these inputs. Secrets are "
      "placeholders: an installation draws its own.</p>\n"
      "<p><button type=\"button\" id=\"rendered-start\" aria-describedby=\"rendered-about\">Preview</button> "
      "<button type=\"button\" id=\"rendered-stop\" hidden>Stop</button></p>\n"
      "<p id=\"rendered-status\" role=\"status\"></p>\n<div id=\"rendered-output\"></div>\n</section>\n"
      "<script src=\"{}\" defer></script>\n",
      fmt::format("/api/v1/packages/{}/versions/{}/preview", http::escape_segment(version.package),
                  http::escape_segment(version.version)),
      preview_worker_path(), preview_script_path());
}

Markup yanked_note(const Version& shown) {
  if (!shown.yanked) return {};
  return markup("<p class=\"note\"><b>This version was yanked.</b> {}</p>\n",
                shown.yanked->empty() ? "Its author gave no reason." : *shown.yanked);
}

}  // namespace

const std::string& style_sheet() {
  static const std::string text(kStyle);
  return text;
}

const std::string& style_path() {
  static const std::string path =
      fmt::format("/assets/style-{}.css", crypto::sha256(kStyle).hex().substr(0, 16));
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

std::string home_page(const PageFrame& frame, const Store::Counts& counts,
                      const std::vector<Listed>& newest) {
  Markup content = markup(
      "<h1>Packages for Kubernetes, tested</h1>\n<p class=\"lead\">Every version here was fetched from its "
      "author's repository, checked, installed alone on a cluster, tested and removed again.</p>\n"
      "<ul class=\"figures\"><li><b>{}</b>packages</li><li><b>{}</b>versions</li><li><b>{}</b>passed their "
      "test"
      "</li><li><b>{}</b>waiting</li></ul>\n",
      counts.packages, counts.versions, counts.passed, counts.waiting);
  content +=
      markup("<h2>Three commands</h2>\n{}",
             code_block(fmt::format("kpm archive-add --service catalog {}\nkpm update\nkpm install NAME",
                                    shell_word(frame.url))));
  content += markup(
      "<p>Each package's page has the commands for <code>mistctl</code> and <code>kubectl</code>, "
      "too. <a href=\"/submit\">Submit a package of your own</a>.</p>\n<h2>Newest</h2>\n");
  content += newest.empty() ? markup("<p>There is nothing yet.</p>\n") : listing(newest);
  return frame_of(frame, "Mistletoe catalog", content).text();
}

std::string query_of(const Search& search) {
  std::vector<std::pair<std::string, std::string>> parts;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) parts.emplace_back(name, value);
  };
  add("q", search.query);
  add("format", search.narrowing.format);
  add("state", state_text(search.narrowing));
  return http::query_of(parts);
}

std::string search_page(const PageFrame& frame, const Search& search, const Facets& facets,
                        const Slice<Listed>& found) {
  const std::string& query = search.query;
  const std::string title = query.empty() ? "All packages" : fmt::format("Packages for “{}”", query);
  Markup content = markup("<h1 id=\"heading\">{}</h1>\n<p id=\"count\" role=\"status\">{}</p>\n", title,
                          count_words(facets));
  Markup list = found.items.empty()
                    ? markup("<p>{}</p>\n", query.empty() && query_of(search).empty()
                                                ? "There is nothing yet."
                                                : "No package fits. Try fewer words, or choose less.")
                    : listing(found.items);
  if (!found.next.empty())
    list += markup("<p><a href=\"/search?{}&amp;after={}\" rel=\"next\">More</a></p>\n", query_of(search),
                   http::escape_query(found.next));
  content += markup(
      "<div id=\"results\" class=\"facets\">\n<nav aria-label=\"Narrow the search\">\n{}{}</nav>\n"
      "<div>\n{}</div>\n</div>\n",
      format_facet(search, facets), state_facet(search, facets), list);
  return frame_of(frame, query.empty() ? title : query + " – search", search_form(search, Live::Yes), content,
                  Live::Yes)
      .text();
}

std::string inputs_page(const PageFrame& frame, const Version& shown, const std::optional<Project>& project,
                        const FormAnswers& answers, const std::optional<Preview>& preview) {
  const std::vector<InputField> fields = input_fields(shown.facts.inputs);
  const FilledInputs filled = fill_inputs(fields, answers);
  Markup content = markup(
      "<h1>Inputs of {} {}</h1>\n<p>Fill in what you want otherwise, and take the file. What is empty stays "
      "at "
      "its default. <a href=\"{}\">The package's page</a></p>\n",
      shown.package, shown.version, version_path(shown));
  if (fields.empty()) {
    content += markup("<p>It declares no inputs.</p>\n");
    content += preview_section(shown, preview);
    return frame_of(frame, fmt::format("Inputs of {} {}", shown.package, shown.version), content).text();
  }
  content += markup(
      "<div class=\"beside\">\n<form action=\"{}/inputs\" data-live=\"filled preview\" "
      "aria-label=\"Inputs\">\n{}<button>Show the file</button>\n</form>\n"
      "<section aria-label=\"The file\"><p id=\"filled\" role=\"status\">{}</p>\n<div "
      "id=\"preview\">\n{}</div>"
      "</section>\n</div>\n",
      version_path(shown), input_markup(fields, answers, filled), filled_words(filled),
      values_preview(shown, project, filled));
  content += preview_section(shown, preview);
  return frame_of(frame, fmt::format("Inputs of {} {}", shown.package, shown.version), content, Live::Yes)
      .text();
}

std::string package_page(const PageFrame& frame, const Version& shown, const std::vector<Version>& versions,
                         const std::optional<Project>& project, const std::optional<Run>& run) {
  Markup content = markup("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n{}", shown.package,
                          shown.facts.description.empty() ? "No description." : shown.facts.description,
                          yanked_note(shown));
  Markup left;
  if (!shown.digest.empty()) left += install_section(frame, shown, project);
  if (!shown.readme.empty())
    left += markup("<h2 id=\"readme\">Readme</h2>\n{}", markdown(shown.readme));
  else if (!shown.facts.details.empty())
    left += markup("<h2 id=\"readme\">About</h2>\n{}", markdown(shown.facts.details));
  left += inputs_section(shown);
  if (run) left += graph_picture(run->objects);
  if (run) left += security_section(run->security);
  left += dependencies_section(shown.facts);
  left += run_summary(shown, run);
  Markup right = facts_list(frame, shown, project);
  right += versions_section(shown, versions);
  content += markup(
      "<div class=\"columns\">\n<div>\n{}</div>\n<aside aria-label=\"About this version\">\n{}</aside>\n"
      "</div>\n",
      left, right);
  return frame_of(frame, fmt::format("{} {}", shown.package, shown.version), content).text();
}

std::string reference_of(const Version& version, const std::optional<Project>& project) {
  return project ? git_reference(version, *project) : version.package + " " + version.version;
}

std::string test_page(const PageFrame& frame, const Version& shown, const std::optional<Run>& run) {
  Markup content = markup("<h1>Test of {} {}</h1>\n<p>{} <a href=\"{}\">The package's page</a></p>\n",
                          shown.package, shown.version, state_mark(shown.state), version_path(shown));
  if (!run || run->steps.empty()) {
    content += markup("<p>No step has ended yet.</p>\n");
  } else {
    content += markup("<p class=\"soft\">Attempt {}{}. Times are in seconds since the step began.</p>\n",
                      run->attempt, run->nodes.empty() ? std::string() : ", on " + run->nodes);
    for (const Step& each : run->steps) {
      content += markup(
          "<details{}><summary><b>{}</b> <span class=\"state {}\">{}</span> {} <span class=\"time\">{}, at {}"
          "</span></summary>\n{}</details>\n",
          each.state == StepState::Failed ? markup(" open") : Markup(), each.name, to_string(each.state),
          to_string(each.state), each.summary, format_elapsed(each.elapsed), format_time(each.began),
          each.log.empty() ? markup("<p class=\"soft\">It has no log.</p>\n") : code_block(each.log));
    }
  }
  return frame_of(frame, fmt::format("Test of {} {}", shown.package, shown.version), content).text();
}

std::string changes_page(const PageFrame& frame, const Version& shown, const std::vector<Version>& versions,
                         const VersionChanges& changes) {
  const std::string title = fmt::format("{} {} since {}", shown.package, changes.to, changes.from);
  Markup content = markup("<h1>{}</h1>\n<p><a href=\"{}\">The package's page</a></p>\n{}", title,
                          version_path(shown), compared_with(shown, versions, changes.from));
  content += markup("<h2 id=\"objects\">Objects</h2>\n");
  if (!changes.objects_known) {
    content += markup(
        "<p>They can't be compared: the objects of one of both versions were not kept. They are when a "
        "version "
        "is tested.</p>\n");
  } else {
    content += markup("<p>Made of the default values: {} changed, {} stay as they are.</p>\n",
                      plural(changes.objects.size(), "object"), changes.unchanged);
    for (const ObjectChange& each : changes.objects) {
      const std::string_view tone = each.change == ChangeOf::Added     ? "passed"
                                    : each.change == ChangeOf::Removed ? "failed"
                                                                       : "queued";
      content += markup("<h3>{} <span class=\"state {}\">{}</span></h3>\n{}{}", each.object, tone,
                        to_string(each.change), diff_block(each.lines),
                        each.cut ? markup("<p class=\"soft\">There is more.</p>\n") : Markup());
    }
  }
  if (!changes.defaults.empty())
    content += markup("<h2 id=\"defaults\">Default values</h2>\n{}", diff_block(changes.defaults));
  if (!changes.inputs.empty())
    content += markup("<h2 id=\"inputs\">Inputs</h2>\n{}", diff_block(changes.inputs));
  return frame_of(frame, title, content).text();
}

std::string submit_page(const PageFrame& frame) {
  Markup content = markup(
      "<h1>Submit a package</h1>\n<p class=\"lead\">Link a git repository once; from then on each tag "
      "becomes a "
      "version.</p>\n<h2>1. A repository with a package</h2>\n<p>A Kube (<code>K3.yaml</code> and "
      "<code>manifests/</code>), a Helm chart, a Kustomize directory, templates, or plain YAML of "
      "Kubernetes. Its "
      "name must be that of the project, its version that of the tag.</p>\n<h2>2. A token</h2>\n<p>Whoever "
      "runs this "
      "catalog gives you an account and a token.</p>\n<h2>3. Link it</h2>\n");
  content +=
      code_block(fmt::format("curl -H \"Authorization: Bearer $TOKEN\" \\\n  --json '{{\"name\": \"etcd\", "
                             "\"url\": \"https://git.example.com/me/etcd.git\"}}' \\\n  {}/api/v1/projects",
                             frame.url));
  content += markup(
      "<p><code>path</code> names the package's directory, if it isn't the repository's root. The answer has "
      "the "
      "address and the secret of a webhook for GitHub, GitLab or Gitea; without one the repository is "
      "polled.</p>\n"
      "<h2>4. Push a tag</h2>\n");
  content += code_block("git tag v1.0.0\ngit push origin v1.0.0");
  content += markup(
      "<p>Also <code>1.0.0</code>, and <code>etcd-1.0.0</code> or <code>etcd/v1.0.0</code> where a "
      "repository has "
      "several packages. A worker then checks and lints the package, renders it for the newest Kubernetes "
      "versions, "
      "installs it, waits until it is ready, runs its tests, removes it, and looks whether anything stayed. "
      "The "
      "package's page shows the result of each step with its log.</p>\n");
  return frame_of(frame, "Submit a package", content).text();
}

std::string message_page(const PageFrame& frame, const std::string& title, const std::string& words) {
  return frame_of(frame, title, {}, markup("<h1>{}</h1>\n<p>{}</p>\n", title, words)).text();
}

}  // namespace mist::catalog
