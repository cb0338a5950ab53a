#include "trust/memory.h"

#include <algorithm>

#include "base/context.h"
#include "base/local_fault.h"
#include "encoding/json.h"

namespace mist::trust {
namespace {

using encoding::Value;

constexpr std::string_view kVersion = "mistletoe.dev/v1alpha1";
constexpr std::string_view kPackageKind = "RememberedSigners";
constexpr std::string_view kManifestKind = "ProvedSignatures";
constexpr std::string_view kProvenanceKind = "KeptProvenance";
constexpr std::uint64_t kMostRecord = std::uint64_t{8} << 20;  // a provenance file, escaped as JSON
constexpr auto kLockPatience = std::chrono::seconds(30);       // it is held while one small file is written

std::string sealed(Value document) {
  document.set("seal", crypto::sha256(encoding::to_json(document)).str());
  return encoding::to_json(document) + '\n';
}

Error altered_record(const Path& path, std::string_view because) {
  return error(ErrorKind::Conflict, "the record of a package's signatures, {}, was altered", path.string())
      .with_because(std::string(because))
      .with_hint(
          "if that was you, remove the file; the next use of the package is then trusted like the first one")
      .with_detail(LocalFault{});
}

Error unwritten(Error failure) {
  if (failure.kind != ErrorKind::Forbidden) return failure;
  if (failure.hint.empty()) failure.hint = "set MIST_HOME_LOCATION to a directory that you may write to";
  return std::move(failure).with_detail(ReadOnlyMemory{}).with_detail(LocalFault{});
}

Value to_value(const Proof& proof) {
  Value keys{Value::Array{}};
  for (const std::string& key : proof.keys) keys.push_back(key);
  return Value::object({{"form", oci::to_string(proof.form)},
                        {"keys", std::move(keys)},
                        {"algorithm", proof.algorithm},
                        {"signedAt", proof.signed_at ? Value(format_time(*proof.signed_at)) : Value()},
                        {"objection", proof.objection},
                        {"madeFor", proof.made_for},
                        {"identity", proof.identity ? Value::object({{"issuer", proof.identity->issuer},
                                                                     {"subject", proof.identity->subject}})
                                                    : Value()},
                        {"trustRoot", proof.root},
                        {"user", proof.user}});
}

Value list_of(const std::set<std::string>& texts) {
  Value list{Value::Array{}};
  for (const std::string& each : texts) list.push_back(each);
  return list;
}

std::set<std::string> texts_in(const Value* list) {
  std::set<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const Value& each : list->as_array())
    if (each.is_string()) texts.insert(each.as_string());
  return texts;
}

oci::SignatureForm form_in(std::string_view text) {
  for (const auto form : {oci::SignatureForm::Bundle, oci::SignatureForm::Minisign, oci::SignatureForm::Helm})
    if (text == oci::to_string(form)) return form;
  return oci::SignatureForm::Cosign;
}

Proof proof_in(const Value& value) {
  const std::set<std::string> keys = texts_in(value.find("keys"));
  const Value* const identity = value.find("identity");
  return Proof{.form = form_in(value.string_at("form")),
               .keys = {keys.begin(), keys.end()},
               .algorithm = std::string(value.string_at("algorithm")),
               .name = {},  // of the policy as it is now
               .signed_at = parse_time(value.string_at("signedAt")),
               .objection = std::string(value.string_at("objection")),
               .made_for = std::string(value.string_at("madeFor")),
               .identity = identity != nullptr && identity->is_object()
                               ? std::optional(Identity{std::string(identity->string_at("issuer")),
                                                        std::string(identity->string_at("subject"))})
                               : std::nullopt,
               .root = std::string(value.string_at("trustRoot")),
               .user = std::string(value.string_at("user"))};
}

}  // namespace

Path Memory::package_path(const std::string& package) const {
  return directory_ / "packages" / (crypto::sha256(package).hex() + ".json");
}

Path Memory::manifest_path(const Subject& subject) const {
  const std::string name = fmt::format("{}@{}", subject.package, subject.manifest.str());
  return directory_ / "manifests" / (crypto::sha256(name).hex() + ".json");
}

Path Memory::provenance_path(const Subject& subject) const {
  return directory_ / "provenance" / manifest_path(subject).filename();
}

Result<std::optional<Value>> Memory::read(const Path& path, std::string_view kind) const {
  Result<std::string> text = files_.read(path, kMostRecord);
  if (!text) {
    if (text.error().kind == ErrorKind::NotFound) return std::optional<Value>();
    return std::move(text).error().with_detail(LocalFault{});
  }
  Result<Value> document =
      encoding::parse_json(*text, {.strict = true, .max_depth = 8, .file = path.string()});
  if (!document) return altered_record(path, document.error().to_line());
  Value unsealed = *document;
  unsealed.erase("seal");
  if (document->string_at("kind") != kind || sealed(std::move(unsealed)) != *text)
    return altered_record(path, "its seal doesn't fit");
  return std::optional(*std::move(document));
}

Status Memory::write(const Path& path, Value document) const {
  return write_text(path, sealed(std::move(document)));
}

Status Memory::write_text(const Path& path, std::string_view text) const {
  Status written = files_.make_directories(path.parent_path(), 0700);
  if (written) written = files_.write(path, text, {.mode = 0600});
  return written ? std::move(written) : Status(unwritten(std::move(written).error()));
}

