#include "oci/manifest.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "encoding/json.h"

namespace mist::oci {
namespace {

using encoding::Value;

constexpr int kManifestDepth = 16;
// A text of 64 MiB can have 30 million of them. An entry with its annotations has about ten.
constexpr std::size_t kMaxManifestValues = 256'000, kMaxLayoutValues = kMaxLayoutEntries * 16;
constexpr std::size_t kMaxTypeBytes = 255;  // RFC 6838 section 4.2, twice 127 and the '/'

enum class Shape : bool { Manifest, Index };

struct DocumentType {
  std::string_view media_type;
  Shape shape;
};
constexpr std::array kDocumentTypes{
    DocumentType{kManifestType, Shape::Manifest},
    DocumentType{kIndexType, Shape::Index},
    DocumentType{"application/vnd.docker.distribution.manifest.v2+json", Shape::Manifest},
    DocumentType{"application/vnd.docker.distribution.manifest.list.v2+json", Shape::Index},
};

std::optional<Shape> shape_of(std::string_view media_type) {
  const auto known = std::ranges::find(kDocumentTypes, media_type, &DocumentType::media_type);
  return known == kDocumentTypes.end() ? std::nullopt : std::optional(known->shape);
}

// Reads one document; errors name it and the member.
class DocumentReader {
 public:
  explicit DocumentReader(std::string_view name) : name_(name) {}

  Error bad(std::string_view member, std::string_view why) const {
    return error(ErrorKind::Invalid, "{} is damaged, or not a manifest", name_)
        .with_because(fmt::format("{} {}", member, why))
        .with_hint("push it again, or ask whoever runs the registry");
  }

  Result<Value> document(std::string_view text, std::size_t most_values) const {
    auto parsed =
        encoding::parse_json(text, {.strict = true, .max_depth = kManifestDepth, .max_values = most_values});
    if (!parsed) return bad("it is not JSON that can be trusted:", escape_controls(parsed.error().message));
    if (!parsed->is_object()) return bad("it", "is not a JSON object");
    return parsed;
  }

  Result<std::string> text(const Value& object, std::string_view key, const std::string& at) const {
    const Value* const value = object.find(key);
    if (value == nullptr) return std::string();
    if (!value->is_string()) return bad(at + std::string(key), "is not text");
    return value->as_string();
  }

  Result<Annotations> annotations(const Value& object, const std::string& at) const {
    Annotations found;
    const Value* const value = object.find("annotations");
    if (value == nullptr || value->is_null()) return found;
    if (!value->is_object()) return bad(at + "annotations", "is not an object");
    for (const Value::Member& member : value->as_object()) {
      if (!member.value.is_string())
        return bad(fmt::format("{}annotations.{}", at, escape_controls(member.key)), "is not text");
      found.emplace(member.key, member.value.as_string());
    }
    return found;
  }

  Result<Descriptor> descriptor(const Value& value, const std::string& at) const {
    if (!value.is_object()) return bad(at, "is not an object");
    MIST_TRY(std::string media_type, text(value, "mediaType", at + "."));
    if (media_type.empty() || media_type.size() > kMaxTypeBytes) return bad(at, "has no mediaType");
    MIST_TRY(const std::string digest, text(value, "digest", at + "."));
    const Result<crypto::Digest> parsed = crypto::Digest::parse(digest);
    if (!parsed)
      return bad(at + ".digest",
                 fmt::format("is no SHA-256 digest: \"{}\"", escape_controls(digest.substr(0, 100))));
    const Value* const size = value.find("size");
    if (size == nullptr || !size->is_int() || size->as_int() < 0)
      return bad(at + ".size", "is not a number of bytes");
    MIST_TRY(std::string artifact_type, text(value, "artifactType", at + "."));
    MIST_TRY(Annotations notes, annotations(value, at + "."));
    return Descriptor{std::move(media_type), *parsed, static_cast<std::uint64_t>(size->as_int()),
                      std::move(artifact_type), std::move(notes)};
  }

  Result<std::vector<Descriptor>> descriptors(const Value& document, std::string_view key,
                                              std::size_t most = kMaxDescriptors) const {
    const Value* const list = document.find(key);
    if (list == nullptr || !list->is_array()) return bad(key, "is not a list");
    if (list->size() > most)
      return bad(key, fmt::format("has {} entries; {} are allowed", list->size(), most));
    std::vector<Descriptor> found;
    for (std::size_t i = 0; i < list->size(); ++i) {
      MIST_TRY(Descriptor each, descriptor(list->as_array()[i], fmt::format("{}[{}]", key, i)));
      found.push_back(std::move(each));
    }
    return found;
  }

  Result<Shape> shape(const Value& document, std::string_view content_type) const {
    MIST_TRY(const std::string declared, text(document, "mediaType", ""));
    // "application/json; charset=utf-8"
    const std::string sent = lower_case(trim(content_type.substr(0, content_type.find(';'))));
    const std::string& type = declared.empty() ? sent : declared;
    const bool has_layers = document.find("layers") != nullptr || document.find("config") != nullptr;
    const bool has_manifests = document.find("manifests") != nullptr;
    if (has_layers && has_manifests) return bad("it", "is a manifest and an index at once");
    const Shape seen = has_manifests ? Shape::Index : Shape::Manifest;
    if (const std::optional<Shape> known = shape_of(type)) {
      if (!declared.empty() && shape_of(sent).value_or(*known) != *known)
        return bad("mediaType",
                   fmt::format("is {}, but the registry sent it as {}", escape_controls(declared), sent));
      if (*known != seen) return bad("it", fmt::format("lacks the members of {}", type));
      return seen;
    }
    if (!declared.empty())
      return bad("mediaType",
                 fmt::format("is {}, which is neither a manifest nor an index", escape_controls(declared)));
    return seen;
  }

