#include "action/authoring/subcharts.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/parallel.h"
#include "base/replace_entries.h"
#include "base/text.h"
#include "encoding/semver.h"
#include "registry/local_source.h"

namespace mist::action {
namespace {

using registry::ChartDependency;
using registry::ChartFiles;
using registry::ChartLock;
using registry::ChartManifest;

constexpr std::uint64_t kMaxText = std::uint64_t{16} << 20;
constexpr std::string_view kCharts = "charts";
constexpr std::size_t kAtOnce = 16;  // requests: round trips are most of the time

std::string shown(const Path& path) { return escape_controls(path.string()); }

Result<std::optional<std::string>> read_if_there(const FileSystem& files, const Path& file) {
  if (!files.exists(file)) return std::optional<std::string>();
  MIST_TRY(std::string text, files.read(file, kMaxText));
  return std::optional(std::move(text));
}

// A chart's directory, as far as its dependencies go.
struct ChartHome {
  Path directory;
  ChartManifest manifest;
  std::optional<ChartLock> lock;

  Path charts() const { return directory / kCharts; }
  Path lock_file() const { return directory / manifest.lock_file(); }
};

Result<ChartHome> read_home(const FileSystem& files, const Path& chart) {
  if (!files.is_directory(chart)) {
    if (files.exists(chart))
      return error(ErrorKind::Invalid, "{} is not a directory", shown(chart))
          .with_hint("only an unpacked chart can get other dependencies");
    return error(ErrorKind::NotFound, "there is no directory {}", shown(chart))
        .with_hint("name the directory of a chart");
  }
  ChartHome home;
  home.directory = chart;
  MIST_TRY(const std::optional<std::string> text, read_if_there(files, chart / registry::kChartFile));
  if (!text)
    return error(ErrorKind::NotFound, "{} is not a chart: it has no {}", shown(chart), registry::kChartFile);
  MIST_TRY(const std::optional<std::string> requirements,
           read_if_there(files, chart / registry::kRequirementsFile));
  MIST_TRY(home.manifest, registry::read_chart_manifest(*text, requirements, shown(chart)));
  MIST_TRY(const std::optional<std::string> lock, read_if_there(files, home.lock_file()));
  if (lock) {
    MIST_TRY(home.lock, ChartLock::parse(*lock, shown(home.lock_file())));
  }
  return home;
}

Result<std::vector<ChartDependency>> resolved_all(const registry::SubchartSource& source,
                                                  const std::vector<ChartDependency>& wanted) {
  std::vector<ChartDependency> all;
  for (const ChartDependency& each : wanted) {
    MIST_TRY(ChartDependency one, source.resolved(each));
    all.push_back(std::move(one));
  }
  return all;
}

// A dependency without a repository is in charts/.
Status check_own(const FileSystem& files, const ChartHome& home, const ChartDependency& wanted) {
  const Path directory = home.charts() / wanted.name;
  if (!files.is_directory(directory))
    return error(ErrorKind::NotFound, "the dependency {} has no repository, and there is no directory {}",
                 wanted.name, shown(directory))
        .with_hint("name its repository in Chart.yaml, or put the chart there");
  MIST_TRY(registry::PackageTree tree, registry::read_directory_tree(files, directory));
  MIST_TRY(const ChartFiles chart, registry::chart_of(std::move(tree), shown(directory)));
  MIST_TRY(const bool fits, registry::fits_as_helm(wanted.version, chart.manifest.version));
  if (fits) return {};
  return error(ErrorKind::Invalid, "the dependency {} at version {} does not satisfy {}", wanted.name,
               escape_controls(chart.manifest.version), escape_controls(wanted.version))
      .with_hint("change the range in Chart.yaml, or the chart in charts/");
}

// A range leaves out a chart of another version when it is rendered, without a word.
Status check_wanted(const ChartHome& home, const ChartDependency& locked, const std::string& version) {
  for (const ChartDependency& each : home.manifest.dependencies) {
    if (each.name != locked.name) continue;
    MIST_TRY(const bool fits, registry::fits_as_helm(each.version, version));
    if (fits) return {};
  }
  return error(ErrorKind::Invalid, "the chart {} says that its version is {}, which no range of {} takes",
               locked.name, escape_controls(version), registry::kChartFile)
      .with_because(fmt::format("{} was asked for version {}", escape_controls(locked.repository),
                                escape_controls(locked.version)))
      .with_hint("ask the owner of the repository: its list and its charts disagree");
}

// The archives that charts/ will have, by file name.
using Archives = std::map<std::string, std::string>;

Status add_archive(Archives& archives, const registry::PackedSubchart& packed) {
  const auto [there, is_new] = archives.emplace(packed.file, packed.archive);
  if (is_new || there->second == packed.archive) return {};
  return error(ErrorKind::Invalid, "two dependencies are called {} in charts/, with other bytes",
               escape_controls(packed.file))
      .with_hint("they have one name and one version: publish one of them under another");
}

// Packed charts that are there and not wanted any more; who put a chart there without a repository keeps it.
Result<std::vector<std::string>> outdated(const FileSystem& files, const ChartHome& home,
                                          const Archives& archives) {
  std::vector<std::string> found;
  if (!files.is_directory(home.charts())) return found;
  std::set<std::string> own;
  for (const ChartDependency& each : home.manifest.dependencies)
    if (each.repository.empty()) own.insert(each.name);
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(home.charts()));
  for (const DirectoryEntry& entry : entries) {
    const bool packed = !entry.is_directory && entry.name.ends_with(".tgz") && !entry.name.starts_with('.');
    if (!packed || archives.contains(entry.name)) continue;
    const Result<std::string> bytes = files.read(home.charts() / entry.name, registry::kMaxPackageBytes);
    if (!bytes.ok()) continue;
    const auto chart = registry::unpack_chart(*bytes, entry.name);
    if (chart.ok() && !own.contains(chart->manifest.name)) found.push_back(entry.name);
  }
  return found;
}

// The charts that have a repository, in the order of `locked`; the others are in charts/ and stay nullopt.
Result<std::vector<std::optional<registry::PackedSubchart>>> fetch_packed(
    const SubchartDependencies& dependencies, registry::SubchartSource& source,
    const std::vector<ChartDependency>& locked, const Context& context) {
  std::vector<std::optional<registry::PackedSubchart>> packed(locked.size());
  MIST_TRY_VOID(parallel_for(locked.size(), kAtOnce, [&](std::size_t i) -> Status {
    const ChartDependency& each = locked[i];
    if (each.repository.empty()) return {};
    Activity activity(dependencies.events, fmt::format("fetching {} {}", each.name, each.version));
    auto fetched = source.fetch(each, context);
    if (!fetched) activity.fail();
    MIST_TRY(packed[i], std::move(fetched).in(fmt::format("while fetching the dependency {}", each.name)));
    return {};
  }));
  return packed;
}

Result<SubchartReport> fetch_all(const SubchartDependencies& dependencies, const ChartHome& home,
                                 registry::SubchartSource& source, const std::vector<ChartDependency>& locked,
                                 const Context& context) {
  SubchartReport report;
  report.lock_file = home.lock_file();
  for (const ChartDependency& each : locked)
    if (each.repository.empty()) MIST_TRY_VOID(check_own(dependencies.files, home, each));
  Archives archives;
  MIST_TRY(const auto packed, fetch_packed(dependencies, source, locked, context));
  for (std::size_t i = 0; i < locked.size(); ++i) {
    const ChartDependency& each = locked[i];
    report.charts.push_back({each.name, each.version, each.repository, each.name});
    if (!packed[i]) continue;
    MIST_TRY_VOID(check_wanted(home, each, packed[i]->version));
    MIST_TRY_VOID(add_archive(archives, *packed[i]));
    report.charts.back().file = packed[i]->file;
  }
  std::set<std::string> written;
  std::vector<TreeFile> files;
  for (const auto& [name, bytes] : archives) {
    const Result<std::string> there =
        dependencies.files.read(home.charts() / name, registry::kMaxPackageBytes);
    if (there.ok() && *there == bytes) continue;
    files.push_back({name, bytes});
    written.insert(name);
  }
  for (SubchartReport::Chart& each : report.charts) each.written = written.contains(each.file);
  MIST_TRY(report.removed, outdated(dependencies.files, home, archives));
  if (!files.empty() || !report.removed.empty())
    MIST_TRY_VOID(replace_entries(dependencies.files, home.charts(), files, report.removed));
  return report;
}

Result<SubchartReport> update(const SubchartDependencies& dependencies, const ChartHome& home,
                              const Context& context) {
  SubchartReport nothing;
  nothing.lock_file = home.lock_file();
  if (home.manifest.dependencies.empty()) return nothing;
  registry::SubchartSource source(dependencies.source, home.directory);
  MIST_TRY(const std::vector<ChartDependency> wanted, resolved_all(source, home.manifest.dependencies));
  std::vector<ChartDependency> locked;
  for (const ChartDependency& each : wanted) locked.push_back({each.name, each.version, each.repository});
  MIST_TRY_VOID(parallel_for(wanted.size(), kAtOnce, [&](std::size_t i) -> Status {
    const ChartDependency& each = wanted[i];
    if (each.repository.empty()) return {};
    MIST_TRY(locked[i].version,
             source.newest(each, context)
                 .in(fmt::format("while choosing a version of the dependency {}", each.name)));
    return {};
  }));
  MIST_TRY(SubchartReport report, fetch_all(dependencies, home, source, locked, context));
  const ChartLock lock = registry::lock_of(wanted, std::move(locked), dependencies.clock.now());
  if (home.lock && home.lock->digest == lock.digest) return report;
  MIST_TRY_VOID(dependencies.files.write(home.lock_file(), lock.to_text(), kUsersFile));
  report.lock_written = true;
  return report;
}

// Helm's view of one dependency, by the files of a chart.
class Shelf {
 public:
  explicit Shelf(const registry::PackageTree& tree) {
    const std::string prefix = fmt::format("{}/", kCharts);
    std::map<std::string, registry::PackageTree> directories;
    for (const registry::PackageFile& file : tree.files) {
      if (!file.path.starts_with(prefix)) continue;
      const std::string rest = file.path.substr(prefix.size());
      const auto slash = rest.find('/');
      if (slash != std::string::npos) {
        directories[rest.substr(0, slash)].files.push_back({rest.substr(slash + 1), file.bytes});
      } else if (rest.ends_with(".tgz")) {
        auto chart = registry::unpack_chart(file.bytes, rest);
        packed_.emplace(rest, chart.ok() ? std::optional(std::move(chart->manifest)) : std::nullopt);
      }
    }
    for (auto& [name, files] : directories) {
      auto chart = registry::chart_of(std::move(files), name);
      unpacked_.emplace(name, chart.ok() ? std::optional(std::move(chart->manifest)) : std::nullopt);
    }
  }

