#pragma once
// Charts of a chart repository: what a kustomization names by `repo`, `name` and `version`, and what charts
// depend on. The repository is an index.yaml and archives behind https, as Helm has them. An archive is bytes
// here; who unpacks it for a package sits in a sandbox. Any thread.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "encoding/value.h"
#include "http/transport.h"
#include "registry/remote_file.h"

namespace mist::registry {

/// Where redirects of a repository and its index may lead: to public servers and those of oci_reach.h, or
/// wherever the transport lets them.
enum class RedirectScope : bool { PublicServers, Anywhere };

/// A repository, and how it is reached.
struct ChartServer {
  std::string url;            ///< https://charts.example.com
  std::string username = {};  ///< sent to the host of `url` alone
  std::string password = {};
  bool everywhere = false;  ///< the credentials go to wherever the index leads
  PlainHttp plain = PlainHttp::ThisMachine;
  RedirectScope redirects = RedirectScope::PublicServers;
};

/// One version of a chart in an index.
struct ChartVersion {
  std::string chart;
  std::string version;
  std::string url;     ///< absolute
  std::string digest;  ///< hexadecimal; empty: the index says none

  std::string file_name() const;       ///< what Helm calls the archive in charts/
  std::string provenance_url() const;  ///< of the file beside it
};

/// Succeeds if the index says one of `digests` for the chart, or none. The first is that of the archive.
/// Errors: Invalid.
Status check_index_digest(const ChartVersion& version, std::span<const crypto::Digest> digests);

/// A provenance file that was looked for.
struct ProvenanceFile {
  std::optional<std::string> text;  ///< nothing: there is none
  std::string place;                ///< where it was looked for, for people
};
using ReadProvenance = std::function<Result<ProvenanceFile>()>;

/// A chart as its repository gave it out, whoever signed it. Registries::checked_archive gives its bytes to
/// those that use them.
class DownloadedChart {
 public:
  /// `provenance`: how its file is read; empty: it is looked for beside the archive.
  DownloadedChart(ChartServer server, ChartVersion version, std::string archive,
                  ReadProvenance provenance = {})
      : server_(std::move(server)),
        version_(std::move(version)),
        archive_(std::move(archive)),
        provenance_(std::move(provenance)) {}

  const ChartServer& server() const { return server_; }
  const ChartVersion& version() const { return version_; }
  const ReadProvenance& provenance() const { return provenance_; }
  /// Succeeds if its Chart.yaml has the name and version of the entry in the index: an entry that leads to an
  /// older chart, or to another one, would have that used under this name. `index`: what it is called in
  /// messages. Errors: Invalid, also for what is no chart.
  Status check_is_it(std::string_view index) const;
  /// Of the archive.
  crypto::Digest digest() const { return crypto::sha256(archive_); }
  /// The archive, a .tgz. The trust policy wasn't asked yet: for code that asks it.
  const std::string& unchecked() const& { return archive_; }
  std::string unchecked() && { return std::move(archive_); }

 private:
  ChartServer server_;
  ChartVersion version_;
  std::string archive_;
  ReadProvenance provenance_;
};

/// Errors: Invalid (it may lead to another path than it says, so no rule could be held against it).
Status check_repository_address(const std::string& url);

/// Bounds of an index.
inline constexpr std::size_t kMaxCharts = 50'000;
inline constexpr std::size_t kMaxChartVersions = 500'000;

/// An index that was read. A plain value.
class ChartIndex {
 public:
  /// Errors: NotFound (there is no repository), Invalid (it can't be read), of check_repository_address and
  /// fetch_remote_file.
  static Result<ChartIndex> fetch(http::Transport& transport, ChartServer server, const Context& context);

  /// Of text that was read before. Errors: Invalid (it can't be read, or is beyond a bound).
  static Result<ChartIndex> parse(std::string_view text, ChartServer server);

  /// Every version of every chart that has an address, by name; newest first.
  std::map<std::string, std::vector<ChartVersion>> all() const;

  /// By Helm's rules: the version as it is written, else the newest in that range; empty: the newest, with
  /// `unfinished` prereleases too. NotFound, with what there is; Invalid (no range).
  Result<ChartVersion> find(const std::string& chart, const std::string& version,
                            bool unfinished = false) const;
  /// The newest in the range, whatever is written like it; as `helm dependency update` chooses.
  Result<ChartVersion> newest(const std::string& chart, const std::string& range) const;
  /// Its archive has the digest that the index says. Errors: NotFound, Invalid (it isn't the one of the
  /// index), of fetch_remote_file.
  Result<DownloadedChart> download(http::Transport& transport, const ChartVersion& version,
                                   const Context& context) const;

  const ChartServer& server() const { return server_; }

 private:
  Result<std::vector<ChartVersion>> versions(const std::string& chart) const;
  Error no_version(const std::string& chart, const std::string& wanted,
                   const std::vector<ChartVersion>& there) const;

  ChartServer server_;
  encoding::Value entries_;
};

/// The text of a repository's index, unless it is as `known` says. Errors: as ChartIndex::fetch.
Result<CheckedFile> fetch_chart_index(http::Transport& transport, const ChartServer& server,
                                      const FileValidators& known, const Context& context);

/// A chart that a kustomization names; the transport judges addresses.
struct ChartReference {
  std::string repository;   ///< https://charts.example.com
  std::string name;         ///< "web"
  std::string version;      ///< exact or a range, by Helm's rules; empty: the newest
  bool unfinished = false;  ///< without a version: prereleases too
};

/// Errors: NotFound (no repository there, no such chart or version, with those there are), Invalid (an index
/// that can't be read, an archive that isn't the one of the index), and those of fetch_remote_file.
Result<DownloadedChart> fetch_chart(http::Transport& transport, const ChartReference& chart,
                                    const Context& context);

/// The provenance file beside the archive; nothing: there is none. Errors: of fetch_remote_file.
Result<std::optional<std::string>> fetch_provenance(http::Transport& transport, const ChartServer& server,
                                                    const ChartVersion& version, const Context& context);

}  // namespace mist::registry
