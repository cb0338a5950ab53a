#include "package/metadata.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace mist::package {
namespace {

constexpr std::array<std::string_view, 4> kTopMembers{"apiVersion", "kind", "metadata", "spec"};
constexpr std::array<std::string_view, 3> kMetadataMembers{"name", "labels", "annotations"};
constexpr std::array<std::string_view, 15> kSpecMembers{
    "version",       "description",  "home",       "maintainers", "inputs",
    "exports",       "dependencies", "needs",      "engine",      "engineDigest",
    "engineOptions", "defaults",     "valuesFile", "functions",   "requires"};
constexpr std::array<std::string_view, 3> kDependencyMembers{"name", "package", "version"};
constexpr std::array<std::string_view, 2> kNeedsMembers{"clusterRead", "release"};
constexpr std::string_view kOriginalVersion = "mistletoe.dev/v1alpha1";
constexpr std::array<std::string_view, 2> kVersions{kOriginalVersion, "mistletoe.dev/v1"};
constexpr std::size_t kMostIgnored = 20;
constexpr std::size_t kMostDependencies = 1000;

class MetadataReader {
 public:
  /// `ignored` takes members that are unknown; null: they are errors.
  MetadataReader(std::string_view where, std::vector<std::string>* ignored)
      : where_(where), ignored_(ignored) {}

  const std::string& where() const { return where_; }
  Error wrong(std::string message) const {
    return error(ErrorKind::Invalid, "the metadata of {} is wrong: {}", where_, message);
  }
  Status only(const Value& object, std::span<const std::string_view> known, const std::string& path) const {
    for (const Value::Member& member : object.as_object()) {
      if (std::ranges::find(known, member.key) != known.end()) continue;
      const std::string name = path + escape_controls(member.key.substr(0, kLongestName));
      const std::string_view near = nearest(member.key.substr(0, kLongestName), known);
      if (ignored_ != nullptr) {
        if (ignored_->size() < kMostIgnored)
          ignored_->push_back(near.empty() ? name : fmt::format("{} (did you mean {}?)", name, near));
        continue;
      }
      Error failure = wrong(fmt::format("{} is unknown", name));
      if (!near.empty()) failure.hint = fmt::format("did you mean {}?", near);
      return failure;
    }
    return {};
  }
  Result<const Value*> object(const Value& in, std::string_view key, std::string_view path) const {
    const Value* value = in.find(key);
    if (value == nullptr || value->is_null()) return nullptr;
    if (!value->is_object()) return wrong(fmt::format("{}{} must be a mapping", path, key));
    return value;
  }
  Status text(const Value& in, std::string_view key, std::string_view path, std::string& out) const {
    const Value* value = in.find(key);
    if (value == nullptr || value->is_null()) return {};
    if (!value->is_string()) return wrong(fmt::format("{}{} must be a string", path, key));
    out = value->as_string();
    return {};
  }
  Status texts(const Value& in, std::string_view key, std::string_view path,
               std::vector<std::string>& out) const {
    const Value* value = in.find(key);
    if (value == nullptr || value->is_null()) return {};
    if (!value->is_array()) return wrong(fmt::format("{}{} must be a list of strings", path, key));
    for (const Value& item : value->as_array()) {
      if (!item.is_string()) return wrong(fmt::format("{}{} must be a list of strings", path, key));
      out.push_back(item.as_string());
    }
    return {};
  }

 private:
  static constexpr std::size_t kLongestName = 100;