Result<std::set<std::string>> Memory::keys_of(const std::string& package) const {
  const Path path = package_path(package);
  MIST_TRY(const std::optional<Value> document, read(path, kPackageKind));
  if (!document) return std::set<std::string>();
  if (document->string_at("package") != package) return altered_record(path, "it is of another package");
  return texts_in(document->find("keys"));
}

Result<LearnedBy> Memory::learned_by(const std::string& package) const {
  MIST_TRY(const std::optional<Value> document, read(package_path(package), kPackageKind));
  return document && document->is_true_at("verified") ? LearnedBy::Verifying : LearnedBy::Use;
}

Result<Candidates> Memory::candidates_of(const std::string& package) const {
  Candidates candidates;
  MIST_TRY(const std::optional<Value> document, read(package_path(package), kPackageKind));
  const Value* const list = document ? document->find("candidates") : nullptr;
  if (list == nullptr || !list->is_array()) return candidates;
  for (const Value& each : list->as_array()) candidates.push_back(texts_in(&each));
  return candidates;
}

Status Memory::remember(const std::string& package, const std::set<std::string>& keys, LearnedBy how,
                        const Candidates& candidates) const {
  if (keys.empty()) {
    Status removed = files_.remove(package_path(package));
    return removed ? std::move(removed) : Status(unwritten(std::move(removed).error()));
  }
  Value document = Value::object(
      {{"apiVersion", kVersion}, {"kind", kPackageKind}, {"package", package}, {"keys", list_of(keys)}});
  if (how == LearnedBy::Verifying) document.set("verified", true);
  Value open{Value::Array{}};
  for (const std::set<std::string>& each : candidates)
    if (std::ranges::includes(keys, each)) open.push_back(list_of(each));
  if (open.size() > 0) document.set("candidates", std::move(open));
  return write(package_path(package), std::move(document));
}

Result<FileLock> Memory::lock(const std::string& package) const {
  const Path locks = directory_ / "locks";
  if (const Status made = files_.make_directories(locks, 0700); !made) return unwritten(made.error());
  Result<FileLock> lock =
      FileLock::acquire(locks / crypto::sha256(package).hex(), Context().with_timeout(kLockPatience));
  if (lock) return lock;
  return unwritten(std::move(lock).error())
      .with_frame(fmt::format("while changing what is remembered of {}", package));
}

Result<std::optional<std::vector<Proof>>> Memory::proofs_of(const Subject& subject) const {
  const Path path = manifest_path(subject);
  MIST_TRY(const std::optional<Value> document, read(path, kManifestKind));
  if (!document) return std::optional<std::vector<Proof>>();
  if (document->string_at("package") != subject.package ||
      document->string_at("manifest") != subject.manifest.str())
    return altered_record(path, "it is of another manifest");
  std::vector<Proof> proofs;
  if (const Value* const list = document->find("signatures"); list != nullptr && list->is_array())
    for (const Value& each : list->as_array()) proofs.push_back(proof_in(each));
  return std::optional(std::move(proofs));
}

Result<std::optional<KeptProvenance>> Memory::provenance_of(const Subject& subject) const {
  const Path path = provenance_path(subject);
  MIST_TRY(const std::optional<Value> document, read(path, kProvenanceKind));
  if (!document) return std::optional<KeptProvenance>();
  const Result<crypto::Digest> archive = crypto::Digest::parse(document->string_at("archive"));
  if (document->string_at("package") != subject.package ||
      document->string_at("manifest") != subject.manifest.str() || !archive)
    return altered_record(path, "it is of another manifest");
  return std::optional(KeptProvenance{.text = std::string(document->string_at("text")),
                                      .archive = {.name = std::string(document->string_at("chart")),
                                                  .version = std::string(document->string_at("version")),
                                                  .digest = *archive}});
}

Status Memory::keep_provenance(const Subject& subject, const KeptProvenance& provenance) const {
  return write(provenance_path(subject), Value::object({{"apiVersion", kVersion},
                                                        {"kind", kProvenanceKind},
                                                        {"package", subject.package},
                                                        {"manifest", subject.manifest.str()},
                                                        {"chart", provenance.archive.name},
                                                        {"version", provenance.archive.version},
                                                        {"archive", provenance.archive.digest.str()},
                                                        {"text", provenance.text}}));
}

Path Memory::certificate_path(const std::string& key) const {
  return directory_ / "certificates" / (crypto::sha256(key).hex() + ".pgp");
}

// A reader tells their fingerprints again.
Result<std::string> Memory::certificates_of(const std::set<std::string>& keys) const {
  std::string all;
  for (const std::string& key : keys) {
    if (!key.starts_with(kOpenPgpPrefix)) continue;
    Result<std::string> one = files_.read(certificate_path(key), kMostRecord);
    if (one)
      all += *one;
    else if (one.error().kind != ErrorKind::NotFound)
      return std::move(one).error().with_detail(LocalFault{});
  }
  return all;
}

Status Memory::keep_certificate(const std::string& key, const std::string& certificate) const {
  return write_text(certificate_path(key), certificate);
}

Status Memory::record(const Subject& subject, std::span<const Proof> proofs) const {
  Value list{Value::Array{}};
  for (const Proof& proof : proofs) list.push_back(to_value(proof));
  return write(manifest_path(subject), Value::object({{"apiVersion", kVersion},
                                                      {"kind", kManifestKind},
                                                      {"package", subject.package},
                                                      {"manifest", subject.manifest.str()},
                                                      {"signatures", std::move(list)}}));
}

}  // namespace mist::trust
