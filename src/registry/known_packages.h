#pragma once
// KnownPackages: the packages that were read before. A pin says which bytes an exact version has
// (pin_store.h), and new states of registries are held against all pins; the cache has the bytes
// (package_cache.h). Any thread, many processes.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/fs.h"
#include "base/result.h"
#include "config/paths.h"
#include "registry/configured_registries.h"
#include "registry/fetched.h"
#include "registry/package_cache.h"
#include "registry/pin_store.h"
#include "registry/reference.h"
#include "registry/registry_view.h"

namespace mist::registry {

/// Where git+https references are pinned. Begins as no registry's name can.
inline constexpr std::string_view kGitName = "_git";
/// Where bases that kustomizations name in git are pinned, by their commit.
inline constexpr std::string_view kBaseName = "_bases";
/// The same for oci:// references.
inline constexpr std::string_view kOciName = "_oci";

/// The key of a pin: a digest or credentials don't make it another version.
template <typename Form>
std::string pin_key(Form form) {
  form.digest.reset();
  return PackageRef(std::move(form)).display();
}

/// The detail of an error about a reference whose content isn't what its digest says.
struct OtherContent {
  crypto::Digest digest;  ///< of this content
};

/// Succeeds if `digest` is the one that the reference pins, or it pins none. Errors: Conflict (OtherContent).
Status check_digest(const PackageRef& reference, const std::optional<crypto::Digest>& wanted,
                    const crypto::Digest& digest);

/// The Conflict of a version that had other bytes `when` ("it was deployed"): "… isn't what it was when it
/// was deployed", because of both digests. Its caller adds what to do.
Error other_bytes(const std::string& reference, std::string_view when, const std::string& was,
                  const std::string& is);

/// A version whose bytes a reference names by their digest.
struct NamedBytes {
  std::string reference;  ///< pin_key
  crypto::Digest digest;
};

class KnownPackages {
 public:
  /// All outlive this.
  KnownPackages(FileSystem& files, EventSink& events, const config::Paths& paths,
                const ConfiguredRegistries& configured);

  const PinStore& pins() const { return pins_; }

  /// The bytes of a pin, while the cache has them.
  std::optional<Fetched> from_cache(const PackageRef& reference, const Pin& pin) const;
  /// Pins what was read; `known` is the pin that was there before. A pin that can't be written is warned of.
  /// Errors: Conflict (it was other bytes before, or another process read others), of PinStore.
  Status record(const std::string& registry, const std::optional<Pin>& known, Pin pin) const;
  /// Replaces a pin that only a mirror vouched for. One that can't be written is warned of.
  void confirm(const std::string& registry, const Pin& pin) const;
  /// Puts it into the cache, which stays in its bounds.
  void keep(const crypto::Digest& digest, const PackageContent& content) const;
  /// After something was added to the caches of packages and snapshots; `used` stays whatever its size.
  void bound_caches(const crypto::Digest& used) const;
  /// The same of snapshots alone; those that are read stay.
  void bound_snapshots() const;

  /// Holds a new state of a registry against everything that was read from it before. `accepted`: of how many
  /// versions the changed bytes were accepted. `named`: may be those instead of its pin's, which stays.
  /// Errors: Conflict, of PinStore and RegistryState.
  Status check_pins(const std::string& registry, const RegistryState& state, ChangedVersions changed,
                    std::size_t& accepted, const std::optional<NamedBytes>& named = {}) const;
  /// The same, which takes no changes.
  RegistryView::Accept refusing(const std::string& registry, std::optional<NamedBytes> named = {}) const;

  /// All pins and snapshots of a registry.
  Status forget(const std::string& name) const;

 private:
  void warn_unrecorded(const Pin& pin, const Error& failure) const;

  FileSystem& files_;
  EventSink& events_;
  Path snapshots_;
  const ConfiguredRegistries& configured_;
  PackageCache cache_;
  PinStore pins_;
};

}  // namespace mist::registry