  std::string status(const ChartDependency& wanted) const {
    std::vector<std::string> archives;
    for (const auto& [file, manifest] : packed_)
      if (file.starts_with(wanted.name + "-")) archives.push_back(file);
    if (archives.size() > 1) {
      std::erase_if(archives, [&](const std::string& file) {
        const std::size_t start = wanted.name.size() + 1;
        return !encoding::SemVer::parse(file.substr(start, file.size() - start - 4)).ok();
      });
      if (archives.size() > 1) return "too many matches";
    }
    if (archives.size() == 1) return of_archive(packed_.at(archives.front()), wanted);
    for (const auto* const shelf : {&packed_, &unpacked_})
      for (const auto& [file, manifest] : *shelf)
        if (manifest && manifest->name == wanted.name) return of_version(*manifest, wanted, "unpacked");
    return "missing";
  }

  void report_others(const std::vector<ChartDependency>& wanted, SubchartList& list) const {
    for (const auto* const shelf : {&packed_, &unpacked_})
      for (const auto& [file, manifest] : *shelf) {
        if (!manifest)
          list.not_charts.push_back(fmt::format("{}/{}", kCharts, file));
        else if (std::ranges::find(wanted, manifest->name, &ChartDependency::name) == wanted.end())
          list.not_wanted.push_back(fmt::format("{}/{}", kCharts, file));
      }
  }

