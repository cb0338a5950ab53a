#pragma once
// Whether a package of an OCI registry may be used: its signatures, the user's policy, and what this machine
// remembers of it (trust/). Asked before anything of a package is read. Any thread.
//
// A package that is known by no keys is used all the same, signed or not, and also if that can't be told:
// then there is a warning, and nothing is remembered. From the first signature that was seen on, it is held
// to it.
//
// A package that is read through a mirror is judged by the mirror's signatures, and by the registry's where
// those don't suffice. As long as no keys are remembered for it, though, nothing a mirror says or leaves out
// would be noticed, and what it says would be remembered: so then the registry itself is asked (`first_use`).
// Only if the registry can't be asked, or the configuration says that it never is, the mirror's word counts.
//
// A home that can't be written keeps nobody from using a package: it is judged by what is remembered, and a
// warning says that nothing new is. To accept a signer (accept, remember_signers) is an error there.
//
// The record of a release knows signers too (RecordedSigners). Packages for that release are held to them
// beside those that this machine learned by using packages, and they are not remembered here: others may
// write records. Signers that somebody verified here count alone.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "config/paths.h"
#include "oci/reference.h"
#include "registry/new_signers.h"
#include "registry/oci_client.h"
#include "registry/recorded_signers.h"
#include "registry/reference.h"
#include "trust/memory.h"
#include "trust/policy.h"
#include "trust/proof.h"
#include "trust/provenance.h"

namespace mist::registry {

/// The known signatures of a package, and what follows from them.
struct Verdict {
  trust::Rule rule;
  std::vector<trust::Proof> proofs;
  std::set<std::string> remembered;  ///< keys by which the package was known before
  std::string missing = {};          ///< where no provenance file is, if one was looked for
};

/// The proofs that may be remembered of a manifest that may be used. Empty: it was known before, or nothing
/// is.
struct Examined {
  std::optional<std::vector<trust::Proof>> proofs = {};
  bool by_memory = false;  ///< its signers are held against those that are remembered, and so are too
};

/// A package of a registry that is no OCI registry, as policies and records name it: without its version.
std::string package_of(const RegistryRef& reference);

/// A tag that a range chose stands for a version, whatever it looks like.
enum class TagChosen : bool { ByName, ByRange };
/// Succeeds if the signed manifest `raw` may have the tag of `tagged`. A signature is for a manifest, not for
/// a tag: an old version, signed as it is, could come back under the tag of a new one. The manifest, which is
/// signed, says its version. Errors: Forbidden (it is another version), Invalid (no manifest).
Status check_signed_version(const oci::Reference& tagged, const RawManifest& raw, TagChosen chosen);

/// The policy of this machine; one that the environment names has to be there. Errors: of Policy::load.
Result<trust::Policy> load_trust_policy(const FileSystem& files, const config::Paths& paths);
/// Succeeds if each keyring of the policy can be used. Errors: Invalid (one can't), of CheckProvenance.
Status check_keyrings(const trust::Policy& policy, const trust::CheckProvenance& check, WallTime now,
                      const Context& context);

class OciTrust {
 public:
  /// All outlive this.
  /// `check`: how Helm's provenance files are read; none: they prove nothing here. `recorded`: of the release
  /// that packages are fetched for.
  OciTrust(FileSystem& files, const config::Paths& paths, const Clock& clock, EventSink& events,
           trust::CheckProvenance check = {}, RecordedSigners recorded = {})
      : files_(files),
        clock_(clock),
        events_(events),
        check_provenance_(std::move(check)),
        recorded_(std::move(recorded)),
        paths_(paths),
        memory_(files, paths.signatures()) {}

  /// Gives the client when a request is needed.
  using FindClient = std::function<Result<OciSource*>()>;

