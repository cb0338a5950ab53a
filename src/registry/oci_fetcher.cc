#include "registry/oci_fetcher.h"

#include <utility>
#include <variant>

#include "base/parallel.h"
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

std::string manifest_origin(const oci::Reference& reference, const crypto::Digest& manifest) {
  return fmt::format("{}, manifest {}", reference.str(), manifest.str());
}

Result<bool> may_be_kept(const Fetched& fetched, const MayKeep& may_keep) {
  return may_keep ? may_keep(fetched) : Result<bool>(true);
}

}  // namespace

OciFetcher::OciFetcher(EventSink& events, const KnownPackages& known, OciSession& oci, OciTrust& trust,
                       NewSigners signers)
    : events_(events), known_(known), oci_(oci), trust_(trust), signers_(signers) {}

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

Result<OciFetcher::Judged> OciFetcher::read_judged(OciSource& client, const oci::Reference& tagged,
                                                   const RawManifest& raw, std::optional<TagChosen> chosen,
                                                   const Context& context) const {
  MIST_TRY(std::optional<Fetched> known, known_manifest(tagged, raw.digest));
  // Of a registry that is away, nothing more can be asked than was asked before.
  const NewSigners signers = raw.bytes.empty() ? NewSigners::Leave : signers_;
  const std::string name = tagged.repository.identity();
  MIST_TRY(const bool is_held, trust_.looks_at(name, NewSigners::Leave));
  MIST_TRY(const bool is_asked, trust_.looks_at(name, signers));
  Examined examined;
  std::optional<PackageContent> content;
  const auto work = [&](std::size_t part) -> Status {
    if (part == 0) {
      MIST_TRY(examined, examine(tagged, raw.digest, signers, context));
      return chosen ? check_version(tagged, raw, *chosen, examined) : Status();
    }
    if (known) return {};
    MIST_TRY(content, read_oci_package(client, tagged, raw, context));
    return {};
  };
  // A package that needs signatures isn't read without them. Those of the rest may come meanwhile.
  const bool at_once = is_asked && !is_held && !known;
  MIST_TRY_VOID(parallel_for(2, at_once ? 2 : 1, work));
  if (known) return Judged{*std::move(known), std::move(examined)};
  MIST_TRY(Fetched fetched, keep_manifest(tagged, raw.digest, *std::move(content)));
  return Judged{std::move(fetched), std::move(examined)};
}

Result<Fetched> OciFetcher::keep_manifest(const oci::Reference& reference, const crypto::Digest& manifest,
                                          PackageContent content) const {
  const std::string key = manifest_key(reference.repository, manifest);
  const crypto::Digest digest = digest_of(content);
  const std::string origin = manifest_origin(reference, manifest);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(std::string(kOciName), key));
  MIST_TRY_VOID(known_.record(std::string(kOciName), pin,
                              {.reference = key,
                               .digest = digest,
                               .is_tree = std::holds_alternative<PackageTree>(content),
                               .object = manifest.str(),
                               .origin = origin}));
  known_.keep(digest, content);
  oci::Reference resolved = reference;
  resolved.digest = manifest;
  return Fetched{std::move(content), digest, PackageRef(std::move(resolved)), origin};
}

Status OciFetcher::check_version(const oci::Reference& tagged, const RawManifest& raw, TagChosen chosen,
                                 const Examined& examined) const {
  // Of a registry that is away there are no bytes; its tag is pinned.
  if (raw.bytes.empty()) return {};
  MIST_TRY(const bool is_held, trust_.looks_at(tagged.repository.identity(), NewSigners::Leave));
  const bool is_signed = examined.proofs && !trust::keys_in(*examined.proofs).empty();
  return is_held || is_signed ? check_signed_version(tagged, raw, chosen) : Status();
}

Result<Examined> OciFetcher::examine(const oci::Reference& reference, const crypto::Digest& manifest,
                                     NewSigners signers, const Context& context) const {
  MIST_TRY(
      Examined examined,
      trust_.examine(reference.repository, manifest, [this] { return oci_.source(); }, signers, context));
  oci::Reference exact = reference;
  exact.digest = manifest;
  MIST_TRY_VOID(trust_.check_chart_tag(exact));
  return examined;
}

Result<bool> OciFetcher::is_vouched_for(OciSource& client, const oci::Reference& tagged,
                                        const RawManifest& raw, const Examined& examined) const {
  // Of a registry that is away there are no bytes.
  if (raw.mirror.empty()) return !raw.bytes.empty();
  if (examined.proofs || client.behind(tagged.repository) == nullptr) return true;
  return trust_.was_examined({tagged.repository.identity(), raw.digest});
}