  std::string where_;
  std::vector<std::string>* ignored_;
};

// Without a feature that the package requires, something would be missing in the cluster.
Status check_features(const MetadataReader& reader, const std::vector<std::string>& required) {
  std::vector<std::string> missing;
  for (const std::string& feature : required) {
    if (std::ranges::find(kFeatures, feature) == kFeatures.end())
      missing.push_back(escape_controls(feature.substr(0, 100)));
  }
  if (missing.empty()) return {};
  return error(ErrorKind::Invalid, "{} needs a newer mistctl", reader.where())
      .with_because(fmt::format("it requires {}, which this mistctl does not have", join(missing, ", ")))
      .with_hint("update mistctl, or use an older version of the package");
}

Status read_spec(const MetadataReader& reader, const Value& spec, Metadata& metadata) {
  constexpr std::string_view kPath = "spec.";
  // First: what else stands there may be of a form that isn't known here.
  MIST_TRY_VOID(reader.texts(spec, "requires", kPath, metadata.required_features));
  MIST_TRY_VOID(check_features(reader, metadata.required_features));
  MIST_TRY_VOID(reader.only(spec, kSpecMembers, std::string(kPath)));
  MIST_TRY_VOID(reader.text(spec, "version", kPath, metadata.version));
  MIST_TRY_VOID(reader.text(spec, "description", kPath, metadata.description));
  MIST_TRY_VOID(reader.text(spec, "home", kPath, metadata.home));
  MIST_TRY_VOID(reader.text(spec, "engine", kPath, metadata.engine));
  MIST_TRY_VOID(reader.text(spec, "engineDigest", kPath, metadata.engine_digest));
  MIST_TRY_VOID(reader.text(spec, "valuesFile", kPath, metadata.values_file));
  // Their meaning is the engine's business; it finds them in the file.
  MIST_TRY(const Value* const engine_options, reader.object(spec, "engineOptions", kPath));
  if (engine_options != nullptr) metadata.engine_options = *engine_options;
  MIST_TRY(const Value* const defaults, reader.object(spec, "defaults", kPath));
  if (defaults != nullptr) metadata.defaults = *defaults;
  MIST_TRY(const Value* const functions, reader.object(spec, "functions", kPath));
  if (functions != nullptr) metadata.functions = *functions;
  MIST_TRY_VOID(reader.texts(spec, "maintainers", kPath, metadata.maintainers));
  // A schema may be `true` or `false` too.
  if (const Value* inputs = spec.find("inputs")) metadata.inputs = *inputs;
  if (const Value* exports = spec.find("exports")) metadata.exports = *exports;
  if (const Value* dependencies = spec.find("dependencies");
      dependencies != nullptr && !dependencies->is_null()) {
    if (!dependencies->is_array()) return reader.wrong("spec.dependencies must be a list");
    if (dependencies->as_array().size() > kMostDependencies)
      return reader.wrong(fmt::format("spec.dependencies has {} entries, and {} are allowed",
                                      dependencies->as_array().size(), kMostDependencies));
    for (const Value& entry : dependencies->as_array()) {
      if (!entry.is_object()) return reader.wrong("each of spec.dependencies must be a mapping");
      MIST_TRY_VOID(reader.only(entry, kDependencyMembers, "spec.dependencies[]."));
      Dependency dependency;
      MIST_TRY_VOID(reader.text(entry, "name", "spec.dependencies[].", dependency.name));
      MIST_TRY_VOID(reader.text(entry, "package", "spec.dependencies[].", dependency.package));
      MIST_TRY_VOID(reader.text(entry, "version", "spec.dependencies[].", dependency.version));
      metadata.dependencies.push_back(std::move(dependency));
    }
  }
  MIST_TRY(const Value* needs, reader.object(spec, "needs", kPath));
  if (needs == nullptr) return {};
  MIST_TRY_VOID(reader.only(*needs, kNeedsMembers, "spec.needs."));
  MIST_TRY_VOID(reader.texts(*needs, "clusterRead", "spec.needs.", metadata.needs_cluster_read));
  if (const Value* release = needs->find("release")) {
    if (!release->is_bool()) return reader.wrong("spec.needs.release must be true or false");
    metadata.needs_release = release->as_bool();
  }
  return {};
}

Result<Metadata> read_document(const MetadataReader& reader, const Value& document) {
  if (!document.is_object()) return reader.wrong("it must be a mapping");
  if (document.string_at("kind") != "MistPackage")
    return reader.wrong(
        fmt::format("its kind is \"{}\", not MistPackage", escape_controls(document.string_at("kind"))));
  if (std::ranges::find(kVersions, document.string_at("apiVersion")) == kVersions.end()) {
    Error failure = reader.wrong(
        fmt::format("its apiVersion is \"{}\"", escape_controls(document.string_at("apiVersion"))));
    failure.hint =
        "known are mistletoe.dev/v1alpha1 and mistletoe.dev/v1; a newer package needs a newer mistctl";
    return failure;
  }
  MIST_TRY_VOID(reader.only(document, kTopMembers, ""));
  Metadata metadata;
  MIST_TRY(const Value* head, reader.object(document, "metadata", ""));
  if (head == nullptr) return reader.wrong("metadata is missing");
  MIST_TRY_VOID(reader.only(*head, kMetadataMembers, "metadata."));
  MIST_TRY_VOID(reader.text(*head, "name", "metadata.", metadata.name));
  if (metadata.name.empty()) return reader.wrong("metadata.name is missing");
  MIST_TRY(const Value* labels, reader.object(*head, "labels", "metadata."));
  if (labels != nullptr) {
    for (const Value::Member& label : labels->as_object()) {
      if (!label.value.is_string())
        return reader.wrong(fmt::format("metadata.labels.{} must be a string", label.key));
      metadata.labels[label.key] = label.value.as_string();
    }
  }
  MIST_TRY(const Value* spec, reader.object(document, "spec", ""));
  if (spec != nullptr) MIST_TRY_VOID(read_spec(reader, *spec, metadata));
  metadata.original = document.string_at("apiVersion") == kOriginalVersion;
  return metadata;
}

}  // namespace

