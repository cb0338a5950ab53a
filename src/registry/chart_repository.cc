#include "registry/chart_repository.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/url.h"
#include "config/redact.h"
#include "crypto/digest.h"
#include "encoding/semver.h"
#include "encoding/yaml.h"
#include "http/url.h"
#include "oci/reference.h"
#include "registry/chart_archive.h"
#include "registry/remote_file.h"
#include "registry/version_order.h"
#include "trust/chart_address.h"
#include "trust/provenance.h"

namespace mist::registry {
namespace {

using encoding::SemVer;
using encoding::SemVerRange;
using encoding::Value;

std::string shown(std::string_view url) { return escape_controls(config::redact_urls(url)); }

// As Helm's ResolveReferenceURL: what isn't absolute has the query of the repository (tokens of artifact
// servers), whatever was its own.
std::string in_repository(std::string_view repository, std::string_view to) {
  if (!scheme_of(to).empty()) return std::string(to);
  repository = repository.substr(0, repository.find('#'));
  const auto query = std::min(repository.find('?'), repository.size());
  std::string base(repository.substr(0, query));
  if (!base.ends_with('/')) base += '/';
  const std::string url = resolved_url(base, to);
  return url.substr(0, url.find_first_of("?#")) + std::string(repository.substr(query));
}

std::optional<ChartVersion> first_in(const SemVerRange& range, const std::vector<ChartVersion>& versions) {
  for (const ChartVersion& each : versions) {
    const Result<SemVer> version = SemVer::parse_lenient(each.version);
    if (version && range.contains_as_helm(*version)) return each;
  }
  return std::nullopt;
}

// With the user in it, so that every request has it and a redirect to elsewhere doesn't.
std::string with_login(const ChartServer& server, const std::string& url) {
  if (server.username.empty() || !(server.everywhere || same_origin(server.url, url))) return url;
  return with_userinfo(url, fmt::format("{}:{}", http::escape_segment(server.username),
                                        http::escape_segment(server.password)));
}

FileReach reach_of(const ChartServer& server) {
  return {.plain = server.plain, .repository = server.redirects == RedirectScope::Anywhere ? "" : server.url};
}

Error nothing_there(const std::string& url) {
  return error(ErrorKind::NotFound, "there is no {}", shown(url))
      .with_hint("check the address of the chart repository: it is that which `helm repo add` takes");
}

Result<std::string> must_fetch(http::Transport& transport, const ChartServer& server, const std::string& url,
                               const Context& context) {
  MIST_TRY(std::optional<std::string> content,
           fetch_remote_file(transport, with_login(server, url), context, reach_of(server)));
  if (content) return *std::move(content);
  return nothing_there(url);
}

// A server may list more than anybody reads.
Status check_bounds(const Value& entries, const std::string& name) {
  const auto too_many = [&](std::string_view what, std::size_t most) {
    return error(ErrorKind::Invalid, "{} lists more than {} {}", name, most, what);
  };
  if (entries.as_object().size() > kMaxCharts) return too_many("charts", kMaxCharts);
  std::size_t versions = 0;
  for (const Value::Member& each : entries.as_object())
    versions += each.value.is_array() ? each.value.size() : 0;
  return versions > kMaxChartVersions ? Status(too_many("versions", kMaxChartVersions)) : Status();
}

}  // namespace

std::string ChartVersion::file_name() const {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  std::string name = percent_decoded(path.substr(path.rfind('/') + 1));
  const bool fine = name.ends_with(".tgz") && !name.starts_with('.') && name.find('/') == std::string::npos;
  return fine ? name : fmt::format("{}-{}.tgz", chart, version);
}

// A token in the query is the file's too.
std::string ChartVersion::provenance_url() const {
  const auto end = std::min(url.find_first_of("?#"), url.size());
  return fmt::format("{}{}{}", url.substr(0, end), trust::kProvenanceEnding, url.substr(end));
}

Status check_index_digest(const ChartVersion& version, std::span<const crypto::Digest> digests) {
  const auto is_said = [&](const crypto::Digest& digest) { return digest.hex() == version.digest; };
  if (version.digest.empty() || std::ranges::any_of(digests, is_said)) return {};
  return error(ErrorKind::Invalid, "{} isn't the chart {} {} of its index", shown(version.url),
               escape_controls(version.chart), escape_controls(version.version))
      .with_because(fmt::format("its SHA-256 is {}, and the index says {}", digests.front().hex(),
                                escape_controls(version.digest)))
      .with_hint("somebody changed one of them: ask the owner of the repository");
}

Status DownloadedChart::check_is_it(std::string_view index) const {
  const std::string place = shown(version_.url);
  MIST_TRY(const ChartFiles chart, unpack_chart(archive_, place));
  const ChartManifest& is = chart.manifest;
  const auto wanted = SemVer::parse_lenient(version_.version);
  const auto version = SemVer::parse_lenient(is.version);
  // "v1.2" is 1.2.0. Build metadata has no part in the order of versions, and yet makes another chart.
  const bool is_version =
      is.version == version_.version ||
      (wanted.ok() && version.ok() && *wanted == *version && wanted->build == version->build);
  if (is.name == version_.chart && is_version) return {};
  return error(ErrorKind::Invalid, "{} isn't the chart {} {} of the index of {}", place,
               escape_controls(version_.chart), escape_controls(version_.version), index)
      .with_because(
          fmt::format("its Chart.yaml says {} {}", escape_controls(is.name), escape_controls(is.version)))
      .with_hint("ask the owner of the repository: its index and its charts disagree");
}

Status check_repository_address(const std::string& url) {
  const std::string why = trust::objection_to_chart_address(url);
  if (why.empty()) return {};
  return error(ErrorKind::Invalid, "{} can't be used as the address of a chart repository: {}", shown(url),
               why)
      .with_because("rules of the trust policy are held against the address as it is written")
      .with_hint("write the path that it stands for");
}

Result<ChartIndex> ChartIndex::fetch(http::Transport& transport, ChartServer server, const Context& context) {
  MIST_TRY_VOID(check_repository_address(server.url));
  MIST_TRY(const std::string text,
           must_fetch(transport, server, in_repository(server.url, "index.yaml"), context));
  return parse(text, std::move(server));
}

Result<CheckedFile> fetch_chart_index(http::Transport& transport, const ChartServer& server,
                                      const FileValidators& known, const Context& context) {
  const std::string url = in_repository(server.url, "index.yaml");
  MIST_TRY(CheckedFile file,
           fetch_changed_file(transport, with_login(server, url), known, context, reach_of(server)));
  if (!file.content && !file.unchanged) return nothing_there(url);
  return file;
}

Result<ChartIndex> ChartIndex::parse(std::string_view text, ChartServer server) {
  const std::string name = fmt::format("the index of {}", shown(server.url));
  Result<Value> parsed = encoding::parse_yaml(text);
  if (!parsed) return error(ErrorKind::Invalid, "{} can't be read", name).caused_by(parsed.error());
  Value* const entries = parsed->find("entries");
  if (entries == nullptr || !entries->is_object())
    return error(ErrorKind::Invalid, "{} lists no charts", name)
        .with_hint("is it the address of a chart repository? `helm repo add` takes the same");
  MIST_TRY_VOID(check_bounds(*entries, name));
  ChartIndex index;
  index.server_ = std::move(server);
  index.entries_ = std::move(*entries);
  return index;
}

// Newest first.
Result<std::vector<ChartVersion>> ChartIndex::versions(const std::string& chart) const {
  const Value* const versions = entries_.find(chart);
  if (versions == nullptr || !versions->is_array()) {
    std::vector<std::string_view> names;
    for (const Value::Member& each : entries_.as_object()) names.push_back(each.key);
    const std::string_view near = nearest(chart, names);
    return error(ErrorKind::NotFound, "there is no chart {} in {}", escape_controls(chart),
                 shown(server_.url))
        .with_hint(near.empty() ? "" : fmt::format("did you mean {}?", escape_controls(near)));
  }
  std::vector<ChartVersion> found;
  for (const Value& each : versions->as_array()) {
    const Value* const urls = each.find("urls");
    if (urls == nullptr || !urls->is_array() || urls->empty() || !urls->as_array().front().is_string())
      continue;
    std::string_view digest = each.string_at("digest");
    constexpr std::string_view kAlgorithm = "sha256:";
    if (digest.starts_with(kAlgorithm)) digest.remove_prefix(kAlgorithm.size());
    found.push_back({chart, std::string(each.string_at("version")),
                     in_repository(server_.url, urls->as_array().front().as_string()), std::string(digest)});
  }
  std::ranges::stable_sort(found, [](const ChartVersion& a, const ChartVersion& b) {
    return compare_versions(a.version, b.version) > 0;
  });
  return found;
}

std::map<std::string, std::vector<ChartVersion>> ChartIndex::all() const {
  std::map<std::string, std::vector<ChartVersion>> charts;
  for (const Value::Member& each : entries_.as_object())
    if (Result<std::vector<ChartVersion>> some = versions(each.key); some && !some->empty())
      charts.emplace(each.key, *std::move(some));
  return charts;
}

Error ChartIndex::no_version(const std::string& chart, const std::string& wanted,
                             const std::vector<ChartVersion>& there) const {
  std::vector<std::string> some;
  for (const ChartVersion& each : there) {
    if (some.size() < 5) some.push_back(escape_controls(each.version));
  }
  return error(ErrorKind::NotFound, "there is no version {} of the chart {} in {}",
               wanted.empty() ? "that is finished" : escape_controls(wanted), escape_controls(chart),
               shown(server_.url))
      .with_hint(some.empty() ? "" : fmt::format("the newest there: {}", join(some, ", ")));
}

Result<ChartVersion> ChartIndex::find(const std::string& chart, const std::string& version,
                                      bool unfinished) const {
  MIST_TRY(const std::vector<ChartVersion> there, versions(chart));
  if (const auto exact = std::ranges::find(there, version, &ChartVersion::version);
      !version.empty() && exact != there.end())
    return *exact;
  const std::string any = unfinished ? ">0.0.0-0" : "*";
  MIST_TRY(const SemVerRange range, SemVerRange::parse(version.empty() ? any : version));
  if (const auto newest = first_in(range, there)) return *newest;
  return no_version(chart, version, there);
}

Result<ChartVersion> ChartIndex::newest(const std::string& chart, const std::string& range) const {
  MIST_TRY(const std::vector<ChartVersion> there, versions(chart));
  MIST_TRY(const SemVerRange parsed, SemVerRange::parse(range.empty() ? "*" : range));
  if (const auto newest = first_in(parsed, there)) return *newest;
  return no_version(chart, range, there);
}

Result<DownloadedChart> ChartIndex::download(http::Transport& transport, const ChartVersion& version,
                                             const Context& context) const {
  if (version.url.starts_with(oci::kScheme))
    return error(ErrorKind::Invalid, "the chart {} {} of {} is in an OCI registry",
                 escape_controls(version.chart), escape_controls(version.version), shown(server_.url))
        .with_because(fmt::format("its index leads to {}", shown(version.url)))
        .with_hint("name it there");
  MIST_TRY(std::string archive, must_fetch(transport, server_, version.url, context));
  const crypto::Digest digest = crypto::sha256(archive);
  MIST_TRY_VOID(check_index_digest(version, std::span(&digest, 1)));
  return DownloadedChart(server_, version, std::move(archive));
}

Result<DownloadedChart> fetch_chart(http::Transport& transport, const ChartReference& chart,
                                    const Context& context) {
  MIST_TRY(
      const ChartIndex index,
      ChartIndex::fetch(transport, {.url = chart.repository, .redirects = RedirectScope::Anywhere}, context));
  MIST_TRY(const ChartVersion version, index.find(chart.name, chart.version, chart.unfinished));
  return index.download(transport, version, context);
}

Result<std::optional<std::string>> fetch_provenance(http::Transport& transport, const ChartServer& server,
                                                    const ChartVersion& version, const Context& context) {
  return fetch_remote_file(transport, with_login(server, version.provenance_url()), context, reach_of(server),
                           trust::kMaxProvenanceBytes);
}

}  // namespace mist::registry