 private:
  std::string_view name_;
};

Value value_of(const Annotations& annotations) {
  Value object = Value::object();
  for (const auto& [key, value] : annotations) object.set(key, value);
  return object;
}

Value value_of(const Descriptor& descriptor) {
  Value value = Value::object(
      {{"mediaType", descriptor.media_type}, {"digest", descriptor.digest.str()}, {"size", descriptor.size}});
  if (!descriptor.artifact_type.empty()) value.set("artifactType", descriptor.artifact_type);
  if (!descriptor.annotations.empty()) value.set("annotations", value_of(descriptor.annotations));
  return value;
}

}  // namespace

Descriptor descriptor_of(std::string_view media_type, std::string_view bytes) {
  return Descriptor{std::string(media_type), crypto::sha256(bytes), bytes.size()};
}

std::string Manifest::to_json() const {
  Value document = Value::object({{"schemaVersion", 2}, {"mediaType", kManifestType}});
  if (!artifact_type.empty()) document.set("artifactType", artifact_type);
  document.set("config", value_of(config));
  Value list{Value::Array{}};
  for (const Descriptor& layer : layers) list.push_back(value_of(layer));
  document.set("layers", std::move(list));
  if (subject) document.set("subject", value_of(*subject));
  if (!annotations.empty()) document.set("annotations", value_of(annotations));
  return encoding::to_json(document);
}

std::string Index::to_json() const {
  Value document = Value::object({{"schemaVersion", 2}, {"mediaType", kIndexType}});
  Value list{Value::Array{}};
  for (const Descriptor& each : manifests) list.push_back(value_of(each));
  document.set("manifests", std::move(list));
  if (!annotations.empty()) document.set("annotations", value_of(annotations));
  return encoding::to_json(document);
}

Descriptor referrer_descriptor(const Manifest& manifest, std::string_view media_type,
                               std::string_view bytes) {
  Descriptor descriptor = descriptor_of(media_type, bytes);
  descriptor.artifact_type =
      manifest.artifact_type.empty() ? manifest.config.media_type : manifest.artifact_type;
  descriptor.annotations = manifest.annotations;
  return descriptor;
}

std::string accepted_types() {
  std::vector<std::string> types;
  for (const DocumentType& each : kDocumentTypes) types.emplace_back(each.media_type);
  return join(types, ", ");
}

Result<Index> parse_layout_index(std::string_view text, std::string_view name) {
  const DocumentReader reader(name);
  if (text.size() > kMaxLayoutIndexBytes)
    return reader.bad("it", fmt::format("has {} bytes; {} are allowed", text.size(), kMaxLayoutIndexBytes));
  MIST_TRY(const Value parsed, reader.document(text, kMaxLayoutValues));
  MIST_TRY(Annotations annotations, reader.annotations(parsed, ""));
  MIST_TRY(std::vector<Descriptor> manifests, reader.descriptors(parsed, "manifests", kMaxLayoutEntries));
  return Index{std::move(manifests), std::move(annotations)};
}

Result<Document> parse_document(std::string_view text, std::string_view content_type, std::string_view name) {
  const DocumentReader reader(name);
  if (text.size() > kMaxManifestBytes)
    return reader.bad("it", fmt::format("has {} bytes; {} are allowed", text.size(), kMaxManifestBytes));
  MIST_TRY(const Value parsed, reader.document(text, kMaxManifestValues));
  const Value* const schema = parsed.find("schemaVersion");
  if (schema == nullptr || !schema->is_int() || schema->as_int() != 2)
    return reader.bad("schemaVersion", "is not 2");
  MIST_TRY(const Shape shape, reader.shape(parsed, content_type));
  MIST_TRY(Annotations annotations, reader.annotations(parsed, ""));
  if (shape == Shape::Index) {
    MIST_TRY(std::vector<Descriptor> manifests, reader.descriptors(parsed, "manifests"));
    return Document(Index{std::move(manifests), std::move(annotations)});
  }
  MIST_TRY(std::string artifact_type, reader.text(parsed, "artifactType", ""));
  const Value* const config = parsed.find("config");
  if (config == nullptr) return reader.bad("config", "isn't there");
  MIST_TRY(Descriptor described, reader.descriptor(*config, "config"));
  MIST_TRY(std::vector<Descriptor> layers, reader.descriptors(parsed, "layers"));
  Manifest manifest{
      std::move(artifact_type), std::move(described), std::move(layers), {}, std::move(annotations)};
  if (const Value* const subject = parsed.find("subject"); subject != nullptr && !subject->is_null()) {
    MIST_TRY(manifest.subject, reader.descriptor(*subject, "subject"));
  }
  return Document(std::move(manifest));
}

}  // namespace mist::oci
