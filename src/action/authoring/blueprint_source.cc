#include "action/authoring/blueprint_source.h"

#include <algorithm>
#include <array>

#include "apply/reserved_metadata.h"
#include "base/text.h"
#include "blueprint/evaluator.h"
#include "blueprint/parts.h"
#include "blueprint/structural_schema.h"
#include "encoding/yaml.h"

namespace mist::action {
namespace {

using encoding::Value;

// As much as a ConfigMap can hold, with room for what beside it isn't of it.
constexpr std::uint64_t kMostFile = std::uint64_t{8} << 20;
// Files that Nickel can import.
constexpr std::array<std::string_view, 5> kImported{".ncl", ".json", ".yaml", ".toml", ".txt"};

constexpr std::string_view kCasesFolder = "tests", kGoldenEnd = ".golden.yaml";

bool is_yaml(const Path& path) { return path.extension() == ".yaml" || path.extension() == ".yml"; }

std::string name_of(const Path& directory) {
  const Path whole = std::filesystem::absolute(directory).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

void take_crds(const std::vector<Value>& documents, std::vector<Value>& crds) {
  for (const Value& each : documents)
    if (each.string_at("kind") == "CustomResourceDefinition") crds.push_back(each);
}

void take_examples(const std::string& name, std::string_view text,
                   std::vector<blueprint::Example>& examples) {
  const auto documents = encoding::parse_yaml_documents(text);
  if (!documents.ok()) return;
  for (const Value& each : *documents) {
    const Value* const of_case = each.find("instance");
    const Value& object = of_case != nullptr && of_case->is_object() ? *of_case : each;
    if (!object.string_at("apiVersion").empty() && !object.string_at("kind").empty())
      examples.push_back({name, object});
  }
}

// `entry`: what is its blueprint.ncl.
Result<BlueprintSource> read_directory(const FileSystem& files, const Path& directory,
                                       const std::string& entry) {
  BlueprintSource source;
  source.path = directory;
  source.name = entry == blueprint::kEntry ? name_of(directory) : Path(entry).stem().string();
  source.entry_file = entry;
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(directory));
  for (const DirectoryEntry& each : entries) {
    const Path name = each.name;
    if (each.is_directory || std::ranges::find(kImported, name.extension().string()) == kImported.end())
      continue;
    if (each.name == blueprint::kEntry && entry != blueprint::kEntry) continue;
    MIST_TRY(std::string text, files.read(directory / name, kMostFile));
    if (is_yaml(name)) {
      // A file that nobody imports may hold anything.
      if (const auto documents = encoding::parse_yaml_documents(text); documents.ok())
        take_crds(*documents, source.crds);
    }
    source.files.emplace(each.name == entry ? std::string(blueprint::kEntry) : each.name, std::move(text));
  }
  return source;
}

Result<std::vector<BlueprintSource>> read_manifest(const FileSystem& files, const Path& path) {
  MIST_TRY(const std::string text, files.read(path, kMostFile));
  MIST_TRY(const std::vector<Value> documents,
           encoding::parse_yaml_documents(text, {.strict = true, .file = path.string()}));
  std::vector<Value> crds;
  take_crds(documents, crds);
  std::vector<BlueprintSource> found;
  for (const Value& each : documents) {
    if (each.string_at("kind") != "ConfigMap" || each.string_at({"data", blueprint::kEntry}).empty())
      continue;
    const auto part = [&](const std::string& name) -> std::optional<Value> {
      for (const Value& other : documents)
        if (other.string_at("kind") == "ConfigMap" && blueprint::is_part(other) &&
            other.string_at({"metadata", "name"}) == name &&
            other.string_at({"metadata", "namespace"}) == each.string_at({"metadata", "namespace"}))
          return other;
      return std::nullopt;
    };
    MIST_TRY(
        package::Files all,
        blueprint::files_of(each, part).in(fmt::format("while reading {}", escape_controls(path.string()))));
    found.push_back({.name = std::string(each.string_at({"metadata", "name"})),
                     .path = path,
                     .is_manifest = true,
                     .service_account = std::string(
                         each.string_at({"metadata", "annotations", apply::kServiceAccountAnnotation})),
                     .entry_file = std::string(blueprint::kEntry),
                     .files = std::move(all),
                     .crds = crds});
  }
  if (found.empty())
    return error(ErrorKind::NotFound, "{} has no ConfigMap with a {}", escape_controls(path.string()),
                 blueprint::kEntry);
  return found;
}

}  // namespace

std::string BlueprintSource::shown(std::string_view file) const {
  if (is_manifest) return fmt::format("{}, {} of {}", path.string(), file, name);
  return (path / (file == blueprint::kEntry ? Path(entry_file) : Path(file))).lexically_normal().string();
}

std::map<apimachinery::GroupKind, std::string> BlueprintSource::plurals() const {
  std::map<apimachinery::GroupKind, std::string> found;
  for (const Value& each : crds)
    found[{std::string(each.string_at({"spec", "group"})),
           std::string(each.string_at({"spec", "names", "kind"}))}] =
        std::string(each.string_at({"spec", "names", "plural"}));
  return found;
}

void BlueprintSource::fill_defaults(const blueprint::Blueprint& blueprint, Value& instance) const {
  const std::string_view version = instance.string_at("apiVersion");
  std::vector<Value> all = crds;
  if (blueprint.resource()) all = {blueprint::crd_of(blueprint.instances(), *blueprint.resource())};
  for (const Value& each : all) {
    if (each.string_at({"spec", "names", "kind"}) != instance.string_at("kind")) continue;
    const Value* const versions = each.at_path({"spec", "versions"});
    if (versions == nullptr || !versions->is_array()) continue;
    for (const Value& one : versions->as_array())
      if (version == fmt::format("{}/{}", each.string_at({"spec", "group"}), one.string_at("name")))
        if (const Value* const schema = one.at_path({"schema", "openAPIV3Schema"}))
          blueprint::fill_defaults(*schema, instance);
  }
}

Result<std::vector<BlueprintSource>> read_blueprints(const FileSystem& files, const Path& path) {
  const std::string entry(blueprint::kEntry);
  std::vector<BlueprintSource> found;
  if (!files.is_directory(path)) {
    if (path.extension() != ".ncl") return read_manifest(files, path);
    MIST_TRY_VOID(files.read(path, kMostFile));  // or its directory's error would be told
    const Path directory = path.has_parent_path() ? path.parent_path() : Path(".");
    MIST_TRY(BlueprintSource one, read_directory(files, directory, path.filename().string()));
    found.push_back(std::move(one));
    return found;
  }
  if (files.exists(path / entry)) {
    MIST_TRY(BlueprintSource one, read_directory(files, path, entry));
    found.push_back(std::move(one));
    return found;
  }
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(path));
  for (const DirectoryEntry& each : entries) {
    if (!each.is_directory || !files.exists(path / each.name / entry)) continue;
    MIST_TRY(BlueprintSource one, read_directory(files, path / each.name, entry));
    found.push_back(std::move(one));
  }
  if (found.empty())
    return error(ErrorKind::NotFound, "{} has no {}", escape_controls(path.string()), entry)
        .with_hint(
            "name a directory with that file, a Nickel file, or the manifest of a ConfigMap; "
            "mistctl blueprint init begins one");
  return found;
}

