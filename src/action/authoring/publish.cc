#include "action/authoring/publish.h"

#include <algorithm>
#include <map>
#include <set>

#include "action/authoring/applied_objects.h"
#include "action/authoring/secret_traces.h"
#include "apply/plan/hooks.h"
#include "base/text.h"
#include "config/redact.h"
#include "crypto/digest.h"
#include "encoding/gzip.h"
#include "encoding/json.h"
#include "encoding/tar.h"
#include "encoding/yaml.h"
#include "oci/tags.h"
#include "package/objects.h"
#include "registry/oci_tags.h"
#include "render/drawn.h"
#include "render/value_paths.h"

namespace mist::action {
namespace {

using apimachinery::ObjectKey;
using release::DrawnField;
using release::RenderedObject;

constexpr std::size_t kMostFields = 20;        // that an error names
constexpr std::size_t kLongestFileName = 120;  // tar's oldest readers know 100, and file systems 255
/// On the manifest, if Secrets were left out: "external".
constexpr std::string_view kSecretsAnnotation = "mistletoe.dev/secrets";
constexpr std::string_view kExternal = "external";

bool is_secret(const ObjectKey& key) { return key.group_kind == apimachinery::kSecret; }

// Of the object, or of what it is a template for. A ConfigMap's key may have any name.
bool is_annotation(std::string_view path) {
  constexpr std::string_view kAnnotations = ".metadata.annotations";
  return path.starts_with(kAnnotations) ||
         (path.starts_with(".spec.") && path.find(kAnnotations) != std::string_view::npos);
}

// The field's text; nothing: there is no such field, or it is no text.
std::optional<std::string> text_at(const DrawnField& field, const render::ObjectView& objects) {
  const auto object = objects.find(field.key);
  if (object == objects.end()) return std::nullopt;
  const render::Nodes nodes = render::nodes_of(*object->second);
  const auto value = nodes.find(field.path);
  if (value == nodes.end() || !value->second->is_string()) return std::nullopt;
  return value->second->as_string();
}

// Packages put checksums of secrets into annotations. Anything else that was drawn there may be a part of a
// secret, or another form of one, as in other fields. With another seed only the digest is another: a name
// that the other render doesn't have was drawn itself.
bool holds_secret(const DrawnField& field, const render::ObjectView& objects,
                  const render::ObjectView& other_seed, const SecretTraces& traces) {
  if (is_secret(field.key) || !is_annotation(field.path)) return true;
  const std::optional<std::string> text = text_at(field, objects);
  return !text || !text_at(field, other_seed) || !traces.is_clean_digest(*text);
}

Result<std::vector<RenderedObject>> published_objects(std::vector<RenderedObject> objects,
                                                      const release::PackageInfo& package,
                                                      const PublishOptions& options, EventSink& events) {
  if (options.skip_crds && package.engine == apply::kChartEngine) std::erase_if(objects, apply::is_chart_crd);
  return applied_objects(std::move(objects), package.engine, events);
}

// Fields that another seed would change and in which a secret may stand; none if the package drew nothing.
Result<std::vector<DrawnField>> drawn_fields_of(const render::RenderedRelease& rendered,
                                                const std::vector<RenderedObject>& objects,
                                                const PublishOptions& options, const Context& context) {
  if (!rendered.drawn.anything() || !rendered.again) return std::vector<DrawnField>();
  MIST_TRY(std::vector<RenderedObject> again,
           rendered.again({.other_seed = true, .rotations = rendered.drawn.rotations}, context));
  NullEventSink said_already;
  MIST_TRY(const std::vector<RenderedObject> other,
           published_objects(std::move(again), rendered.package, options, said_already));
  const render::ObjectView view = render::view_of(objects), other_view = render::view_of(other);
  std::vector<DrawnField> fields = render::drawn_fields({rendered.drawn, rendered.secrets, view}, other_view);
  std::vector<std::string> secrets = render::drawn_texts(fields, view, other_view);
  for (const auto& [name, secret] : rendered.secrets) secrets.push_back(secret.reveal());
  const SecretTraces traces(secrets);
  std::erase_if(fields,
                [&](const DrawnField& field) { return !holds_secret(field, view, other_view, traces); });
  return fields;
}

Error refused(const std::vector<DrawnField>& fields) {
  std::vector<std::string> lines;
  for (const DrawnField& field : fields) {
    if (lines.size() == kMostFields) {
      lines.push_back(fmt::format("… and {} more", fields.size() - kMostFields));
      break;
    }
    lines.push_back(
        fmt::format("{}: {}{}", field.key.display(), escape_controls(field.path),
                    field.secrets.empty() ? "" : fmt::format(" (secret {})", join(field.secrets, ", "))));
  }
  std::set<ObjectKey> objects;
  for (const DrawnField& field : fields) objects.insert(field.key);
  Error failure = error(ErrorKind::Conflict, "{} would publish secrets that the package drew",
                        plural(objects.size(), "object"));
  failure.because = join(lines, "\n");
  constexpr std::string_view kIncluded =
      "--secrets=include publishes them, so that everybody who may pull can read them";
  failure.hint =
      fmt::format("--secrets=external leaves out Secrets{}; {}",
                  std::ranges::all_of(objects, is_secret) ? ", which then come to the cluster another way"
                                                          : ", and not all of these are",
                  kIncluded);
  return failure;
}

std::string source_of(const release::PackageInfo& package) {
  // A path of this machine says nothing to others.
  const bool is_path = package.reference.starts_with('.') || package.reference.starts_with('/');
  return is_path ? std::string() : package.reference;
}

// Annotations are public. `said_as`: the flag that gave `text`; null: the package did.
std::string public_text(const std::string& text, const char* said_as, EventSink& events) {
  std::string cleaned = config::without_credentials(text);
  if (cleaned != text && said_as != nullptr)
    events.warn(
        fmt::format("{} has credentials in a URL: they are left out of the annotation, which is public: {}",
                    said_as, escape_controls(cleaned)));
  return cleaned;
}

std::string revision_of(const release::PackageInfo& package) {
  return package.version.empty() ? package.digest : fmt::format("{}@{}", package.version, package.digest);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// A text as a part of a file's name; another text gives another one.
std::string file_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kLongestFileName))
    name += is_name_character(c) || (c == '.' && !name.empty()) ? c : '_';
  if (name != text) name += "-" + crypto::sha256(text).hex().substr(0, 8);
  return name;
}

