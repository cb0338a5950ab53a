#pragma once
// OciFetcher: packages in OCI registries, checked by the trust policy, with their pins and the cache. There
// is a pin for each manifest, and one for each tag that is a full version. Any thread, many processes.

#include <optional>

#include "base/context.h"
#include "base/event.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "oci/reference.h"
#include "registry/fetched.h"
#include "registry/known_packages.h"
#include "registry/oci_session.h"
#include "registry/oci_store.h"
#include "registry/oci_trust.h"

namespace mist::registry {

class OciFetcher {
 public:
  /// All outlive this.
  OciFetcher(EventSink& events, const KnownPackages& known, OciSession& oci, OciTrust& trust,
             NewSigners signers);

  /// As Registries::fetch; as fetch_moved where changed versions are accepted. `may_keep` is asked for tags
  /// that may move and for manifests too: their signers may be remembered. Where changed versions are taken
  /// once, it checks the bytes.
  Result<Fetched> fetch(const oci::Reference& reference, const Context& context,
                        ChangedVersions changed = ChangedVersions::Refuse,
                        const MayKeep& may_keep = {}) const;
  /// As Registries::accept_bytes.
  Status accept_bytes(OciSource& source, const oci::Reference& tagged, const RawManifest& raw,
                      const Context& context) const;
  /// As Registries::check_bytes.
  Status check_bytes(const oci::Reference& tagged, const RawManifest& raw, const Context& context) const;

 private:
  // The package of a manifest that may be used, and what is known of its signers.
  struct Judged {
    Fetched package;
    Examined examined;
  };
  // Succeeds if the manifest may be used, under the tag if there is one. Nothing is remembered yet.
  Result<Examined> examine(const oci::Reference& reference, const crypto::Digest& manifest,
                           NewSigners signers, const Context& context) const;
  // Whether more than a mirror's word says that these are the version's bytes: the registry itself, a
  // signature, or a configuration that allows nothing but mirrors.
  Result<bool> is_vouched_for(OciSource& client, const oci::Reference& tagged, const RawManifest& raw,
                              const Examined& examined) const;
  // Remembers the signers of a version, and pins its bytes. A pin that only a mirror vouched for gives way to
  // bytes that more than that vouches for. Errors: Conflict (they aren't those of its pin).
  Status settle_version(OciSource& client, const oci::Reference& tagged, const RawManifest& raw,
                        const Judged& judged, ChangedVersions changed) const;
  // Of what is signed, or has to be, the version that the manifest says counts, too.
  Status check_version(const oci::Reference& tagged, const RawManifest& raw, TagChosen chosen,
                       const Examined& examined) const;
  Result<std::optional<Fetched>> known_manifest(oci::Reference reference,
                                                const crypto::Digest& manifest) const;
  Result<RawManifest> read_manifest(OciSource& client, const oci::Reference& reference,
                                    const Context& context) const;
  Result<Judged> read_judged(OciSource& client, const oci::Reference& tagged, const RawManifest& raw,
                             std::optional<TagChosen> chosen, const Context& context) const;
  // Pins what was read.
  Result<Fetched> keep_manifest(const oci::Reference& reference, const crypto::Digest& manifest,
                                PackageContent content) const;

  EventSink& events_;
  const KnownPackages& known_;
  OciSession& oci_;
  OciTrust& trust_;
  const NewSigners signers_;
};

}  // namespace mist::registry
