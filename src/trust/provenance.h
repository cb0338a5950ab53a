#pragma once
// Helm's provenance files (NAME-VERSION.tgz.prov): a text with the chart's metadata and the digest of its
// archive, signed in clear text with OpenPGP. OpenPGP itself is read by an engine in the sandbox
// (engines/openpgp); this is what it is asked, what it answers, and what that proves of an archive. Pure; any
// thread.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/result.h"
#include "crypto/digest.h"
#include "encoding/value.h"
#include "trust/proof.h"

namespace mist::trust {

/// "NAME-VERSION.tgz.prov", beside the archive.
inline constexpr std::string_view kProvenanceEnding = ".prov";
inline constexpr std::uint64_t kMaxProvenanceBytes = std::uint64_t{1} << 20;

/// The signer, as far as the signature got.
struct ProvenanceSigner {
  std::string key_id;  ///< that the signature names
  std::string
      fingerprint;  ///< of the primary key, hexadecimal; empty: no key of the keyring has that identifier
  std::vector<std::string> identities;  ///< "Ann <ann@team.example>"
  std::string algorithm;                ///< "RSA 4096"
  std::optional<WallTime> signed_at;
  std::string certificate = {};  ///< the key's own packets; empty: not told, or too large
};

/// The engine's answer about a provenance file.
struct CheckedProvenance {
  std::string fault;  ///< why it proves nothing, in words; empty: the text is signed by a key of the keyring
  bool is_of_keyring = false;  ///< the fault: it can't be read, so nothing is known of the file
  std::optional<ProvenanceSigner> signer;
  std::string name, version;                 ///< of the chart, as they were signed
  std::map<std::string, std::string> files;  ///< as they were signed: "web-1.0.0.tgz": "sha256:…"
};

/// From the engine's answer (engines/openpgp/README.md). Errors: Internal (it is none).
Result<CheckedProvenance> checked_provenance(const encoding::Value& answer);

/// Asks the engine. Errors: NotFound (it isn't here), Trap, Cancelled.
using CheckProvenance = std::function<Result<CheckedProvenance>(
    const std::string& keyring, const std::string& provenance, WallTime now, const Context& context)>;

/// The archive that a provenance file should be of, by its own Chart.yaml.
struct ChartArchive {
  std::string name, version;
  crypto::Digest digest;  ///< of the archive
  std::string file = {};  ///< what the file is called; empty: NAME-VERSION.tgz
};

/// The proof that it is of that archive.
Proof prove_provenance(const CheckedProvenance& checked, const ChartArchive& archive, const Keyring& keyring);

}  // namespace mist::trust
