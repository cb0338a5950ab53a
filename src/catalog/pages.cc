#include "catalog/pages.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "catalog/feedback_pages.h"
#include "catalog/graph_picture.h"
#include "catalog/preview_script.h"
#include "catalog/schema_parts.h"
#include "catalog/security_report.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "http/url.h"

namespace mist::catalog {
namespace {

using encoding::Value;

Markup listing(const std::vector<Listed>& found) {
  Markup items;
  for (const Listed& each : found)
    items += markup("<li><a class=\"found\" href=\"{}\"><b>{}</b></a> {} {}<p>{}</p></li>\n",
                    package_path(each.package), each.package, each.version, state_mark(each.state),
                    each.description.empty() ? "No description." : each.description);
  return markup("<ul class=\"plain\">\n{}</ul>\n", items);
}

// As package/engine.cc names it.
constexpr std::string_view kKustomizeFormat = "Kustomize directory";

// How git+… references name it.
std::string git_reference(const Version& version, const Project& project) {
  const std::string& place = version.facts.module.empty() ? project.path : version.facts.module;
  const std::string path = place.empty() ? "" : "//" + place;
  return fmt::format("git+{}{}?ref={}", project.url, path, http::escape_query(version.tag));
}

// kpm's index has only Kubes that passed.
bool is_for_kpm(const Version& version) {
  return !version.facts.k3.empty() && version.state == VersionState::Passed;
}

// The others read a repository from inside a cluster, or with tools that know no other address.
bool is_of_the_internet(const Project& project) { return project.url.starts_with("https://"); }

Markup yaml_block(const std::vector<Value>& documents) {
  return code_block(encoding::to_yaml_documents(documents, {.escape_directions = true}));
}

// To kustomize, ?ref= names a branch, a tag or a commit. The double slash ends the repository's
// address, whatever it looks like.
Markup kubectl_kustomize(const Version& version, const Project& project) {
  const std::string address =
      fmt::format("{}//{}?ref={}", project.url, project.path, http::escape_query(version.tag));
  return markup("<h3>kubectl, with its Kustomize</h3>\n{}",
                code_block(fmt::format("kubectl apply -k {}", shell_word(address))));
}

Value flux_object(std::string_view api, std::string_view kind, const Version& version, Value spec) {
  return Value::object(
      {{"apiVersion", Value(api)},
       {"kind", Value(kind)},
       {"metadata", Value::object({{"name", version.package}, {"namespace", "flux-system"}})},
       {"spec", std::move(spec)}});
}

// Applies what a source of that kind has in `path`.
Value flux_kustomization(const Version& version, std::string_view source, const std::string& path) {
  return flux_object(
      "kustomize.toolkit.fluxcd.io/v1", "Kustomization", version,
      Value::object({{"sourceRef", Value::object({{"kind", Value(source)}, {"name", version.package}})},
                     {"path", "./" + path},
                     {"targetNamespace", version.package},
                     {"prune", true},
                     {"wait", true},
                     {"interval", "10m"}}));
}

// The recipes of docs/gitops.md. Flux builds a Kustomize directory itself, and applies what mistctl rendered
// of anything else.
Markup flux_recipe(const Version& version, const Project& project) {
  Markup out = markup("<h3>Flux</h3>\n");
  const std::string make_namespace = fmt::format("kubectl create namespace {}", version.package);
  if (version.facts.format == kKustomizeFormat) {
    out += code_block(make_namespace);
    out += yaml_block({flux_object("source.toolkit.fluxcd.io/v1", "GitRepository", version,
                                   Value::object({{"url", project.url},
                                                  {"ref", Value::object({{"tag", version.tag}})},
                                                  {"interval", "10m"}})),
                       flux_kustomization(version, "GitRepository", project.path)});
    return out;
  }
  // A tag has no plus sign.
  std::string tag = version.version;
  std::ranges::replace(tag, '+', '_');
  const std::string artifact = fmt::format("oci://registry.example/deploy/{}", version.package);
  out += markup(
      "<p>Publish its objects in an OCI registry of yours, in place of <code>registry.example</code>. A "
      "package "
      "that draws secrets is refused, with what you can choose.</p>\n");
  out += code_block(fmt::format("{}\nmistctl publish {} \\\n  {}:{} -n {}", make_namespace,
                                shell_word(git_reference(version, project)), artifact, tag, version.package));
  out += yaml_block(
      {flux_object(
           "source.toolkit.fluxcd.io/v1", "OCIRepository", version,
           Value::object({{"url", artifact}, {"ref", Value::object({{"tag", tag}})}, {"interval", "10m"}})),
       flux_kustomization(version, "OCIRepository", {})});
  return out;
}

// docs/release-resource.md.
Markup release_resource(const Version& version, const Project& project) {
  Markup out = markup(
      "<h3>mistletoe-operator</h3>\n<p>It keeps the release as this object says. <code>deployer</code> is a "
      "ServiceAccount of that namespace, with whose rights it is installed.</p>\n");
  out += yaml_block({Value::object(
      {{"apiVersion", "mistletoe.dev/v1alpha1"},
       {"kind", "Release"},
       {"metadata", Value::object({{"name", version.package}, {"namespace", version.package}})},
       {"spec", Value::object(
                    {{"package", git_reference(version, project)}, {"serviceAccountName", "deployer"}})}})});
  return out;
}

Markup install_section(const PageFrame& frame, const Version& version,
                       const std::optional<Project>& project) {
  Markup out = markup("<h2 id=\"install\">Install</h2>\n");
  if (is_for_kpm(version)) {
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
      const std::string chart = "./" + version.package + (project->path.empty() ? "" : "/" + project->path);
      out += code_block(fmt::format("git clone --depth 1 --branch {} {} {}\nhelm install {} {}",
                                    shell_word(version.tag), shell_word(project->url), version.package,
                                    version.package, shell_word(chart)));
    }
    if (is_of_the_internet(*project)) {
      if (version.facts.format == kKustomizeFormat) out += kubectl_kustomize(version, *project);
      out += flux_recipe(version, *project);
      out += release_resource(version, *project);
    }
  }
  // Plain YAML has no preview: its files are its objects.
  if (const bool has_inputs = !input_form(version.facts).fields.empty();
      has_inputs || version.facts.format != "Kubernetes YAML")
    out += markup("<p><a href=\"{}/inputs\">{}</a></p>\n", version_path(version),
                  has_inputs ? "Choose its inputs and preview its objects" : "Preview its objects");
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

// Of the table of inputs. Each name has those of all around it: few bytes of a schema make many of a page.
constexpr std::size_t kMostInputRows = 1000;
constexpr std::size_t kMostInputRowBytes = std::size_t{1} << 20;

struct InputRows {
  Markup rows = {};
  std::size_t shown = 0, left_out = 0;