// Bytes that the pin refuses leave nothing behind: their signers would be the package's from then on.
Status OciFetcher::settle_version(OciSource& client, const oci::Reference& tagged, const RawManifest& raw,
                                  const Judged& judged, ChangedVersions changed) const {
  const Fetched& fetched = judged.package;
  const std::string registry(kOciName);
  const std::string key = tag_key(tagged);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(registry, key));
  Pin now{.reference = key,
          .digest = fetched.digest,
          .is_tree = std::holds_alternative<PackageTree>(fetched.content),
          .object = raw.digest.str(),
          .origin = fetched.origin};
  MIST_TRY(const bool is_vouched, is_vouched_for(client, tagged, raw, judged.examined));
  if (!is_vouched) now.mirror = raw.mirror;
  const bool moved = pin && pin->digest != now.digest;
  const bool confirms = is_vouched && pin && !pin->mirror.empty();
  if (moved && !confirms && changed == ChangedVersions::Refuse)
    return known_.record(registry, pin, std::move(now));
  MIST_TRY_VOID(trust_.keep(tagged.repository, raw.digest, judged.examined));
  if (confirms) {
    if (moved)
      events_.warn(
          fmt::format("{} was used here before with other bytes, which {} gave out: {}; don't trust "
                      "that mirror",
                      key, escape_controls(pin->mirror), pin->digest.str()));
    known_.confirm(registry, now);
    return {};
  }
  if (moved && changed == ChangedVersions::Once) return {};
  return moved ? known_.pins().replace(registry, now) : known_.record(registry, pin, std::move(now));
}

Status OciFetcher::check_bytes(const oci::Reference& tagged, const RawManifest& raw,
                               const Context& context) const {
  if (!oci::is_fixed_version(tagged.tag)) return {};
  const std::string registry(kOciName);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(registry, tag_key(tagged)));
  const bool gives_way = pin && !pin->mirror.empty() && raw.mirror.empty();
  if (!pin || gives_way || pin->object == raw.digest.str()) return {};
  // The same bytes may have another manifest.
  MIST_TRY(OciSource* const client, oci_.source());
  MIST_TRY(const PackageContent content, read_oci_package(*client, tagged, raw, context));
  Pin now = *pin;
  now.digest = digest_of(content);
  return known_.record(registry, pin, std::move(now));
}

Status OciFetcher::accept_bytes(OciSource& source, const oci::Reference& tagged, const RawManifest& raw,
                                const Context& context) const {
  if (!oci::is_fixed_version(tagged.tag)) return {};
  const std::string registry(kOciName);
  MIST_TRY(const std::optional<Pin> pin, known_.pins().find(registry, tag_key(tagged)));
  if (!pin || (pin->object == raw.digest.str() && pin->mirror.empty())) return {};
  MIST_TRY(const PackageContent content, read_oci_package(source, tagged, raw, context));
  return known_.pins().replace(registry, {.reference = tag_key(tagged),
                                          .digest = digest_of(content),
                                          .is_tree = std::holds_alternative<PackageTree>(content),
                                          .object = raw.digest.str(),
                                          .origin = manifest_origin(tagged, raw.digest)});
}

Result<Fetched> OciFetcher::fetch(const oci::Reference& reference, const Context& context,
                                  ChangedVersions changed, const MayKeep& may_keep) const {
  if (reference.digest) {
    MIST_TRY(std::optional<Fetched> known, known_manifest(reference, *reference.digest));
    if (known) {
      // The reference says which bytes these are, so no request is made for signers that nobody knows yet.
      MIST_TRY(const Examined examined, examine(reference, *reference.digest, NewSigners::Leave, context));
      MIST_TRY(const bool keeps, may_be_kept(*known, may_keep));
      if (keeps) MIST_TRY_VOID(trust_.keep(reference.repository, *reference.digest, examined));
      return *std::move(known);
    }
  }
  MIST_TRY(OciSource* const client, oci_.source());
  Activity activity(events_, fmt::format("fetching {}", reference.str()));
  const auto read = [&](const oci::Reference& tagged, const RawManifest& raw) -> Result<Fetched> {
    std::optional<TagChosen> chosen;
    if (!reference.digest) chosen = reference.range.empty() ? TagChosen::ByName : TagChosen::ByRange;
    MIST_TRY(Judged judged, read_judged(*client, tagged, raw, chosen, context));
    MIST_TRY(const bool keeps, may_be_kept(judged.package, may_keep));
    if (!keeps) return std::move(judged.package);
    // A version keeps its bytes; other tags may move.
    if (!reference.digest && oci::is_fixed_version(tagged.tag))
      MIST_TRY_VOID(settle_version(*client, tagged, raw, judged, changed));
    else
      MIST_TRY_VOID(trust_.keep(tagged.repository, raw.digest, judged.examined));
    return std::move(judged.package);
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