std::string path_of(const ObjectKey& key) {
  const auto& [group, kind] = key.group_kind;
  const std::string name =
      file_name(fmt::format("{}{}-{}", lower_case(kind), group.empty() ? "" : "." + group, key.name));
  return fmt::format("{}{}.yaml", key.ns.empty() ? "" : file_name(key.ns) + "/", name);
}

bool is_yaml(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "kustomization.yaml" || name == "kustomization.yml" || name == "Kustomization") return false;
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

struct Published {
  std::vector<RenderedObject> objects;
  crypto::Digest digest;
  bool secrets_left_out = false;
};

Result<Published> read_published(registry::OciClient& client, const oci::Reference& reference,
                                 EventSink& events, const Context& context) {
  MIST_TRY(const oci::Reference exact, registry::with_tag(client, reference, context));
  MIST_TRY(const registry::RawManifest raw,
           client.manifest(exact.repository, exact.digest ? exact.digest->str() : exact.tag, context));
  MIST_TRY(const oci::Document document, oci::parse_document(raw.bytes, raw.content_type, exact.str()));
  MIST_TRY(const registry::PackageContent content, registry::read_oci_package(client, exact, raw, context));
  const auto* const tree = std::get_if<registry::PackageTree>(&content);
  if (tree == nullptr)
    return error(ErrorKind::Invalid, "{} is a module, and no rendered objects", exact.str())
        .with_hint("name what mistctl publish or flux push artifact made");
  std::map<std::string, std::string> files;
  for (const registry::PackageFile& file : tree->files)
    if (is_yaml(file.path)) files.emplace(file.path, file.bytes);
  Published published{.objects = {}, .digest = raw.digest};
  MIST_TRY(published.objects,
           package::parse_objects(files, events).in(fmt::format("while reading {}", exact.str())));
  if (const auto* manifest = std::get_if<oci::Manifest>(&document)) {
    const auto said = manifest->annotations.find(std::string(kSecretsAnnotation));
    published.secrets_left_out = said != manifest->annotations.end() && said->second == kExternal;
  }
  return published;
}

