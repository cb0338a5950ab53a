#include "registry/oci_fetcher.h"

#include <utility>
#include <variant>

#include "base/text.h"
#include "oci/tags.h"
#include "registry/oci_packages.h"

namespace mist::registry {
namespace {

std::string manifest_key(const oci::Repository& repository, const crypto::Digest& manifest) {
  return fmt::format("{}@{}", repository.str(), manifest.str());
}

std::string tag_key(const oci::Reference& reference) {
  return fmt::format("{}:{}", reference.repository.str(), reference.tag);
}

Result<bool> may_be_kept(const Fetched& fetched, const MayKeep& may_keep) {
  return may_keep ? may_keep(fetched) : Result<bool>(true);
}

}  // namespace

OciFetcher::OciFetcher(EventSink& events, const KnownPackages& known, OciSession& oci, OciTrust& trust)
    : events_(events), known_(known), oci_(oci), trust_(trust) {}

// The package that was read under this digest before, while the cache has it.
Result<std::optional<Fetched>> OciFetcher::known_manifest(oci::Reference reference,
                                                          const crypto::Digest& manifest) const {
  MIST_TRY(const std::optional<Pin> pin,
           known_.pins().find(std::string(kOciName), manifest_key(reference.repository, manifest)));
  if (!pin) return std::optional<Fetched>();
  reference.digest = manifest;
  return known_.from_cache(PackageRef(std::move(reference)), *pin);
}

// Of a version that was used before, the manifest that it had then will do while its registry is away.
Result<RawManifest> OciFetcher::read_manifest(OciSource& client, const oci::Reference& reference,
                                              const Context& context) const {
  Result<RawManifest> raw = client.manifest(
      reference.repository, reference.digest ? reference.digest->str() : reference.tag, context);
  if (raw || raw.error().kind != ErrorKind::Retryable || reference.digest) return raw;
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(std::string(kOciName), tag_key(reference)));
  const Result<crypto::Digest> manifest = crypto::Digest::parse(pin ? pin->object : std::string());
  if (!manifest) return raw;
  MIST_TRY(const std::optional<Fetched> here, known_manifest(reference, *manifest));
  if (!here) return raw;
  events_.warn(fmt::format("{}; {} is taken as it was when it was last fetched",
                           escape_controls(raw.error().message), reference.str()));
  return RawManifest{.bytes = {}, .content_type = {}, .digest = *manifest};
}

Result<Fetched> OciFetcher::fetch_manifest(OciSource& client, const oci::Reference& reference,
                                           const RawManifest& raw, const Context& context) const {
  MIST_TRY(std::optional<Fetched> known, known_manifest(reference, raw.digest));
  if (known) return *std::move(known);
  MIST_TRY(PackageContent content, read_oci_package(client, reference, raw, context));
  const std::string key = manifest_key(reference.repository, raw.digest);
  const crypto::Digest digest = digest_of(content);
  const std::string origin = fmt::format("{}, manifest {}", reference.str(), raw.digest.str());
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(std::string(kOciName), key));
  MIST_TRY_VOID(known_.record(std::string(kOciName), pin,
                              {.reference = key,
                               .digest = digest,
                               .is_tree = std::holds_alternative<PackageTree>(content),
                               .object = raw.digest.str(),
                               .origin = origin}));
  known_.keep(digest, content);
  oci::Reference resolved = reference;
  resolved.digest = raw.digest;
  return Fetched{std::move(content), digest, PackageRef(std::move(resolved)), origin};
}

Status OciFetcher::check_version(const oci::Reference& tagged, const RawManifest& raw,
                                 TagChosen chosen) const {
  // Of a registry that is away there are no bytes; its tag is pinned.
  if (raw.bytes.empty()) return {};
  MIST_TRY(const bool counts, trust_.looks_at(tagged.repository.identity()));
  return counts ? check_signed_version(tagged, raw, chosen) : Status();
}