 private:
  static std::string of_archive(const std::optional<ChartManifest>& manifest, const ChartDependency& wanted) {
    if (!manifest) return "corrupt";
    if (manifest->name != wanted.name) return "misnamed";
    return of_version(*manifest, wanted, "ok");
  }

  static std::string of_version(const ChartManifest& manifest, const ChartDependency& wanted,
                                std::string_view fine) {
    if (manifest.version == wanted.version) return std::string(fine);
    const Result<bool> fits = registry::fits_as_helm(wanted.version, manifest.version);
    if (!fits.ok()) return "invalid version";
    return std::string(*fits ? fine : "wrong version");
  }

  // By their name in charts/; nullopt: it is not a chart.
  std::map<std::string, std::optional<ChartManifest>> packed_;
  std::map<std::string, std::optional<ChartManifest>> unpacked_;
};

}  // namespace

Result<SubchartReport> update_subcharts(const SubchartDependencies& dependencies, const Path& chart,
                                        const Context& context) {
  MIST_TRY(const ChartHome home, read_home(dependencies.files, chart));
  return update(dependencies, home, context);
}

Result<SubchartReport> build_subcharts(const SubchartDependencies& dependencies, const Path& chart,
                                       const Context& context) {
  MIST_TRY(const ChartHome home, read_home(dependencies.files, chart));
  if (!home.lock) return update(dependencies, home, context);
  registry::SubchartSource source(dependencies.source, home.directory);
  MIST_TRY(const std::vector<ChartDependency> wanted, resolved_all(source, home.manifest.dependencies));
  if (!registry::is_in_step(*home.lock, home.manifest, wanted))
    return error(ErrorKind::Invalid, "the lock file ({}) is out of sync with the dependencies file ({})",
                 home.manifest.lock_file(),
                 home.manifest.original ? registry::kRequirementsFile : registry::kChartFile)
        .with_hint(fmt::format("mistctl dependency update {}", shell_word(chart.string())));
  MIST_TRY(const std::vector<ChartDependency> locked, resolved_all(source, home.lock->dependencies));
  return fetch_all(dependencies, home, source, locked, context);
}

Result<SubchartList> list_subcharts(const FileSystem& files, const Path& chart) {
  registry::PackageTree tree;
  if (files.is_directory(chart)) {
    MIST_TRY(tree, registry::read_directory_tree(files, chart));
  } else {
    MIST_TRY(std::string bytes, files.read(chart, registry::kMaxPackageBytes));
    tree.files.push_back({"chart.tgz", std::move(bytes)});
  }
  MIST_TRY(const ChartFiles found, registry::chart_of(std::move(tree), shown(chart)));
  const Shelf shelf(found.tree);
  SubchartList list;
  for (const ChartDependency& each : found.manifest.dependencies)
    list.rows.push_back({each.name, each.version, each.repository, shelf.status(each)});
  shelf.report_others(found.manifest.dependencies, list);
  return list;
}

}  // namespace mist::action