  /// Succeeds if the manifest may be used, and remembers what it was signed with. A manifest that was checked
  /// before needs no request, while that suffices. Where a mirror's signatures don't suffice, the registry is
  /// asked for its own. Errors: Forbidden (the policy requires other signatures), Conflict (it isn't signed
  /// as before, or a mirror gave out what its registry doesn't have), Invalid (the policy can't be read), of
  /// read_signatures.
  Status check(const oci::Repository& repository, const crypto::Digest& manifest, const FindClient& client,
               NewSigners signers, const Context& context);
  /// The same in two steps, for whoever may still refuse the package: what the first finds is remembered by
  /// the second alone.
  Result<Examined> examine(const oci::Repository& repository, const crypto::Digest& manifest,
                           const FindClient& client, NewSigners signers, const Context& context);
  Status keep(const oci::Repository& repository, const crypto::Digest& manifest, const Examined& found);

  /// The signatures that are there, judged by nobody: asks the registry. `rule`: instead of the policy's;
  /// null: the policy's. Errors: of the policy, of read_signatures.
  Result<Verdict> look(const oci::Repository& repository, const crypto::Digest& manifest, OciSource& client,
                       const trust::Rule* rule, const Context& context);
  /// The verdict when the manifest was used last; nothing: it wasn't, or signatures were ignored. Errors: of
  /// the policy, Conflict (the record was altered).
  Result<std::optional<Verdict>> recorded(const oci::Repository& repository, const crypto::Digest& manifest);
  /// As check() does with what look() gave, but a package that is known by no signers stays so (learn).
  Status judge(const oci::Repository& repository, const crypto::Digest& manifest, const Verdict& verdict);
  /// The package, if it wasn't known by any keys, is known by those of `verdict` from now on, as far as the
  /// policy lets keys be remembered, and the manifest needs no question any more. Only what the registry
  /// itself said should be learned. If the verdict's rule names signers (those of a command line), nobody
  /// else who signed too is learned.
  Status learn(const oci::Repository& repository, const crypto::Digest& manifest, const Verdict& verdict);
  /// From now on the package is known by the keys of `verdict`, whatever they were before; without any, it is
  /// unsigned. As learn() if the verdict's rule names signers. Errors: Invalid (it names some, and none of
  /// them can be remembered).
  Status accept(const oci::Repository& repository, const crypto::Digest& manifest, const Verdict& verdict);

  /// Succeeds if a chart that is known by its provenance file may have the tag of `exact`, which has a
  /// digest: such a file is signed for a version, and the manifest and the tag are not. Of packages that
  /// neither the policy nor what is remembered wants such a file of, nothing is asked. Errors: Forbidden (it
  /// is another version).
  Status check_chart_tag(const oci::Reference& exact);
  /// The same of a chart whose provenance file was looked at, whatever the policy says.
  Status check_proved_tag(const oci::Reference& exact) const;

  /// The signers of a manifest that was used, as far as its package is known by them here: for the record of
  /// a release. Without those of provenance files, which don't hold their keys. Nothing: of a mode that takes
  /// no record into account. Errors: as recorded.
  Result<std::optional<UsedSigners>> signers_of(const trust::Subject& subject);

  /// Whether signatures of that package are asked for. With Leave: whether it is held to some, by the policy
  /// or by what is remembered or recorded. Errors: as recorded.
  Result<bool> looks_at(const std::string& package, NewSigners signers);

  // For packages of other registries (file_trust.h).
  Result<trust::Rule> rule_for(const std::string& package);
  /// Whether what was proved of it before is enough for a rule that requires keys.
  Result<bool> suffices(const trust::Subject& subject, const trust::Rule& rule);
  /// By a rule that requires keys. `missing` as in trust::judge_required.
  Status judge_and_record(const trust::Subject& subject, const trust::Rule& rule,
                          const std::vector<trust::Proof>& proofs, std::string_view missing = {});
  /// As recorded() of an OCI registry.
  Result<std::optional<Verdict>> recorded(const trust::Subject& subject, const std::string& package);