// The manifest but for the time at which it was made.
std::optional<oci::Manifest> timeless(std::string_view bytes) {
  Result<oci::Document> document = oci::parse_document(bytes, oci::kManifestType, "the manifest");
  auto* const manifest = document.ok() ? std::get_if<oci::Manifest>(&*document) : nullptr;
  if (manifest == nullptr) return std::nullopt;
  manifest->annotations.erase(std::string(oci::kCreatedAnnotation));
  return std::move(*manifest);
}

// The digest under the tag, if nothing or only its time of creation differs.
Result<std::optional<crypto::Digest>> same_content(registry::OciClient& client,
                                                   const oci::Reference& destination,
                                                   const oci::Artifact& artifact, const Context& context) {
  MIST_TRY(const std::optional<crypto::Digest> digest,
           client.digest_of(destination.repository, destination.tag, context));
  if (!digest || *digest == artifact.digest) return digest;
  MIST_TRY(const registry::RawManifest there,
           client.manifest(destination.repository, digest->str(), context));
  const std::optional<oci::Manifest> before = timeless(there.bytes), now = timeless(artifact.manifest);
  const bool same = before && now && before->to_json() == now->to_json();
  return same ? digest : std::nullopt;
}

// For a destination that names no tag. The package's author chose the version: only a whole one can't move a
// tag that others rely on.
Result<std::string> own_tag(const release::PackageInfo& package, const oci::Reference& destination) {
  const std::string hint = fmt::format("name a tag: {}:prod", destination.repository.str());
  if (package.version.empty())
    return error(ErrorKind::Invalid, "{} doesn't say its version, and {} names none", package.reference,
                 destination.str())
        .with_hint(hint);
  Result<std::string> tag = registry::parse_tag(package.version);
  if (tag && oci::is_fixed_version(*tag)) return tag;
  return error(ErrorKind::Invalid, "{} says that it is version \"{}\", and {} names no tag",
               package.reference, escape_controls(package.version), destination.str())
      .with_because("only a whole version, such as 1.4.0, becomes the tag by itself")
      .with_hint(hint);
}

}  // namespace

Result<Publication> prepare_publication(render::RenderedRelease rendered, const PublishOptions& options,
                                        EventSink& events, const Context& context) {
  Publication publication{.objects = {}, .package = rendered.package};
  MIST_TRY(publication.objects,
           published_objects(std::move(rendered.objects), rendered.package, options, events));
  if (options.secrets != DrawnSecrets::Include) {
    MIST_TRY(std::vector<DrawnField> fields,
             drawn_fields_of(rendered, publication.objects, options, context));
    std::set<ObjectKey> left_out;
    if (options.secrets == DrawnSecrets::External)
      std::erase_if(fields, [&](const DrawnField& field) {
        return is_secret(field.key) && (left_out.insert(field.key), true);
      });
    if (!fields.empty()) return refused(fields);
    std::erase_if(publication.objects,
                  [&](const RenderedObject& each) { return left_out.contains(each.object.key()); });
    publication.left_out.assign(left_out.begin(), left_out.end());
  }
  if (publication.objects.empty())
    return error(ErrorKind::Invalid, "{} renders no objects that could be published",
                 publication.package.reference);
  if (rendered.fixed) publication.created = rendered.fixed->frozen_clock;
  publication.source = options.source.empty() ? public_text(source_of(publication.package), nullptr, events)
                                              : public_text(options.source, "--source", events);
  publication.revision = options.revision.empty()
                             ? public_text(revision_of(publication.package), nullptr, events)
                             : public_text(options.revision, "--revision", events);
  return publication;
}

