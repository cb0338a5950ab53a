#include "catalog/admit.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "kpm/k3.h"
#include "package/engine.h"
#include "package/module_section.h"
#include "package/tree_metadata.h"
#include "registry/git_url.h"
#include "registry/package_blob.h"
#include "wasm/binary.h"
#include "wasm/compile_limits.h"

namespace mist::catalog {
namespace {

using encoding::Value;

constexpr std::size_t kLongestReadme = 128u << 10;
// Of the words of a package: lists and searches print its description, and each client of kpm gets the
// K3.yaml of all versions (docs/catalog.md has the numbers).
constexpr std::size_t kLongestK3 = 64u << 10;
constexpr std::size_t kLongestDescription = 1u << 10;
constexpr std::size_t kLongestDetails = 64u << 10;
constexpr std::size_t kLongestHome = 1u << 10;
constexpr std::size_t kMostMaintainers = 50;
constexpr std::size_t kLongestMaintainer = 200;
constexpr std::size_t kMostDependencies = 200;
constexpr std::size_t kLongestRange = 200;
constexpr std::size_t kLongestTag = 200;
// Of the schema of inputs, and of the defaults: pages show them, to anybody and often.
constexpr std::size_t kMostInputBytes = 256u << 10;
constexpr std::size_t kMostModuleMetadata = 1u << 20;  // bytes of its section
constexpr std::string_view kModuleFormat = "WebAssembly module";
constexpr std::string_view kComponentFormat = "WebAssembly component";

Status check_names(std::string_view file, std::string_view name, std::string_view version,
                   const std::string& package, const encoding::SemVer& wanted) {
  if (name != package)
    return error(ErrorKind::Invalid, "{} is of {}, and the project is called {}", file, escape_controls(name),
                 package)
        .with_hint("correct the name and push another tag, or link the repository under the other name");
  if (version != wanted.to_string())
    return error(ErrorKind::Invalid, "{} has version {}, and the tag says {}", file,
                 version.empty() ? "none" : escape_controls(version), wanted.to_string())
        .with_hint("correct the version, and push another tag");
  return {};
}

std::string readme_of(const package::Files& files) {
  for (const std::string_view name : {"README.md", "readme.md", "README", "README.txt"}) {
    const auto found = files.find(std::string(name));
    if (found == files.end()) continue;
    std::string text = found->second.substr(0, kLongestReadme);
    return is_valid_utf8(found->second) ? text : escape_controls(text, true);
  }
  return {};
}

// A schema that says of each default what it is; where an author wrote none.
Value schema_of(const Value& value, int depth = 0) {
  constexpr int kDeepest = 4;
  Value schema = Value::object();
  switch (value.kind()) {
    case Value::Kind::Object:
      schema.set("type", Value("object"));
      if (value.empty() || depth == kDeepest) break;
      schema.set("properties", Value::object());
      for (const auto& [key, member] : value.as_object())
        schema["properties"].set(key, schema_of(member, depth + 1));
      return schema;
    case Value::Kind::Array:
      schema.set("type", Value("array"));
      break;
    case Value::Kind::String:
      schema.set("type", Value("string"));
      break;
    case Value::Kind::Bool:
      schema.set("type", Value("boolean"));
      break;
    case Value::Kind::Int:
    case Value::Kind::UInt:
      schema.set("type", Value("integer"));
      break;
    case Value::Kind::Double:
      schema.set("type", Value("number"));
      break;
    case Value::Kind::Null:
      return schema;
  }
  schema.set("default", value);
  return schema;
}

Value inputs_of(const package::Metadata& metadata) {
  Value inputs = metadata.inputs;
  if (inputs.is_null() && metadata.defaults.is_object() && !metadata.defaults.empty()) {
    inputs = schema_of(metadata.defaults);
    inputs.set("$comment", Value("Made from the defaults: the package has no schema"));
  }
  return encoding::to_json(inputs).size() <= kMostInputBytes ? std::move(inputs) : Value();
}

Status check_length(std::string_view what, std::size_t size, std::size_t most) {
  if (size <= most) return {};
  return error(ErrorKind::Invalid, "{} has {} bytes, and the catalog takes {}", what, size, most)
      .with_hint("shorten it and push another tag; README.md has room for more");
}

Status check_words(const kpm::K3& k3, const std::string& file) {
  MIST_TRY_VOID(check_length("the description in " + file, k3.description.size(), kLongestDescription));
  MIST_TRY_VOID(check_length("the home in " + file, k3.home.size(), kLongestHome));
  if (k3.maintainers.size() > kMostMaintainers)
    return error(ErrorKind::Invalid, "{} names {} maintainers, and the catalog takes {}", file,
                 k3.maintainers.size(), kMostMaintainers)
        .with_hint("name some of them and push another tag");
  for (const std::string& each : k3.maintainers)
    MIST_TRY_VOID(check_length("a maintainer in " + file, each.size(), kLongestMaintainer));
  return {};
}

Status read_k3(const package::Files& files, const std::string& package, const encoding::SemVer& version,
               PackageFacts& facts) {
  const std::string file(kpm::kMetadataFile);
  MIST_TRY_VOID(check_length(file, files.at(file).size(), kLongestK3));
  facts.k3 = files.at(file);
  MIST_TRY(const kpm::K3 k3, kpm::parse_k3(facts.k3, file));
  MIST_TRY_VOID(check_names(file, k3.name, k3.version.to_string(), package, version));
  MIST_TRY_VOID(check_words(k3, file));
  facts.description = k3.description;
  facts.home = k3.home;
  facts.details = k3.details;
  facts.maintainers = k3.maintainers;
  for (const kpm::Dependency& each : k3.dependencies)
    facts.dependencies.push_back({each.name, each.range.text()});
  return {};
}

Status read_kube(const package::Files& files, const std::string& package, const encoding::SemVer& version,
                 PackageFacts& facts) {
  MIST_TRY_VOID(read_k3(files, package, version, facts));
  if (std::ranges::none_of(files, [](const auto& each) { return each.first.starts_with("manifests/"); }))
    return error(ErrorKind::Invalid, "there is nothing in manifests/")
        .with_hint("YAML, JSON and templates of Kubernetes objects belong there");
  facts.format = "Kube";
  return {};
}

// Clipped: a chart is often somebody else's, and its author never heard of this catalog.
void take_metadata(const package::Metadata& metadata, PackageFacts& facts) {
  facts.description = clipped(split(metadata.description, '\n').front(), kLongestDescription);
  if (facts.description.size() != metadata.description.size())
    facts.details = clipped(metadata.description, kLongestDetails);
  if (metadata.home.size() <= kLongestHome) facts.home = metadata.home;
  for (const std::string& each :
       std::span(metadata.maintainers).first(std::min(kMostMaintainers, metadata.maintainers.size())))
    facts.maintainers.push_back(clipped(each, kLongestMaintainer));
  for (const package::Dependency& each :
       std::span(metadata.dependencies).first(std::min(kMostDependencies, metadata.dependencies.size())))
    facts.dependencies.push_back({clipped(each.name, kLongestRange), clipped(each.version, kLongestRange)});
}

// `engine`: what renders it; null: nothing, or it runs by itself.
void take_inputs(const package::Metadata& metadata, const package::EngineKind* engine, PackageFacts& facts) {
  facts.inputs = inputs_of(metadata);
  facts.takes_name = package::has_chart_values(engine);
  facts.defaults = metadata.values_file;
  if (facts.defaults.empty() && metadata.defaults.is_object() && !metadata.defaults.empty())
    facts.defaults = encoding::to_yaml(metadata.defaults);
  if (facts.defaults.size() > kMostInputBytes) facts.defaults.clear();
}

// The K3.yaml, for kpm, of a module that has none beside it.
Result<std::string> k3_of(const PackageFacts& facts, const std::string& package,
                          const encoding::SemVer& version) {
  std::string text = kpm::k3_text({.name = package,
                                   .version = version,
                                   .home = facts.home,
                                   .description = facts.description,
                                   .details = facts.details,
                                   .maintainers = facts.maintainers});
  MIST_TRY_VOID(kpm::parse_k3(text, std::string(kpm::kMetadataFile)));
  return text;
}

Status read_package(const package::Files& files, const package::EngineKind* engine,
                    const std::string& package, const encoding::SemVer& version, PackageFacts& facts) {
  MIST_TRY(const package::Metadata metadata,
           package::tree_metadata(files, engine, package, version.to_string()));
  MIST_TRY_VOID(check_names("the package", metadata.name,
                            metadata.version.empty() ? version.to_string() : metadata.version, package,
                            version));
  facts.format = engine == nullptr ? "Kubernetes YAML" : std::string(engine->format);
  take_metadata(metadata, facts);
  return {};
}

}  // namespace

std::optional<encoding::SemVer> version_of_tag(std::string_view tag, std::string_view package) {
  if (tag.size() > kLongestTag) return std::nullopt;
  if (tag.starts_with(package) && tag.size() > package.size() &&
      (tag[package.size()] == '-' || tag[package.size()] == '/'))
    tag.remove_prefix(package.size() + 1);
  if (tag.starts_with('v')) tag.remove_prefix(1);
  auto version = encoding::SemVer::parse(tag);
  if (!version.ok()) return std::nullopt;
  return *std::move(version);
}

std::vector<RemoteTag> parse_remote_tags(std::string_view text) {
  constexpr std::string_view kPrefix = "refs/tags/";
  constexpr std::string_view kPeeled = "^{}";
  std::vector<RemoteTag> tags;
  for (const std::string_view line : split(text, '\n')) {
    const auto tab = line.find('\t');
    if (tab == line.npos) continue;
    const std::string_view commit = line.substr(0, tab);
    std::string_view name = line.substr(tab + 1);
    if (!registry::is_commit(commit) || !name.starts_with(kPrefix)) continue;
    name.remove_prefix(kPrefix.size());
    // The line after that of an annotated tag has the commit that it means.
    const bool peeled = name.ends_with(kPeeled);
    if (peeled) name.remove_suffix(kPeeled.size());
    if (!registry::is_git_ref(name)) continue;
    if (peeled && !tags.empty() && tags.back().name == name)
      tags.back().commit = commit;
    else
      tags.push_back({std::string(name), std::string(commit)});
  }
  return tags;
}

Result<Admitted> admit(const registry::PackageTree& tree, const std::string& package,
                       const encoding::SemVer& version) {
  package::Files files;
  Admitted admitted;
  for (const registry::PackageFile& file : tree.files) {
    files.emplace(file.path, file.bytes);
    admitted.facts.files.push_back(file.path);
  }
  MIST_TRY(const package::EngineKind* const engine, package::choose_engine(files, {}, {}));
  if (files.contains(std::string(kpm::kMetadataFile))) {
    MIST_TRY_VOID(read_kube(files, package, version, admitted.facts));
  } else {
    MIST_TRY_VOID(read_package(files, engine, package, version, admitted.facts));
  }
  // Inputs and defaults, as the engine of both kinds has them.
  if (const auto metadata = package::tree_metadata(files, engine, package, version.to_string());
      metadata.ok())
    take_inputs(*metadata, engine, admitted.facts);
  admitted.readme = readme_of(files);
  return admitted;
}

std::vector<std::string> module_places(const std::string& directory, const std::string& package,
                                       const encoding::SemVer& version) {
  const std::string prefix = directory.empty() ? std::string() : directory + '/';
  return {fmt::format("{}{}-{}.mist-pack.wasm", prefix, package, version.to_string()),
          fmt::format("{}{}", prefix, registry::kModuleFile)};
}

Result<Admitted> admit_module(const SubmittedModule& submitted, const std::string& package,
                              const encoding::SemVer& version) {
  const std::string file = escape_controls(Path(submitted.path).filename().string());
  MIST_TRY(const auto bytes, submitted.module.bytes());
  const auto code = crypto::as_bytes(*bytes);
  MIST_TRY(const wasm::BinaryKind kind, wasm::binary_kind(code, file));
  MIST_TRY(const auto section, wasm::custom_section(code, file, wasm::kPackageSection));
  if (!section)
    return error(ErrorKind::Invalid, "{} says nothing of itself: it has no section {}", file,
                 wasm::kPackageSection)
        .with_hint("mistctl package build MODULE -m mistletoe.yaml writes name, version and inputs into it");
  if (section->size() > kMostModuleMetadata)
    return error(ErrorKind::Invalid, "the metadata of {} has {} bytes, more than {}", file, section->size(),
                 kMostModuleMetadata);
  if (kind == wasm::BinaryKind::Module) MIST_TRY_VOID(wasm::check_shape(code, file));
  MIST_TRY(const std::optional<package::Metadata> metadata,
           package::metadata_of_module(submitted.module, file));
  MIST_TRY_VOID(check_names(file, metadata->name, metadata->version, package, version));
  Admitted admitted;
  PackageFacts& facts = admitted.facts;
  facts.module = submitted.path;
  facts.files.push_back(Path(submitted.path).filename().string());
  if (submitted.beside.contains(std::string(kpm::kMetadataFile))) {
    MIST_TRY_VOID(read_k3(submitted.beside, package, version, facts));
  } else {
    take_metadata(*metadata, facts);
    MIST_TRY(facts.k3, k3_of(facts, package, version));
  }
  facts.format = kind == wasm::BinaryKind::Module ? kModuleFormat : kComponentFormat;
  take_inputs(*metadata, package::find_engine(metadata->engine), facts);
  admitted.readme = readme_of(submitted.beside);
  return admitted;
}

}  // namespace mist::catalog