  bool is_full() const { return shown == kMostInputRows || rows.text().size() > kMostInputRowBytes; }
};

// Rows of inputs, their members below them; deeper ones are left to the schema.
void add_input_rows(const Value& schema, const std::string& prefix, int depth, InputRows& table) {
  const Value* const members = schema.find("properties");
  if (members == nullptr || !members->is_object()) return;
  const Value* const list = schema.find("required");
  const std::vector<std::string_view> required =
      list == nullptr ? std::vector<std::string_view>() : sorted_texts(*list);
  for (const auto& [key, value] : members->as_object()) {
    std::string name;
    if (table.is_full()) {
      ++table.left_out;
    } else {
      name = prefix + key;
      const Value* const fallback = value.find("default");
      const bool needed = std::ranges::binary_search(required, std::string_view(key));
      table.rows +=
          markup("<tr><th scope=\"row\"><code>{}</code></th><td>{}{}</td><td>{}</td><td>{}</td></tr>\n", name,
                 type_words(value), needed ? ", required" : "",
                 fallback == nullptr ? Markup() : markup("<code>{}</code>", encoding::to_json(*fallback)),
                 value.string_at("description"));
      ++table.shown;
    }
    if (depth < 3) add_input_rows(value, name + ".", depth + 1, table);
  }
}

Markup inputs_section(const Version& version) {
  const PackageFacts& facts = version.facts;
  InputRows table;
  add_input_rows(facts.inputs, {}, 0, table);
  if (table.shown == 0 && facts.defaults.empty()) return {};
  Markup out = markup("<h2 id=\"inputs\">Inputs</h2>\n");
  if (table.shown > 0)
    out +=
        markup("{}{}<p><a href=\"{}/inputs\">Fill them in</a></p>\n",
               wide("inputs",
                    markup("<table><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Type</th><th "
                           "scope=\"col\">Default</th><th scope=\"col\">Meaning</th></tr></thead>\n<tbody>{}"
                           "</tbody></table>",
                           table.rows)),
               table.left_out == 0
                   ? Markup()
                   : markup("<p class=\"soft\">{} not shown.</p>\n",
                            plural(table.left_out, "further input") + (table.left_out == 1 ? " is" : " are")),
               version_path(version));
  if (!facts.defaults.empty())
    out += markup("<h3>Defaults</h3>\n{}", code_block(with_line_feeds(facts.defaults)));
  return out;
}

// "123 of all versions, 12 of them in the last 30 days".
std::string downloads_words(const std::vector<VersionBrief>& versions, std::int64_t recent) {
  std::int64_t total = 0;
  for (const VersionBrief& each : versions) total += each.downloads;
  return fmt::format("{} of all versions, {} of them in the last 30 days", total, recent);
}

Markup facts_list(const PageFrame& frame, const Version& version, const std::vector<VersionBrief>& versions,
                  const PackageView& view) {
  const std::optional<Project>& project = view.project;
  const PackageFacts& facts = version.facts;
  Markup out;
  if (!facts.format.empty()) out += markup("<dt>Kind</dt><dd>{}</dd>\n", facts.format);
  if (!facts.home.empty()) out += markup("<dt>Website</dt><dd>{}</dd>\n", link(facts.home, facts.home));
  if (project) {
    out += markup("<dt>Source</dt><dd>{}, tag <code>{}</code>, commit <code>{}</code></dd>\n",
                  link(project->url, project->url), version.tag, version.commit.substr(0, 12));
    std::vector<std::string> domains;
    for (const OwnDomain& each : view.domains) domains.push_back(each.domain);
    out += markup("<dt>Submitted by</dt><dd>{}{}</dd>\n", project->owner,
                  domains.empty() ? std::string()
                                  : fmt::format(", whose domain is {} (proved by DNS)", join(domains, ", ")));
  }
  if (!facts.maintainers.empty())
    out += markup("<dt>Maintainers</dt><dd>{}</dd>\n", join(facts.maintainers, ", "));
  if (!version.digest.empty())
    out += markup("<dt>Digest</dt><dd><a href=\"/api/v1/blobs/{}\"><code>{}…</code></a></dd>\n",
                  version.digest, version.digest.substr(0, 23));
  out += markup("<dt>Downloads</dt><dd>{} of this version; {}</dd>\n", version.downloads,
                downloads_words(versions, view.recent_downloads));
  if (view.installs.total > 0)
    out += markup(
        "<dt>Installs</dt><dd>{} of all versions, {} of them in the last 30 days, by users who chose to "
        "report "
        "them</dd>\n",
        view.installs.total, view.installs.recent);
  out += markup("<dt>Rating</dt><dd>{}. <a href=\"{}\">{}</a></dd>\n", rating_words(view.ratings),
                feedback_path(version.package),
                view.comments == 0 ? std::string("Rate it, or comment")
                                   : plural(static_cast<std::size_t>(view.comments), "comment"));
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

Markup versions_section(const Version& shown, const std::vector<VersionBrief>& versions) {
  Markup rows;
  for (const VersionBrief& each : versions)
    rows += markup("<tr><th scope=\"row\"><a href=\"{}\"{}>{}</a></th><td>{}{}</td><td>{}</td></tr>\n",
                   version_path(each.package, each.version),
                   each.id == shown.id ? markup(" aria-current=\"page\"") : Markup(), each.version,
                   state_mark(each.state),
                   each.hidden                      ? markup(" <span class=\"state failed\">hidden</span>")
                   : each.review == Review::Awaited ? markup(" <span class=\"state queued\">in review</span>")
                   : each.review == Review::Rejected ? markup(" <span class=\"state failed\">rejected</span>")
                   : each.yanked                     ? markup(" <span class=\"state skipped\">yanked</span>")
                                                     : Markup(),
                   format_time(each.created).substr(0, 10));
  Markup out =
      markup("<h2 id=\"versions\">Versions</h2>\n{}", wide("versions", markup("<table>\n{}</table>", rows)));
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
Markup compared_with(const VersionBrief& shown, const std::vector<VersionBrief>& versions,
                     std::string_view from) {
  Markup items;
  for (const VersionBrief& each : versions) {
    if (each.id == shown.id) continue;
    items += markup("<li><a href=\"{}/changes?from={}\"{}>{}</a></li>\n",
                    version_path(shown.package, shown.version), http::escape_query(each.version),
                    each.version == from ? markup(" aria-current=\"true\"") : Markup(), each.version);
  }
  return markup("<details><summary>Compare with another version</summary>\n<ul>\n{}</ul>\n</details>\n",
                items);
}

// On which nodes it was installed, and what that is worth.
std::string nodes_words(TestNodes nodes) {
  return fmt::format("{}{}", to_string(nodes), any_simulated(nodes) ? ", where Pods don't really run" : "");
}

// Beside a result that holds until then.
Markup new_test_words(const Version& shown) {
  if (!shown.new_test) return {};
  return markup(
      "<p class=\"soft\">{} {} The result below is of the test before, and holds until the new one "
      "ends.</p>\n",
      state_mark(*shown.new_test),
      *shown.new_test == VersionState::Testing ? "It is being tested again now."
                                               : "It is waiting to be tested again.");
}

Markup run_summary(const Version& shown, const std::optional<Run>& run) {
  Markup out = markup("<h2 id=\"test\">Test result</h2>\n{}", new_test_words(shown));
  if (!run || run->steps.empty()) {
    out += markup(
        "<p>{} {}</p>\n", state_mark(shown.state),
        shown.state == VersionState::Testing ? "It is being tested now." : "It is waiting to be tested.");
    return out;
  }
  Markup rows;
  for (const Step& each : run->steps)
    rows +=
        markup("<tr><th scope=\"row\">{}</th><td><span class=\"state {}\">{}</span></td><td>{}</td></tr>\n",
               each.name, to_string(each.state), to_string(each.state), each.summary);
  out += markup("{}<p>{}<a href=\"{}/test\">Logs of all steps</a></p>\n",
                wide("test", markup("<table class=\"stacked\">\n{}</table>", rows)),
                run->nodes ? fmt::format("Installed on {}. ", nodes_words(*run->nodes)) : std::string(),
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

// Before the commands that install it: why one may not want it.
Markup warnings(const Version& shown) {
  Markup out;
  if (shown.hidden)
    out += markup(
        "<p class=\"note bad\"><b>The moderators of this catalog hid {}.</b> The reason: {}. Only its author "
        "and "
        "moderators see this page.</p>\n",
        shown.is_package_hidden ? "this package" : "this version", *shown.hidden);
  if (shown.review == Review::Awaited)
    out += markup(
        "<p class=\"note\"><b>This version awaits its review.</b> Until a moderator approves it, only its "
        "author "
        "and moderators see this page.</p>\n");
  if (shown.review == Review::Rejected)
    out += markup(
        "<p class=\"note bad\"><b>The moderators of this catalog rejected this version.</b> The reason: {}. "
        "Only "
        "its author and moderators see this page. Publish the correction as another version.</p>\n",
        shown.rejected_because);
  if (shown.yanked)
    out +=
        markup("<p class=\"note\"><b>This version was yanked: {} against it.</b> {}</p>\n",
               shown.is_yanked_by_moderator ? "the moderators of this catalog advise" : "its author advises",
               shown.yanked->empty() ? "There is no reason given." : "The reason: " + *shown.yanked);
  if (shown.state == VersionState::Failed)
    out += markup(
        "<p class=\"note bad\"><b>This version failed its test.</b> <a href=\"{}/test\">See the "
        "logs</a></p>\n",
        version_path(shown));
  else if (shown.state != VersionState::Passed)
    out += markup("<p class=\"note\"><b>This version has not been tested yet.</b></p>\n");
  return out;
}

Markup left_out_words(const InputForm& form) {
  if (form.left_out == 0) return {};
  return markup("<p class=\"soft\">{}{} {} shown. Write them into the file.</p>\n",
                form.has_more ? "More than " : "", plural(form.left_out, "further input"),
                form.left_out == 1 ? "isn't" : "aren't");
}

Markup values_preview(const Version& version, const std::optional<Project>& project,
                      const FilledInputs& filled) {
  Markup out = warnings(version);
  for (const auto& [name, fault] : filled.faults)
    out += markup("<p class=\"failed\"><code>{}</code> {}.</p>\n", name, fault);
  out +=
      markup("<h2>values.yaml</h2>\n{}",
             file_block(filled.count == 0 ? "# the defaults\n"
                                          : encoding::to_yaml(filled.values, {.escape_directions = true})));
  if (is_for_kpm(version))
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
      "<noscript><p class=\"soft\">There is no preview of its objects: it needs JavaScript.</p></noscript>\n"
      "<section id=\"rendered\" aria-labelledby=\"rendered-title\" data-preview=\"{}\" data-worker=\"{}\" "
      "hidden>\n<h2 id=\"rendered-title\">Objects</h2>\n<p id=\"rendered-about\">Your browser runs the "
      "package itself, without network access, and shows the objects that it makes of these inputs. Secrets "
      "are placeholders: each installation has its own.</p>\n"
      "<p><button type=\"button\" id=\"rendered-start\" aria-describedby=\"rendered-about\">Preview</button> "
      "<button type=\"button\" id=\"rendered-stop\" hidden>Stop</button></p>\n"
      "<p id=\"rendered-status\" role=\"status\"></p>\n<div id=\"rendered-output\"></div>\n</section>\n"
      "<script src=\"{}\" defer></script>\n",
      fmt::format("/api/v1/packages/{}/versions/{}/preview", http::escape_segment(version.package),
                  http::escape_segment(version.version)),
      preview_worker_path(), preview_script_path());
}

}  // namespace

std::string home_page(const PageFrame& frame, const Store::Counts& counts,
                      const std::vector<Listed>& newest) {
  Markup content = markup(
      "<h1>Packages for Kubernetes, tested</h1>\n<p class=\"lead\">Every version here is fetched from its "
      "author's repository, checked, installed alone on a cluster, tested and removed again. Its page shows "
      "the result.</p>\n"
      "<ul class=\"figures\"><li><b>{}</b>packages</li><li><b>{}</b>versions</li><li><b>{}</b>passed their "
      "test"
      "</li><li><b>{}</b>waiting for their test</li></ul>\n",
      counts.packages, counts.versions, counts.passed, counts.waiting);
  content +=
      markup("<h2>Install a package</h2>\n{}",
             code_block(fmt::format("kpm archive-add --service catalog {}\nkpm update\nkpm install NAME",
                                    shell_word(frame.url))));
  content += markup(
      "<p><code>kpm</code> and <code>mistctl</code> are the programs of Mistletoe, a package manager for "
      "Kubernetes. Each package's page has their commands, and those for <code>kubectl</code>. "
      "<a href=\"/submit\">Submit a package of your own</a>.</p>\n<h2>Newest</h2>\n");
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
                    ? query_of(search).empty()
                          ? markup("<p>There is nothing yet.</p>\n")
                          : markup(
                                "<p>No package fits. Try fewer words, or look at <a href=\"/search\">all "
                                "packages</a>.</p>\n")
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
  const InputForm form = input_form(shown.facts);
  const std::vector<InputField>& fields = form.fields;
  const FilledInputs filled = fill_inputs(fields, answers);
  Markup content =
      markup("<h1>Inputs of {0} {1}</h1>\n<p>{2} <a href=\"{3}\">Back to {0} {1}</a></p>\n", shown.package,
             shown.version,
             fields.empty()
                 ? "This package declares no inputs."
                 : "Change what you need: an empty field keeps its default. You get a file of values, and "
                   "the commands that install with it.",
             version_path(shown));
  if (fields.empty()) {
    content += warnings(shown);
    content += preview_section(shown, preview);
    return frame_of(frame, fmt::format("Inputs of {} {}", shown.package, shown.version), content).text();
  }
  content += markup(
      "<div class=\"beside\">\n<form action=\"{}/inputs\" data-live=\"filled preview\" "
      "aria-label=\"Inputs\">\n{}{}<button>Show the file</button>\n</form>\n"
      "<section aria-label=\"The file\"><p id=\"filled\" role=\"status\">{}</p>\n<div "
      "id=\"preview\">\n{}</div>"
      "</section>\n</div>\n",
      version_path(shown), input_markup(fields, answers, filled), left_out_words(form), filled_words(filled),
      values_preview(shown, project, filled));
  content += preview_section(shown, preview);
  return frame_of(frame, fmt::format("Inputs of {} {}", shown.package, shown.version), content, Live::Yes)
      .text();
}

std::string package_page(const PageFrame& frame, const Version& shown,
                         const std::vector<VersionBrief>& versions, const PackageView& view) {
  const std::optional<Run>& run = view.run;
  Markup content =
      markup("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n<p>Version {}, published {} {}</p>\n{}", shown.package,
             shown.facts.description.empty() ? "No description." : shown.facts.description, shown.version,
             format_time(shown.created).substr(0, 10), state_mark(shown.state), warnings(shown));
  Markup left;
  if (!shown.digest.empty()) left += install_section(frame, shown, view.project);
  if (!shown.readme.empty())
    left += markup("<h2 id=\"readme\">Readme</h2>\n{}", markdown(shown.readme));
  else if (!shown.facts.details.empty())
    left += markup("<h2 id=\"readme\">About</h2>\n{}", markdown(shown.facts.details));
  left += inputs_section(shown);
  if (run) left += graph_picture(run->objects);
  if (run) left += security_section(run->security);
  left += dependencies_section(shown.facts);
  left += run_summary(shown, run);
  Markup right = facts_list(frame, shown, versions, view);
  right += versions_section(shown, versions);
  right += view.controls;
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
  Markup content = markup("<h1>Test of {0} {1}</h1>\n<p>{2} <a href=\"{3}\">Back to {0} {1}</a></p>\n",
                          shown.package, shown.version, state_mark(shown.state), version_path(shown));
  content += new_test_words(shown);
  if (!run || run->steps.empty()) {
    content += markup("<p>No step has finished yet.</p>\n");
  } else {
    content += markup(
        "<p class=\"soft\">Attempt {}{}. Lines of logs begin with the seconds since their step "
        "began.</p>\n",
        run->attempt, run->nodes ? ", on " + nodes_words(*run->nodes) : std::string());
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

std::string changes_page(const PageFrame& frame, const VersionBrief& shown,
                         const std::vector<VersionBrief>& versions, const VersionChanges& changes) {
  const std::string title = fmt::format("{} {} compared with {}", shown.package, changes.to, changes.from);
  Markup content = markup("<h1>{}</h1>\n<p><a href=\"{}\">Back to {} {}</a></p>\n{}", title,
                          version_path(shown.package, shown.version), shown.package, shown.version,
                          compared_with(shown, versions, changes.from));
  content += markup("<h2 id=\"objects\">Objects</h2>\n");
  if (!changes.objects_known) {
    content +=
        markup("<p>They can't be compared: {}.</p>\n",
               changes.too_long ? "those of one of the two versions are too large"
                                : "no test rendered one of the two versions, so its objects are unknown");
  } else {
    content += markup("<p>With the default values, {} changed and {} did not.</p>\n",
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
      "<code>manifests/</code>), a Helm chart, a Kustomize directory, templates, plain YAML of "
      "Kubernetes, or a WebAssembly module in <code>package.wasm</code>, as <code>mistctl package "
      "build</code> "
      "makes it. Its name must be that of the project, its version that of the tag.</p>\n<h2>2. An "
      "account</h2>\n<p><a "
      "href=\"/login\">Sign in</a>. "
      "Programs use a token.</p>\n<h2>3. Link it</h2>\n<p>On the page of your account, or with a "
      "token:</p>\n");
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

}  // namespace mist::catalog