  // For charts with a provenance file (chart_trust.h).
  /// From that file to its proof. Errors: of CheckProvenance; NotFound: this program has none.
  Result<trust::Proof> prove(const std::string& provenance, const trust::ChartArchive& archive,
                             const trust::Keyring& keyring, const Context& context);
  Result<std::optional<trust::KeptProvenance>> kept_provenance(const trust::Subject& subject) const {
    return memory_.provenance_of(subject);
  }
  Status keep_provenance(const trust::Subject& subject, const trust::KeptProvenance& provenance) const {
    return memory_.keep_provenance(subject, provenance);
  }
  /// The keys by which a package is known, for its provenance files; null: it isn't known by any.
  Result<std::shared_ptr<const trust::Keyring>> known_keyring(const std::string& package) const;
  /// As judge() of a package that must stay signed, and records the proofs. `package`: without a version.
  Status judge_known(const trust::Subject& subject, const std::string& package,
                     const std::vector<trust::Proof>& proofs);
  /// Succeeds unless this machine refuses it, by the signers that it remembers, though somebody else's
  /// requirements are met. Keeps nothing. Errors: as judge().
  Status judge_here(const trust::Subject& subject, const std::string& package,
                    const std::vector<trust::Proof>& proofs);
  /// Whether it was examined before, and so may be used while its signers are remembered.
  Result<bool> was_examined(const trust::Subject& subject) const;
  /// As learn(), of a chart in a chart repository.
  Status learn_chart(const trust::Subject& subject, const std::string& package,
                     const std::vector<trust::Proof>& proofs);
  /// As accept(), of any package.
  Status remember_signers(const trust::Subject& subject, const std::string& package,
                          const std::vector<trust::Proof>& proofs);

 private:
  struct Memorable {
    std::set<std::string> signers;
    std::vector<trust::Proof> proofs;
  };
  Result<Memorable> memorable(const std::string& package, const Verdict& verdict);
  Status remember(const trust::Subject& subject, const std::string& package, const Memorable& what) const;
  Status remember_unknown(const trust::Subject& subject, const std::string& package, const Memorable& what);
  Result<std::optional<std::set<std::string>>> signers_after(const trust::Subject& subject,
                                                             const std::string& package,
                                                             const std::vector<trust::Proof>& proofs) const;
  Status unless_read_only(const std::string& package, Status written);
  Status record(const trust::Subject& subject, const std::vector<trust::Proof>& proofs);
  Status write_signers(const trust::Subject& subject, const std::string& package,
                       const std::vector<trust::Proof>& proofs);
  Status keep_signers(const trust::Subject& subject, const std::string& package,
                      const std::vector<trust::Proof>& proofs);
  Result<Examined> examine_verdict(const trust::Subject& subject, const Verdict& verdict) const;
  bool holds_to_record(const trust::Subject& subject, const trust::Rule& rule,
                       const std::vector<trust::Proof>& proofs) const;
  Status hold_to_record(const trust::Subject& subject, const std::vector<trust::Proof>& proofs) const;
  Result<const trust::Policy*> policy();
  Status add_provenance(const oci::Repository& repository, const crypto::Digest& manifest, OciSource& client,
                        const trust::Keyring& keyring, Verdict& verdict, const Context& context);
  Result<std::optional<Examined>> first_use(const oci::Repository& repository, const crypto::Digest& manifest,
                                            OciSource& registry, const Context& context);
  struct AtRegistry {
    Verdict verdict;
    bool has_manifest = true;
  };
  Result<AtRegistry> look_at_registry(const oci::Repository& repository, const crypto::Digest& manifest,
                                      OciSource& registry, const Context& context);
  Result<bool> is_known_by_none(const std::string& package, const trust::Rule& rule) const;
  Examined unknown_signers(const oci::Repository& repository, std::string_view why);
  Result<Verdict> look_in_time(const oci::Repository& repository, const crypto::Digest& manifest,
                               OciSource& client, const Context& context);
  bool is_away(const std::string& host);
  void note_away(const std::string& host);
  Result<Examined> examine_at_registry(const oci::Repository& repository, const crypto::Digest& manifest,
                                       OciSource& registry, Error refused, const Context& context);

  FileSystem& files_;
  const Clock& clock_;
  EventSink& events_;
  trust::CheckProvenance check_provenance_;
  const RecordedSigners recorded_;
  const config::Paths paths_;
  trust::Memory memory_;
  std::mutex mutex_;
  std::optional<trust::Policy> policy_;  // guarded by mutex_ until it is set, then fixed
  std::set<std::string> away_;           // hosts that didn't answer; guarded by mutex_
  bool warned_of_memory_ = false;        // guarded by mutex_
};

}  // namespace mist::registry
