#include "registry/pin_store.h"

#include "base/local_fault.h"
#include "config/paths.h"
#include "encoding/json.h"

namespace mist::registry {
namespace {

using encoding::Value;

constexpr std::string_view kEnding = ".json";
constexpr std::uint64_t kMaxPin = 64 << 10;

Value document_of(const Pin& pin) {
  Value document = Value::object({{"apiVersion", "mistletoe.dev/v1alpha1"},
                                  {"kind", "RegistryPin"},
                                  {"reference", pin.reference},
                                  {"digest", pin.digest.str()},
                                  {"tree", pin.is_tree},
                                  {"object", pin.object},
                                  {"origin", pin.origin}});
  if (!pin.mirror.empty()) document.set("mirror", pin.mirror);
  return document;
}

std::string sealed(const Pin& pin) {
  Value document = document_of(pin);
  document.set("seal", crypto::sha256(encoding::to_json(document)).str());
  return encoding::to_json(document) + '\n';
}

Error altered(const Path& path, std::string because) {
  return error(ErrorKind::Conflict, "the record of a package version, {}, was altered", path.string())
      .with_because(std::move(because))
      .with_hint(
          "if that was you, remove the file; the next use records the version's bytes again, without being "
          "able "
          "to say whether they changed")
      .with_detail(LocalFault{});
}

Result<Pin> unsealed(const Path& path, std::string_view text) {
  Result<Value> document =
      encoding::parse_json(text, {.strict = true, .max_depth = 4, .file = path.string()});
  if (!document) return altered(path, document.error().to_line());
  const Result<crypto::Digest> digest = crypto::Digest::parse(document->string_at("digest"));
  const Value* tree = document->find("tree");
  if (!digest || tree == nullptr || !tree->is_bool()) return altered(path, "it has no digest");
  Pin pin{.reference = std::string(document->string_at("reference")),
          .digest = *digest,
          .is_tree = tree->as_bool(),
          .object = std::string(document->string_at("object")),
          .origin = std::string(document->string_at("origin")),
          .mirror = std::string(document->string_at("mirror"))};
  if (sealed(pin) != text) return altered(path, "its seal doesn't fit");
  return pin;
}

}  // namespace

PinStore::PinStore(FileSystem& files, Path directory) : files_(files), directory_(std::move(directory)) {}

Path PinStore::path_of(const std::string& registry, const std::string& reference) const {
  return directory_ / registry / (crypto::sha256(reference).hex() + std::string(kEnding));
}

Result<std::optional<Pin>> PinStore::find(const std::string& registry, const std::string& reference) const {
  const Path path = path_of(registry, reference);
  Result<std::string> text = files_.read(path, kMaxPin);
  if (!text) {
    if (text.error().kind == ErrorKind::NotFound) return std::optional<Pin>();
    return std::move(text).error().with_detail(LocalFault{});
  }
  MIST_TRY(Pin pin, unsealed(path, *text));
  if (pin.reference != reference) return altered(path, "it is of another version");
  return std::optional(std::move(pin));
}

Result<std::vector<Pin>> PinStore::all(const std::string& registry) const {
  std::vector<Pin> pins;
  const Result<std::vector<DirectoryEntry>> entries = files_.list(directory_ / registry);
  if (!entries) {
    if (entries.error().kind == ErrorKind::NotFound) return pins;
    return entries.error();
  }
  for (const DirectoryEntry& entry : *entries) {
    // Temporary files of a killed write begin with a dot.
    if (entry.is_directory || entry.name.starts_with('.') || !entry.name.ends_with(kEnding)) continue;
    const Path path = directory_ / registry / entry.name;
    MIST_TRY(const std::string text, files_.read(path, kMaxPin));
    MIST_TRY(Pin pin, unsealed(path, text));
    pins.push_back(std::move(pin));
  }
  return pins;
}

Status PinStore::add(const std::string& registry, const Pin& pin) const {
  MIST_TRY_VOID(config::make_private_directory(files_, directory_ / registry));
  return files_.write(path_of(registry, pin.reference), sealed(pin),
                      {.mode = 0600, .durable = true, .exclusive = true});
}

Status PinStore::replace(const std::string& registry, const Pin& pin) const {
  MIST_TRY_VOID(config::make_private_directory(files_, directory_ / registry));
  return files_.write(path_of(registry, pin.reference), sealed(pin),
                      {.mode = 0600, .durable = true, .exclusive = false});
}

Status PinStore::forget(const std::string& registry) const {
  return files_.remove_all(directory_ / registry);
}

}  // namespace mist::registry
