#include "registry/known_packages.h"

#include <utility>
#include <vector>

#include "base/local_fault.h"
#include "base/text.h"
#include "config/config.h"
#include "registry/snapshot_store.h"

namespace mist::registry {
namespace {

Error changed_bytes(const std::string& registry, const std::string& reference, const crypto::Digest& recorded,
                    const crypto::Digest& now) {
  Error failure =
      other_bytes(reference, "it was first used here", recorded.str(), now.str()).with_detail(PinMismatch{});
  if (registry == kGitName || registry == kBaseName)
    return std::move(failure).with_hint("a commit never changes: don't trust this server");
  if (registry == kOciName)
    return std::move(failure).with_hint(fmt::format(
        "published versions don't change: ask the package's owner; to trust the new bytes from now on: "
        "mistctl "
        "verify {} --accept-changed, with --key FILE if they are signed; to use them once, name their "
        "manifest: oci://…@sha256:…",
        reference));
  return std::move(failure).with_hint(
      fmt::format("published versions don't change: ask the registry's owner; to trust the new "
                  "bytes: mistctl registry update {} --accept-changed",
                  registry));
}

}  // namespace

Error other_bytes(const std::string& reference, std::string_view when, const std::string& was,
                  const std::string& is) {
  return error(ErrorKind::Conflict, "{} isn't what it was when {}", reference, when)
      .with_because(fmt::format("it was {}, now it is {}", was, is));
}

Status check_digest(const PackageRef& reference, const std::optional<crypto::Digest>& wanted,
                    const crypto::Digest& digest) {
  if (!wanted || *wanted == digest) return {};
  return error(ErrorKind::Conflict, "digest mismatch: {} pins other content", reference.display())
      .with_because(fmt::format("the digest of this content is {}", digest.str()))
      .with_hint("if the package is the right one, correct or leave out the part after '@'")
      .with_detail(OtherContent{digest});
}

KnownPackages::KnownPackages(FileSystem& files, EventSink& events, const config::Paths& paths,
                             const ConfiguredRegistries& configured)
    : files_(files),
      events_(events),
      snapshots_(paths.registries()),
      configured_(configured),
      cache_(files, events, paths.packages()),
      pins_(files, paths.pins()) {}

std::optional<Fetched> KnownPackages::from_cache(const PackageRef& reference, const Pin& pin) const {
  std::optional<PackageContent> content = cache_.get(pin.digest, pin.is_tree);
  if (!content) return std::nullopt;
  return Fetched{*std::move(content), pin.digest, reference, pin.origin};
}

Status KnownPackages::record(const std::string& registry, const std::optional<Pin>& known, Pin pin) const {
  if (known && known->digest == pin.digest) return {};
  if (known) return changed_bytes(registry, pin.reference, known->digest, pin.digest);
  const Status added = pins_.add(registry, pin);
  if (added) return {};
  if (added.error().kind == ErrorKind::Conflict) {
    // Another process was first: what it read must be what we read.
    MIST_TRY(const std::optional<Pin> theirs, pins_.find(registry, pin.reference));
    if (theirs && theirs->digest != pin.digest)
      return changed_bytes(registry, pin.reference, theirs->digest, pin.digest);
    if (theirs) return {};
  }
  warn_unrecorded(pin, added.error());
  return {};
}

void KnownPackages::warn_unrecorded(const Pin& pin, const Error& failure) const {
  events_.warn(fmt::format("which bytes {} has is not recorded: {}", pin.reference,
                           escape_controls(failure.to_line())));
}

void KnownPackages::confirm(const std::string& registry, const Pin& pin) const {
  if (const Status replaced = pins_.replace(registry, pin); !replaced) warn_unrecorded(pin, replaced.error());
}

void KnownPackages::keep(const crypto::Digest& digest, const PackageContent& content) const {
  cache_.put(digest, content);
  bound_caches(digest);
}

void KnownPackages::bound_caches(const crypto::Digest& used) const {
  const config::CacheLimits limits = configured_.cache_limits();
  cache_.bound(limits.packages, used);
  SnapshotStore::bound(files_, snapshots_, limits.registries);
}

void KnownPackages::bound_snapshots() const {
  SnapshotStore::bound(files_, snapshots_, configured_.cache_limits().registries);
}

Status KnownPackages::check_pins(const std::string& registry, const RegistryState& state,
                                 ChangedVersions changed, std::size_t& accepted,
                                 const std::optional<NamedBytes>& named) const {
  MIST_TRY(const std::vector<Pin> pins, pins_.all(registry));
  std::optional<Error> first;
  std::size_t refused = 0;
  for (const Pin& pin : pins) {
    MIST_TRY(const PackageRef parsed, PackageRef::parse(pin.reference));
    const auto* reference = std::get_if<RegistryRef>(&parsed.form());
    if (reference == nullptr) continue;
    const Result<std::string> object = state.object_of(*reference);
    if (!object && object.error().kind == ErrorKind::NotFound) continue;  // withdrawn; what we have stays
    if (object && !object->empty() && *object == pin.object) continue;
    Result<ReadPackage> read = state.read(*reference);
    if (!read && read.error().kind == ErrorKind::NotFound) continue;
    if (!read) return std::move(read).error();
    const crypto::Digest digest = digest_of(read->content);
    if (digest == pin.digest) continue;
    if (named && named->reference == pin.reference && named->digest == digest) continue;
    if (changed == ChangedVersions::Refuse) {
      if (++refused == 1) first = changed_bytes(registry, pin.reference, pin.digest, digest);
      continue;
    }
    Pin replacement = pin;
    replacement.digest = digest;
    replacement.is_tree = std::holds_alternative<PackageTree>(read->content);
    replacement.object = read->object;
    replacement.origin = read->origin;
    MIST_TRY_VOID(pins_.replace(registry, replacement));
    cache_.put(digest, read->content);
    ++accepted;
  }
  if (!first) return {};
  if (refused > 1) first->because += fmt::format("; {} more changed too", plural(refused - 1, "version"));
  return *std::move(first);
}

RegistryView::Accept KnownPackages::refusing(const std::string& registry,
                                             std::optional<NamedBytes> named) const {
  return [this, registry, named = std::move(named)](const RegistryState& state) {
    std::size_t accepted = 0;
    return check_pins(registry, state, ChangedVersions::Refuse, accepted, named);
  };
}

Status KnownPackages::forget(const std::string& name) const {
  MIST_TRY_VOID(pins_.forget(name));
  const Result<std::vector<DirectoryEntry>> entries = files_.list(snapshots_);
  if (!entries) return {};
  for (const DirectoryEntry& entry : *entries)
    if (is_snapshot_directory_of(name, entry.name)) MIST_TRY_VOID(files_.remove_all(snapshots_ / entry.name));
  return {};
}

}  // namespace mist::registry
