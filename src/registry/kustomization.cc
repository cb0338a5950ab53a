#include "registry/kustomization.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "registry/local_source.h"

namespace mist::registry {
namespace {

using encoding::Value;

constexpr std::array<std::string_view, 3> kNames{"kustomization.yaml", "kustomization.yml", "Kustomization"};
constexpr std::string_view kChart = "Chart.yaml";
// Beside the kustomization of a package: what it says of itself, and which versions it was resolved to.
constexpr std::string_view kOwnFiles[] = {"mistletoe.yaml", "mistletoe.lock"};
constexpr std::size_t kMaxKustomizations = 1000;
constexpr std::size_t kMaxPath = 4096;
// Of YAML that is read to find the names of files in it, and of texts looked at for that: some seconds.
constexpr std::size_t kMostParsed = std::size_t{128} << 20;
constexpr std::size_t kMostNames = 1'000'000;

// Fields of a kustomization whose items are directories, or files.
constexpr std::array<std::string_view, 6> kBases{"resources",  "bases",        "components",
                                                 "generators", "transformers", "validators"};
// Those of them whose files configure something, and so name files in turn.
constexpr std::array<std::string_view, 3> kPlugins{"generators", "transformers", "validators"};
// Fields that hold nothing but names of files: one outside of the kustomization's directory is a mistake.
constexpr std::array<std::string_view, 9> kFiles{
    "additionalValuesFiles", "path", "files", "envs", "env", "crds", "configurations", "valuesFile",
    "patchesStrategicMerge"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_below(std::string_view path, std::string_view directory) {
  return directory.empty() || path == directory ||
         (path.starts_with(directory) && path[directory.size()] == '/');
}

// Nothing if it leads above the top.
std::optional<std::string> resolved(const std::string& directory, std::string_view name) {
  std::string path = (Path(directory) / Path(name)).lexically_normal().generic_string();
  while (path.ends_with('/')) path.pop_back();
  if (path == ".") path.clear();
  if (path == ".." || path.starts_with("../")) return std::nullopt;
  return path;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string common_parent(const std::string& a, const std::string& b) {
  std::string shared = a;
  while (!is_below(b, shared)) shared = parent_of(shared);
  return shared;
}

// The highest directory that the way from a directory along a relative path leads through: `..` counts as it
// is written, though it may come back by name.
std::string top_of_way(const std::string& directory, std::string_view name) {
  std::string at = directory;
  std::string top = directory;
  for (const std::string_view part : split(name, '/')) {
    if (part != "..") {
      if (!part.empty() && part != ".") at = at.empty() ? std::string(part) : fmt::format("{}/{}", at, part);
      continue;
    }
    at = parent_of(at);
    if (at.size() < top.size()) top = at;
  }
  return top;
}

std::string shown_path(std::string_view path) { return path.empty() ? "." : escape_controls(path); }

// A Helm chart as a kustomization, or the configuration of a generator, names it.
struct NamedChart {
  std::string_view home, name, version, repository;
};

constexpr std::string_view kChartHome = "charts";
constexpr std::string_view kChartGenerator = "HelmChartInflationGenerator";

// A list's objects; none of anything else.
std::vector<const Value*> objects_in(const Value* list) {
  std::vector<const Value*> found;
  if (list == nullptr || !list->is_array()) return found;
  for (const Value& item : list->as_array())
    if (item.is_object()) found.push_back(&item);
  return found;
}

std::vector<NamedChart> charts_named_by(const Value& document) {
  std::vector<NamedChart> charts;
  if (document.string_at("kind") == kChartGenerator) {
    charts.push_back({document.string_at("chartHome"), document.string_at("name"),
                      document.string_at("version"), document.string_at("repo")});
    return charts;
  }
  std::string_view home = document.string_at({"helmGlobals", "chartHome"});
  // The older form, which kustomize turns into the newer one: the last place counts for all.
  const std::vector<const Value*> old = objects_in(document.find("helmChartInflationGenerator"));
  for (const Value* const each : old)
    if (const auto own = each->string_at("chartHome");
        !own.empty() && document.find("helmGlobals") == nullptr)
      home = own;
  for (const Value* const each : old)
    charts.push_back({home, each->string_at("chartName"), each->string_at("chartVersion"),
                      each->string_at("chartRepoUrl")});
  for (const Value* const each : objects_in(document.find("helmCharts")))
    charts.push_back({home, each->string_at("name"), each->string_at("version"), each->string_at("repo")});
  return charts;
}

// Where kustomize looks for it before it asks its repository.
std::string directory_of(const NamedChart& chart) {
  std::string directory(chart.home.empty() ? kChartHome : chart.home);
  if (!chart.version.empty() && !chart.repository.empty())
    directory += fmt::format("/{}-{}", chart.name, chart.version);
  return fmt::format("{}/{}", directory, chart.name);
}

std::vector<Value> documents_of(std::string_view text) {
  return encoding::parse_yaml_documents(text).value_or(std::vector<Value>());
}

class Reader {
 public:
  Reader(const KustomizationSource& source, const std::string& root)
      : source_(source), room_(fmt::format("the kustomization {}", shown_path(root))) {}

  Result<PackageTree> read(const std::string& root, TreeTop top) {
    enter(root);
    while (!pending_.empty()) {
      const std::vector<std::string> directories = std::exchange(pending_, {});
      MIST_TRY(const std::vector<NamedFile> kustomizations, find(directories));
      MIST_TRY_VOID(take(kustomizations));
      for (const NamedFile& file : kustomizations)
        MIST_TRY_VOID(kustomization(file, contents_.at(file.path)));
      MIST_TRY_VOID(plugins());
    }
    for (const std::string_view name : kOwnFiles) {
      const std::string own = joined(root, name);
      if (top == TreeTop::Common && source_.is_file(own)) named_[own] = root;
    }
    MIST_TRY_VOID(read_named());
    MIST_TRY_VOID(made_plugins());
    return top == TreeTop::Common ? tree(root) : whole();
  }

 private:
  // A text of which we know where it stands.
  struct Place {
    std::string directory;
    std::string file;
    std::string_view text;
  };

  // A text that can't be parsed names nothing; the engine says what is wrong with it. All of them together
  // are bounded: the same text may be read for each of a thousand directories.
  Result<std::vector<Value>> parsed(std::string_view text) {
    if (text.size() > parse_room_)
      return error(ErrorKind::Invalid,
                   "the kustomization is too large: more than {} MiB of YAML would have to be read",
                   kMostParsed >> 20)
          .with_hint("name fewer directories among its generators, or smaller files");
    parse_room_ -= text.size();
    return documents_of(text);
  }

  // Each file is charged when it is read: all that is named of one repository can be thousands of times as
  // large as a package may be.
  Status keep(std::string path, std::string bytes) {
    if (contents_.contains(path)) return {};
    MIST_TRY_VOID(room_.take(bytes.size()));
    contents_.emplace(std::move(path), std::move(bytes));
    return {};
  }

  // Each is read once, however often it is named.
  Status take(const std::vector<NamedFile>& files) {
    std::map<std::string, std::string> lacking;
    for (const auto& [path, directory] : files)
      if (!contents_.contains(path)) lacking.emplace(path, directory);
    std::vector<NamedFile> wanted;
    for (const auto& [path, directory] : lacking) wanted.push_back({path, directory});
    MIST_TRY(std::vector<std::string> texts, source_.read(wanted));
    for (std::size_t i = 0; i < texts.size(); ++i)
      MIST_TRY_VOID(keep(std::move(wanted[i].path), std::move(texts[i])));
    return {};
  }

  void enter(const std::string& directory) {
    if (seen_.insert(directory).second) pending_.push_back(directory);
  }

  // All of the three names that there are: with two, the engine says so.
  Result<std::vector<NamedFile>> find(const std::vector<std::string>& directories) const {
    if (seen_.size() > kMaxKustomizations)
      return error(ErrorKind::Invalid, "the kustomization needs more than {} others", kMaxKustomizations)
          .with_hint("is this the right directory?");
    std::vector<NamedFile> found;
    for (const std::string& directory : directories) {
      MIST_TRY_VOID(source_.check_directory(directory));
      for (const std::string_view name : kNames) {
        std::string path = joined(directory, name);
        if (source_.is_file(path)) found.push_back({std::move(path), directory});
      }
    }
    return found;
  }

  Status kustomization(const NamedFile& file, const std::string& text) {
    const Place place{file.directory, source_.shown(file.path), text};
    MIST_TRY(const std::vector<Value> documents, parsed(text));
    for (const Value& document : documents) {
      if (!document.is_object()) continue;
      for (const Value::Member& member : document.as_object()) {
        if (is_one_of(member.key, kBases) && member.value.is_array()) {
          const bool configures = is_one_of(member.key, kPlugins);
          for (const Value& item : member.value.as_array()) MIST_TRY_VOID(base(place, item, configures));
        }
        MIST_TRY_VOID(names(place, member.value, is_one_of(member.key, kFiles)));
      }
      MIST_TRY_VOID(charts(file.directory, document));
    }
    return {};
  }

  // A chart that isn't there comes from its repository, or the engine says that it is missing.
  Status charts(const std::string& directory, const Value& document) {
    for (const NamedChart& chart : charts_named_by(document)) {
      const std::optional<std::string> path = resolved(directory, directory_of(chart));
      if (chart.name.empty() || !path || !source_.is_file(joined(*path, kChart)) ||
          !charts_.insert(*path).second)
        continue;
      MIST_TRY(std::vector<PackageFile> files, source_.read_all(*path));
      for (PackageFile& file : files) MIST_TRY_VOID(keep(std::move(file.path), std::move(file.bytes)));
    }
    return {};
  }

  // An item of `resources` and its kin: a directory is entered, a file is taken as any that is named.
  Status base(const Place& place, const Value& item, bool configures) {
    if (!item.is_string() || !may_be_path(item.as_string())) return {};
    const std::string& name = item.as_string();
    const std::optional<std::string> path = resolved(place.directory, name);
    if (!path)
      return at(place, item,
                error(ErrorKind::Invalid, "{} names {}, which is outside of {}", place.file,
                      escape_controls(name), source_.top()))
          .with_hint("bases belong to the same repository; others are named by their address (remote bases)");
    if (source_.is_directory(*path)) {
      walked(place.directory, name);
      if (!has_kustomization(source_, *path))
        return at(place, item,
                  error(ErrorKind::Invalid, "{} names {}, a directory without a kustomization.yaml",
                        place.file, escape_controls(name)))
            .with_hint("name the files in it, or give it a kustomization.yaml that does");
      if (configures) makes_plugins_.insert(place.directory);
      enter(*path);
      return {};
    }
    if (!source_.is_file(*path)) return {};
    if (!is_below(*path, place.directory)) return outside(place, item);
    walked(place.directory, name);
    if (configures) plugins_.push_back({*path, place.directory});
    return {};
  }

  Status names(const Place& place, const Value& value, bool only_files) {
    if (value.is_string()) return name(place, value, only_files);
    if (value.is_array()) {
      for (const Value& item : value.as_array()) MIST_TRY_VOID(names(place, item, only_files));
    } else if (value.is_object()) {
      for (const Value::Member& member : value.as_object())
        MIST_TRY_VOID(names(place, member.value, is_one_of(member.key, kFiles)));
    }
    return {};
  }

  Status name(const Place& place, const Value& value, bool only_files) {
    if (++named_texts_ > kMostNames)
      return error(ErrorKind::Invalid, "the kustomization has more than {} texts that may be names of files",
                   kMostNames)
          .with_hint("name fewer directories among its generators, or smaller files");
    const std::string_view text = value.as_string();
    if (text.find('\n') != std::string_view::npos) {
      // A patch or a generator written in place.
      MIST_TRY(const std::vector<Value> documents, parsed(text));
      for (const Value& document : documents) {
        if (document.is_string()) continue;
        MIST_TRY_VOID(names({place.directory, place.file, {}}, document, false));
        MIST_TRY_VOID(charts(place.directory, document));
      }
      return {};
    }
    // Generators write KEY=FILE.
    for (const std::string_view each : {text, text.substr(text.find('=') + 1)}) {
      if (!may_be_path(each)) continue;
      const std::optional<std::string> path = resolved(place.directory, each);
      if (!path || !source_.is_file(*path)) continue;
      if (is_below(*path, place.directory)) {
        walked(place.directory, each);
        named_[*path] = place.directory;
      } else if (only_files && !place.text.empty())
        return outside(place, value);
    }
    return {};
  }

  // The configurations of generators and transformers name files too.
  Status plugins() {
    const std::vector<NamedFile> files = std::exchange(plugins_, {});
    MIST_TRY_VOID(take(files));
    for (const NamedFile& file : files) {
      const std::string& text = contents_.at(file.path);
      MIST_TRY(const std::vector<Value> documents, parsed(text));
      for (const Value& document : documents) {
        MIST_TRY_VOID(names({file.directory, source_.shown(file.path), text}, document, false));
        MIST_TRY_VOID(charts(file.directory, document));
      }
    }
    return {};
  }

  // A directory among the generators makes configurations, of files that no one else names. They count from
  // the directory of the kustomization that uses them.
  Status made_plugins() {
    if (makes_plugins_.empty()) return {};
    const std::map<std::string, std::string> all = contents_;
    for (const auto& [path, text] : all) {
      MIST_TRY(const std::vector<Value> documents, parsed(text));
      for (const std::string& directory : makes_plugins_) {
        for (const Value& document : documents) {
          MIST_TRY_VOID(names({directory, path, {}}, document, false));
          if (document.string_at("kind") == kChartGenerator) MIST_TRY_VOID(charts(directory, document));
        }
      }
    }
    return read_named();
  }

  // kustomize goes along a path as it is written, so the package begins no lower than that leads.
  void walked(const std::string& directory, std::string_view name) {
    const std::string way = top_of_way(directory, name);
    top_ = top_ ? common_parent(*top_, way) : way;
  }

  static bool may_be_path(std::string_view text) {
    return !text.empty() && text.size() <= kMaxPath && text.front() != '/' &&
           text.find("://") == std::string_view::npos && text.find('\0') == std::string_view::npos &&
           text.find('\n') == std::string_view::npos;
  }

  Error outside(const Place& place, const Value& item) const {
    return at(place, item,
              error(ErrorKind::Invalid, "{} names {}, a file outside of {}", place.file,
                    escape_controls(item.as_string()), shown_path(source_.shown(place.directory))))
        .with_hint(
            "a kustomization reads files in or below its own directory only: move the file, or give it a "
            "kustomization.yaml and name that directory as a resource");
  }

  static Error at(const Place& place, const Value& item, Error failure) {
    const encoding::Position position = item.position();
    SourceLocation where{place.file, position.line, position.column, {}};
    const auto lines = split(place.text, '\n');
    if (position.line > 0 && position.line <= lines.size() && is_valid_utf8(lines[position.line - 1]))
      where.excerpt = lines[position.line - 1];
    failure.where = std::move(where);
    return failure;
  }

  Status read_named() {
    std::vector<NamedFile> files;
    for (const auto& [path, directory] : named_) files.push_back({path, directory});
    return take(files);
  }

  Result<PackageTree> whole() {
    TreeBuilder builder(room_.origin());
    for (auto& [path, text] : contents_) MIST_TRY_VOID(builder.add(path, std::move(text)));
    return std::move(builder).finish();
  }

  Result<PackageTree> tree(const std::string& root) {
    std::string top = top_ ? common_parent(root, *top_) : root;
    for (const auto& [path, text] : contents_) top = common_parent(top, parent_of(path));
    const auto below_top = [&](const std::string& path) {
      return top.empty() ? path : path.substr(std::min(path.size(), top.size() + 1));
    };
    TreeBuilder builder(room_.origin());
    for (auto& [path, text] : contents_) {
      const auto own =
          std::ranges::find_if(kOwnFiles, [&](std::string_view name) { return joined(root, name) == path; });
      MIST_TRY_VOID(
          builder.add(own == std::end(kOwnFiles) ? below_top(path) : std::string(*own), std::move(text)));
    }
    if (const std::string at = below_top(root); !at.empty())
      MIST_TRY_VOID(builder.add(std::string(kKustomizeOptions),
                                encoding::to_json(Value::object({{"root", at}})) + "\n"));
    return std::move(builder).finish();
  }

  const KustomizationSource& source_;
  PackageRoom room_;
  std::vector<std::string> pending_;
  std::set<std::string> seen_;                // directories
  std::map<std::string, std::string> named_;  // file → directory of the kustomization that names it
  std::size_t parse_room_ = kMostParsed;
  std::size_t named_texts_ = 0;
  std::vector<NamedFile> plugins_;               // not yet looked into
  std::set<std::string> charts_;                 // directories that were taken
  std::set<std::string> makes_plugins_;          // directories that use a directory for that
  std::map<std::string, std::string> contents_;  // by path
  std::optional<std::string> top_;               // the highest directory that a path leads through
};

class LocalFiles final : public KustomizationSource {
 public:
  LocalFiles(const FileSystem& files, Path top, std::string name)
      : files_(files), top_(std::move(top)), name_(std::move(name)) {}

  bool is_file(const std::string& path) const override {
    std::error_code failed;
    return std::filesystem::is_regular_file(top_ / path, failed);
  }
  bool is_directory(const std::string& path) const override { return files_.is_directory(top_ / path); }

  Status check_directory(const std::string& directory) const override {
    MIST_TRY(const Path real, real_path_inside(top_, top_ / directory));
    const Path written = (top_ / directory).lexically_normal();
    if (real == written || real / "" == written) return {};
    return error(ErrorKind::Invalid, "{} is a link to {}", escape_controls(written.string()),
                 escape_controls(real.string()))
        .with_hint("name the directory itself: paths in a kustomization count from where it really is");
  }

  Result<std::vector<std::string>> read(const std::vector<NamedFile>& files) const override {
    std::vector<std::string> texts;
    std::uint64_t room = kMaxPackageBytes;
    for (const NamedFile& file : files) {
      MIST_TRY(std::string text, read_inside(files_, top_ / file.directory, top_ / file.path, room));
      room -= text.size();
      texts.push_back(std::move(text));
    }
    return texts;
  }

  Result<std::vector<PackageFile>> read_all(const std::string& directory) const override {
    MIST_TRY(const Path real, real_path_inside(top_, top_ / directory));
    MIST_TRY(PackageTree tree, read_directory_tree(files_, real));
    for (PackageFile& file : tree.files) file.path = joined(directory, file.path);
    return std::move(tree.files);
  }

  std::string top() const override { return name_; }
  std::string shown(const std::string& path) const override {
    return top_ == top_.root_path() ? (top_ / path).string() : path;
  }

 private:
  const FileSystem& files_;
  Path top_;
  std::string name_;
};

// Where bases may lie, and what that is for people.
std::pair<Path, std::string> boundary_of(const FileSystem& files, const Path& directory) {
  for (Path above = directory; above.has_relative_path(); above = above.parent_path())
    if (files.exists(above / ".git"))
      return {above, fmt::format("the git work tree {}", escape_controls(above.string()))};
  return {directory.root_path(), "this machine"};
}

}  // namespace

std::string joined(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

bool is_kustomization_file(std::string_view name) { return std::ranges::find(kNames, name) != kNames.end(); }

bool has_kustomization(const KustomizationSource& source, const std::string& directory) {
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return source.is_file(joined(directory, name)); });
}

Result<bool> is_kustomization(const KustomizationSource& source, const std::string& directory) {
  if (source.is_file(joined(directory, kChart))) return false;
  if (!has_kustomization(source, directory)) return false;
  const std::string package = joined(directory, kOwnFiles[0]);
  if (!source.is_file(package)) return true;
  MIST_TRY(const std::vector<std::string> texts, source.read({{package, directory}}));
  const std::vector<Value> documents = documents_of(texts.front());
  const std::string_view engine =
      documents.empty() ? std::string_view() : documents.front().string_at({"spec", "engine"});
  return engine.empty() || engine == "kustomize";
}

Result<PackageTree> read_kustomization(const KustomizationSource& source, const std::string& root,
                                       TreeTop top) {
  return Reader(source, root).read(root, top);
}

Result<std::optional<PackageTree>> read_local_kustomization(const FileSystem& files, const Path& directory) {
  std::error_code failed;
  const Path real = std::filesystem::canonical(directory, failed);
  if (failed) return errno_error("read", directory, failed.value());
  auto [top, name] = boundary_of(files, real);
  const LocalFiles source(files, top, std::move(name));
  const Path relative = real.lexically_relative(top);
  const std::string root = relative == "." ? std::string() : relative.generic_string();
  MIST_TRY(const bool is_one, is_kustomization(source, root));
  if (!is_one) return std::optional<PackageTree>();
  MIST_TRY(PackageTree tree, read_kustomization(source, root));
  return std::optional(std::move(tree));
}

}  // namespace mist::registry