Result<oci::Artifact> artifact_of(const Publication& publication, std::string_view tag) {
  std::map<std::string, std::string> by_path;
  for (const RenderedObject& each : publication.objects)
    by_path.emplace(path_of(each.object.key()), encoding::to_yaml(each.object.value()));
  std::vector<encoding::TarFile> files;
  for (auto& [path, text] : by_path) files.push_back({path, std::move(text)});
  MIST_TRY(std::string archive, encoding::gzip(encoding::write_tar(files)));
  if (archive.size() > registry::kMaxPackageBytes)
    return error(ErrorKind::Invalid, "the rendered objects have {} bytes, packed; {} are allowed",
                 archive.size(), registry::kMaxPackageBytes);
  oci::Annotations annotations;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) annotations.emplace(key, value);
  };
  add(oci::kCreatedAnnotation, publication.created);
  add(oci::kSourceAnnotation, publication.source);
  add(oci::kRevisionAnnotation, publication.revision);
  add(oci::kTitleAnnotation, publication.package.name);
  const std::string& version = publication.package.version;
  const bool is_its_own = !oci::is_fixed_version(tag) || oci::fits_version(tag, version);
  add(oci::kVersionAnnotation, is_its_own ? version : oci::version_of_tag(tag));
  if (!publication.left_out.empty()) add(kSecretsAnnotation, std::string(kExternal));
  return oci::rendered_artifact(std::move(archive), std::move(annotations));
}

Result<registry::PushReport> publish(registry::OciClient& client, const Publication& publication,
                                     oci::Reference destination, const PublishOptions& options,
                                     const Context& context) {
  if (destination.tag.empty()) {
    MIST_TRY(destination.tag, own_tag(publication.package, destination));
  }
  MIST_TRY(const oci::Artifact artifact, artifact_of(publication, destination.tag));
  MIST_TRY(const std::optional<crypto::Digest> same, same_content(client, destination, artifact, context));
  if (same) {
    registry::PushReport report{.pushed = destination, .was_there = true};
    report.pushed.digest = *same;
    report.bytes = artifact.manifest.size();
    for (const oci::Blob& blob : artifact.blobs) report.bytes += blob.bytes.size();
    return report;
  }
  return registry::push_artifact(client, destination, artifact, options.overwrite, context)
      .in(fmt::format("while publishing to {}", destination.str()));
}

Result<PublishedDiff> diff_published(registry::OciClient& client, const release::ReleaseId& id,
                                     const oci::Reference& published, render::RenderedRelease rendered,
                                     const PublishOptions& publishing, const DiffOptions& options,
                                     EventSink& events, const Context& context) {
  MIST_TRY(Published there, read_published(client, published, events, context));
  PublishOptions same = publishing;
  // A comparison shows no secret, so it need not be refused.
  same.secrets = there.secrets_left_out ? DrawnSecrets::External : DrawnSecrets::Include;
  MIST_TRY(Publication now, prepare_publication(std::move(rendered), same, events, context));
  // The order in which they lie in the archive says nothing.
  for (std::vector<RenderedObject>* objects : {&there.objects, &now.objects})
    std::ranges::sort(*objects, {}, [](const RenderedObject& each) { return each.object.key(); });
  PublishedDiff diff{.id = id, .published = published};
  diff.published.digest = there.digest;
  diff.objects = diff_of_recorded(there.objects, now.objects, options);
  std::erase_if(diff.objects, [](const RecordedDiff& each) { return each.only_moved; });
  const auto stay = std::ranges::count_if(
      diff.objects, [](const RecordedDiff& each) { return each.change != LineChange::Removed; });
  diff.unchanged = now.objects.size() - static_cast<std::size_t>(stay);
  return diff;
}

}  // namespace mist::action