Result<Metadata> Metadata::parse(const Value& document, std::string_view where) {
  std::vector<std::string> ignored;
  MIST_TRY(Metadata metadata, read_document(MetadataReader(where, &ignored), document));
  metadata.ignored = std::move(ignored);
  return metadata;
}

Result<Metadata> Metadata::parse_strictly(const Value& document, std::string_view where) {
  return read_document(MetadataReader(where, nullptr), document);
}

Value Metadata::to_value() const {
  Value label_map = Value::object();
  for (const auto& [key, text] : labels) label_map.set(key, text);
  Value::Array people(maintainers.begin(), maintainers.end());
  Value::Array reads(needs_cluster_read.begin(), needs_cluster_read.end());
  Value::Array needed;
  for (const Dependency& dependency : dependencies)
    needed.push_back(Value::object(
        {{"name", dependency.name}, {"package", dependency.package}, {"version", dependency.version}}));
  Value document = Value::object(
      {{"apiVersion", "mistletoe.dev/v1"},
       {"kind", "MistPackage"},
       {"metadata", Value::object({{"name", name}, {"labels", std::move(label_map)}})},
       {"spec", Value::object({{"version", version},
                               {"description", description},
                               {"home", home},
                               {"engine", engine},
                               {"engineOptions", engine_options},
                               {"defaults", defaults},
                               {"valuesFile", values_file},
                               {"maintainers", Value(std::move(people))},
                               {"inputs", inputs},
                               {"exports", exports},
                               {"dependencies", Value(std::move(needed))},
                               {"needs", Value::object({{"clusterRead", Value(std::move(reads))},
                                                        {"release", needs_release}})}})}});
  // Most packages have none of them.
  if (!engine_digest.empty()) document["spec"].set("engineDigest", engine_digest);
  if (!functions.is_null()) document["spec"].set("functions", functions);
  if (!required_features.empty())
    document["spec"].set("requires", Value(Value::Array(required_features.begin(), required_features.end())));
  return document;
}

}  // namespace mist::package