Result<Examined> OciFetcher::examine(const oci::Reference& reference, const crypto::Digest& manifest,
                                     const Context& context) const {
  MIST_TRY(Examined examined,
           trust_.examine(reference.repository, manifest, [this] { return oci_.source(); }, context));
  oci::Reference exact = reference;
  exact.digest = manifest;
  MIST_TRY_VOID(trust_.check_chart_tag(exact));
  return examined;
}

// Bytes that the pin refuses leave nothing behind: their signers would be the package's from then on.
Status OciFetcher::settle_version(const oci::Reference& tagged, const crypto::Digest& manifest,
                                  const Examined& examined, const Fetched& fetched,
                                  ChangedVersions changed) const {
  const std::string registry(kOciName);
  const std::string key = tag_key(tagged);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(registry, key));
  Pin now{.reference = key,
          .digest = fetched.digest,
          .is_tree = std::holds_alternative<PackageTree>(fetched.content),
          .object = manifest.str(),
          .origin = fetched.origin};
  const bool moved = pin && pin->digest != now.digest;
  if (moved && changed == ChangedVersions::Refuse) return known_.record(registry, pin, std::move(now));
  MIST_TRY_VOID(trust_.keep(tagged.repository, manifest, examined));
  if (moved && changed == ChangedVersions::Once) return {};
  return moved ? known_.pins().replace(registry, now) : known_.record(registry, pin, std::move(now));
}

Status OciFetcher::check_bytes(const oci::Reference& tagged, const RawManifest& raw,
                               const Context& context) const {
  if (!oci::is_fixed_version(tagged.tag)) return {};
  const std::string registry(kOciName);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(registry, tag_key(tagged)));
  if (!pin || pin->object == raw.digest.str()) return {};
  // The same bytes may have another manifest.
  MIST_TRY(OciSource* const client, oci_.source());
  MIST_TRY(const PackageContent content, read_oci_package(*client, tagged, raw, context));
  Pin now = *pin;
  now.digest = digest_of(content);
  return known_.record(registry, pin, std::move(now));
}

Result<Fetched> OciFetcher::fetch(const oci::Reference& reference, const Context& context,
                                  ChangedVersions changed, const MayKeep& may_keep) const {
  if (reference.digest) {
    MIST_TRY(std::optional<Fetched> known, known_manifest(reference, *reference.digest));
    if (known) {
      MIST_TRY(const Examined examined, examine(reference, *reference.digest, context));
      MIST_TRY(const bool keeps, may_be_kept(*known, may_keep));
      if (keeps) MIST_TRY_VOID(trust_.keep(reference.repository, *reference.digest, examined));
      return *std::move(known);
    }
  }
  MIST_TRY(OciSource* const client, oci_.source());
  Activity activity(events_, fmt::format("fetching {}", reference.str()));
  const auto read = [&](const oci::Reference& tagged, const RawManifest& raw) -> Result<Fetched> {
    MIST_TRY(const Examined examined, examine(tagged, raw.digest, context));
    const TagChosen chosen = reference.range.empty() ? TagChosen::ByName : TagChosen::ByRange;
    if (!reference.digest) MIST_TRY_VOID(check_version(tagged, raw, chosen));
    MIST_TRY(Fetched fetched, fetch_manifest(*client, tagged, raw, context));
    MIST_TRY(const bool keeps, may_be_kept(fetched, may_keep));
    if (!keeps) return fetched;
    // A version keeps its bytes; other tags may move.
    if (!reference.digest && oci::is_fixed_version(tagged.tag))
      MIST_TRY_VOID(settle_version(tagged, raw.digest, examined, fetched, changed));
    else
      MIST_TRY_VOID(trust_.keep(tagged.repository, raw.digest, examined));
    return fetched;
  };
  const auto all = [&]() -> Result<Fetched> {
    MIST_TRY(const oci::Reference tagged, with_tag(*client, reference, context));
    MIST_TRY(const RawManifest raw, read_manifest(*client, tagged, context));
    return naming_mirror(read(tagged, raw), raw, tagged.str());
  };
  Result<Fetched> fetched = all();
  if (!fetched) activity.fail();
  return fetched;
}

}  // namespace mist::registry
