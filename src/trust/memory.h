#pragma once
// The memory of this machine for signatures: the keys and identities by which each package is known, and the
// proofs of each manifest, so that they need no request again. Files below the state directory with a
// checksum of themselves, like pins (registry/pin_store.h). Any thread, many processes.
//
//   <directory>/packages/<sha256 of the package>.json      {"kind":"RememberedSigners", "package", "keys", …}
//   <directory>/manifests/<sha256 of package@digest>.json  {"kind":"ProvedSignatures", "package", …}
//   <directory>/provenance/<the same>.json                 {"kind":"KeptProvenance", "package", "text", …}
//   <directory>/certificates/<sha256 of a fingerprint>.pgp  an OpenPGP key
//   <directory>/locks/<sha256 of the package>              empty, locked while its signers are changed

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "encoding/value.h"
#include "trust/proof.h"
#include "trust/provenance.h"

namespace mist::trust {

/// A provenance file, and the archive that it was held against.
struct KeptProvenance {
  std::string text;
  ChartArchive archive;
};

/// How a machine came to know the signers of a package. Somebody who verified one vouches for them.
enum class LearnedBy : bool { Use, Verifying };

/// The detail of an error: this machine's memory can't be written by this user. All that is in it counts.
struct ReadOnlyMemory {};

/// Functions that write give errors of FileSystem; Forbidden with ReadOnlyMemory.
class Memory {
 public:
  Memory(FileSystem& files, Path directory) : files_(files), directory_(std::move(directory)) {}

  /// The signers by which the package is known (signers_named); empty: it was never signed. Errors: Conflict
  /// when the file was altered; of FileSystem::read.
  Result<std::set<std::string>> keys_of(const std::string& package) const;
  /// How they were learned; Use, too, where there are none. Same errors.
  Result<LearnedBy> learned_by(const std::string& package) const;
  /// Those of them of which one made a signature, until a version shows which. Same errors.
  Result<Candidates> candidates_of(const std::string& package) const;
  /// Replaces them; no keys: forgets the package.
  Status remember(const std::string& package, const std::set<std::string>& keys, LearnedBy how,
                  const Candidates& candidates = {}) const;
  /// Held by whoever decides by the signers of a package what they are from then on: others wait, so nobody
  /// decides by what is no longer so. Errors: of FileSystem, Timeout (somebody holds it for half a minute).
  Result<FileLock> lock(const std::string& package) const;

  /// The proofs of the manifest; nothing: it wasn't examined. Same errors.
  Result<std::optional<std::vector<Proof>>> proofs_of(const Subject& subject) const;
  Status record(const Subject& subject, std::span<const Proof> proofs) const;

  /// The provenance file of a chart, as it was read last; nothing: none was kept. Same errors.
  Result<std::optional<KeptProvenance>> provenance_of(const Subject& subject) const;
  Status keep_provenance(const Subject& subject, const KeptProvenance& provenance) const;

  /// The OpenPGP keys with these fingerprints ("openpgp:…"), one after the other, as far as they were kept.
  /// Errors: of FileSystem::read.
  Result<std::string> certificates_of(const std::set<std::string>& keys) const;
  Status keep_certificate(const std::string& key, const std::string& certificate) const;

 private:
  Path package_path(const std::string& package) const;
  Path manifest_path(const Subject& subject) const;
  Path provenance_path(const Subject& subject) const;
  Path certificate_path(const std::string& key) const;
  Result<std::optional<encoding::Value>> read(const Path& path, std::string_view kind) const;
  Status write(const Path& path, encoding::Value document) const;
  Status write_text(const Path& path, std::string_view text) const;

  FileSystem& files_;
  Path directory_;
};

}  // namespace mist::trust
