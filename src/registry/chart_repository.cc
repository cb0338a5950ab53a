#include "registry/chart_repository.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "config/redact.h"
#include "crypto/digest.h"
#include "encoding/semver.h"
#include "encoding/yaml.h"
#include "http/url.h"
#include "registry/remote_file.h"
#include "registry/version_order.h"

namespace mist::registry {
namespace {

using encoding::SemVer;
using encoding::SemVerRange;
using encoding::Value;

std::string shown(std::string_view url) { return escape_controls(config::redact_urls(url)); }

// One version of the chart in the index.
struct Entry {
  std::string version;
  std::string url;
  std::string digest;  // hexadecimal; empty: the index says none
};

// As Helm's ResolveReferenceURL: what isn't absolute has the query of the repository (tokens of artifact
// servers), whatever was its own.
std::string in_repository(std::string_view repository, std::string_view to) {
  if (http::has_scheme(to)) return std::string(to);
  repository = repository.substr(0, repository.find('#'));
  const auto query = std::min(repository.find('?'), repository.size());
  std::string base(repository.substr(0, query));
  if (!base.ends_with('/')) base += '/';
  const std::string url = http::resolved_url(base, to);
  return url.substr(0, url.find_first_of("?#")) + std::string(repository.substr(query));
}

Result<std::vector<Entry>> read_index(std::string_view text, const ChartReference& chart) {
  const std::string name = fmt::format("the index of {}", shown(chart.repository));
  const Result<Value> parsed = encoding::parse_yaml(text);
  if (!parsed) return error(ErrorKind::Invalid, "{} can't be read", name).caused_by(parsed.error());
  const Value* const entries = parsed->find("entries");
  if (entries == nullptr || !entries->is_object())
    return error(ErrorKind::Invalid, "{} lists no charts", name)
        .with_hint("is it the address of a chart repository? `helm repo add` takes the same");
  const Value* const versions = entries->find(chart.name);
  if (versions == nullptr || !versions->is_array())
    return error(ErrorKind::NotFound, "there is no chart {} in {}", escape_controls(chart.name),
                 shown(chart.repository));
  std::vector<Entry> found;
  for (const Value& each : versions->as_array()) {
    const Value* const urls = each.find("urls");
    if (urls == nullptr || !urls->is_array() || urls->empty() || !urls->as_array().front().is_string())
      continue;
    std::string_view digest = each.string_at("digest");
    constexpr std::string_view kAlgorithm = "sha256:";
    if (digest.starts_with(kAlgorithm)) digest.remove_prefix(kAlgorithm.size());
    found.push_back(
        {std::string(each.string_at("version")), urls->as_array().front().as_string(), std::string(digest)});
  }
  std::ranges::stable_sort(
      found, [](const Entry& a, const Entry& b) { return compare_versions(a.version, b.version) > 0; });
  return found;
}

// Helm's rule: the version as it is written, else the newest in the range.
Result<Entry> choose(const std::vector<Entry>& entries, const ChartReference& chart) {
  if (const auto exact = std::ranges::find(entries, chart.version, &Entry::version);
      !chart.version.empty() && exact != entries.end())
    return *exact;
  MIST_TRY(const SemVerRange range, SemVerRange::parse(!chart.version.empty() ? chart.version
                                                       : chart.unfinished     ? ">0.0.0-0"
                                                                              : "*"));
  for (const Entry& entry : entries) {
    const Result<SemVer> version = SemVer::parse_lenient(entry.version);
    if (version && range.contains_as_helm(*version)) return entry;
  }
  std::vector<std::string> some;
  for (const Entry& entry : entries) {
    if (some.size() < 5) some.push_back(escape_controls(entry.version));
  }
  return error(ErrorKind::NotFound, "there is no version {} of the chart {} in {}",
               chart.version.empty() ? "that is finished" : escape_controls(chart.version),
               escape_controls(chart.name), shown(chart.repository))
      .with_hint(some.empty() ? "" : fmt::format("the newest there: {}", join(some, ", ")));
}

Result<std::string> must_fetch(http::Transport& transport, const std::string& url, const Context& context) {
  MIST_TRY(std::optional<std::string> content, fetch_remote_file(transport, url, context));
  if (content) return *std::move(content);
  return error(ErrorKind::NotFound, "there is no {}", shown(url))
      .with_hint("check `repo`: it is the address of a chart repository, as `helm repo add` takes it");
}

}  // namespace

Result<std::string> fetch_chart(http::Transport& transport, const ChartReference& chart,
                                const Context& context) {
  MIST_TRY(const std::string index,
           must_fetch(transport, in_repository(chart.repository, "index.yaml"), context));
  MIST_TRY(const std::vector<Entry> entries, read_index(index, chart));
  MIST_TRY(const Entry entry, choose(entries, chart));
  const std::string url = in_repository(chart.repository, entry.url);
  MIST_TRY(std::string archive, must_fetch(transport, url, context));
  const std::string digest = crypto::sha256(archive).hex();
  if (!entry.digest.empty() && digest != entry.digest)
    return error(ErrorKind::Invalid, "{} isn't the chart {} {} of its index", shown(url),
                 escape_controls(chart.name), escape_controls(entry.version))
        .with_because(
            fmt::format("its SHA-256 is {}, and the index says {}", digest, escape_controls(entry.digest)))
        .with_hint("somebody changed one of them: ask the owner of the repository");
  return archive;
}

}  // namespace mist::registry