Result<std::vector<blueprint::Example>> read_examples(const FileSystem& files,
                                                      const BlueprintSource& source) {
  std::vector<blueprint::Example> found;
  if (source.is_manifest) {
    MIST_TRY(const std::string text, files.read(source.path, kMostFile));
    take_examples(source.path.filename().string(), text, found);
    return found;
  }
  for (const auto& [name, text] : source.files)
    if (is_yaml(name)) take_examples(name, text, found);
  const Path cases = source.path / kCasesFolder;
  if (!files.is_directory(cases)) return found;
  MIST_TRY(const std::vector<DirectoryEntry> entries, files.list(cases));
  for (const DirectoryEntry& each : entries) {
    if (each.is_directory || !is_yaml(each.name) || each.name.ends_with(kGoldenEnd)) continue;
    MIST_TRY(const std::string text, files.read(cases / each.name, kMostFile));
    take_examples((Path(kCasesFolder) / each.name).string(), text, found);
  }
  return found;
}

Result<BlueprintSource> read_blueprint(const FileSystem& files, const Path& path) {
  MIST_TRY(std::vector<BlueprintSource> found, read_blueprints(files, path));
  if (found.size() == 1) return std::move(found.front());
  std::vector<std::string> names;
  for (const BlueprintSource& each : found) names.push_back(each.name);
  return error(ErrorKind::Invalid, "{} has {}", escape_controls(path.string()),
               plural(found.size(), "blueprint"))
      .with_hint(fmt::format("name one of them: {}", join(names, ", ")));
}

}  // namespace mist::action
