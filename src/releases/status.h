#pragma once
// The status of a Release, by the conventions of the Kubernetes API: Ready always; Stalled, Drifted and
// Suspended while they are so. Pure; any thread.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"
#include "render/public_exports.h"

namespace mist::releases {

using encoding::Value;

/// Reasons of the condition Ready.
namespace reason {
inline constexpr std::string_view kDeployed = "Deployed", kProgressing = "Progressing",
                                  kInvalidSpec = "InvalidSpec", kDuplicate = "Duplicate",
                                  kNoAccount = "NoServiceAccount", kDependency = "DependencyNotReady",
                                  kValues = "ValuesNotRead", kPackage = "PackageNotRead",
                                  kRecord = "RecordNotRead", kFailed = "DeployFailed",
                                  kRolledBack = "RolledBack", kUninstallFailed = "UninstallFailed";
}  // namespace reason

/// An upgrade that failed, and how often with the same inputs.
struct Attempt {
  std::string inputs;  ///< digest of what it was made from; tells nothing of it
  int failures = 0;
  std::string reason = {}, message = {};  ///< of the last failure, as the condition Ready had them
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

/// The deployed package.
struct Deployed {
  std::string package;  ///< exact reference
  std::string digest;
  int revision = 0;
  std::int64_t generation = 0;  ///< of the spec that was applied; 0: that of none
  /// nullopt: as it was
  std::optional<render::PublicExports> exports = {};
};

/// The changes of others.
struct Drift {
  std::string words = {};   ///< for the condition Drifted; empty: nothing has drifted
  std::string digest = {};  ///< of the facts that `words` are about
};

struct Report {
  std::string_view ready = {};  ///< "True", "False", "Unknown"; empty: as it was
  std::string_view reason = {};
  std::string message = {};
  std::string stalled = {};           ///< why it isn't tried again; empty: it is
  std::optional<Drift> drifted = {};  ///< nullopt: as it was
  bool suspended = false;
  std::optional<Deployed> deployed = {};  ///< nullopt: as it was
  /// nullopt: as it was, unless somebody has asked for new tries since; no failures: there is none
  std::optional<Attempt> attempt = {};
  /// There is no such release: nothing of an earlier one of its name is told any more, nor that this Release
  /// had it.
  bool absent = false;
};

/// `object`: the Release, with the status that it has. `now`: RFC 3339, for conditions that change.
Value status_of(const Value& object, const Report& report, const std::string& now);

/// The statuses that servers with older CRDs take, those of the youngest CRD first: each without fields that
/// the one before it has. Empty: `status` has no field that was added to the first CRD of Releases.
std::vector<Value> statuses_of_older_crds(const Value& status);

/// The values in the status; defaults where it has none.
Attempt attempt_of(const Value& object);
/// Somebody changed kReconcileAnnotation since the status was written.
bool is_asked_again(const Value& object);
/// Of the drift that the condition Drifted shows; empty: it shows none, or the CRD lacks the field.
std::string_view drift_digest_of(const Value& object);
std::int64_t applied_generation(const Value& object);
/// This Release deployed the release, took it over, or failed to upgrade it, at some time.
bool is_owned(const Value& object);
std::int64_t generation_of(const Value& object);
/// Of which revision it has the exports; -1: of none.
std::int64_t revision_of(const Value& object);
/// The condition Ready is True, of the spec as it is now.
bool is_ready(const Value& object);
/// For who waits for it: "Deployed", or what its condition Ready says instead.
std::string ready_words(const Value& object);

}  // namespace mist::releases
