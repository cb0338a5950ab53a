#pragma once
// Releases (docs/release-resource.md) as objects of a blueprint's instance: what a package node makes. The
// operator installs what they ask for (src/releases); here they are data: whether one is ready and why not,
// what it exports, and with whose rights it works. Pure; any thread.

#include <string>
#include <string_view>
#include <utility>

#include "reconcile/record.h"

namespace mist::reconcile {

inline constexpr std::string_view kReleaseGroup = "mistletoe.dev";
inline constexpr std::string_view kReleaseVersion = "v1alpha1";
inline constexpr std::string_view kReleaseKind = "Release";
/// From look to look, of a Release that names no interval.
inline constexpr std::string_view kReleaseInterval = "10m";
/// The key of an item of valuesFrom that names none.
inline constexpr std::string_view kDefaultValuesKey = "values.yaml";

/// Advice where the cluster doesn't serve the kind.
inline constexpr std::string_view kNoReleases =
    "the cluster has no kind Release: mistletoe-operator --crds | kubectl apply -f -, and an operator with "
    "--releases installs what it asks for (docs/release-resource.md)";

bool is_release(const ObjectId& id);

/// The namespace and the name of the release that a Release is about.
std::pair<std::string, std::string> release_named_by(const Value& release);

/// The value that edges extract from: the Release, with the `exports` of its status beside its other fields.
Value with_exports(Value release);
/// Whether an export is left out because it is a secret; `path` begins with "exports".
bool hides_export(const Value& release, std::string_view path);

/// Nobody has looked at it as it is now: it says nothing of its present spec.
bool is_unseen(const Value& release);
/// It failed, and says why. Of the spec as it is now; a look that goes on, and waiting for another Release,
/// are no failures.
bool has_failed(const Value& release);
/// Why it isn't ready, in its own words.
std::string release_words(const Value& release);

/// As whom the work of a blueprint is done.
struct BlueprintAccount {
  std::string ns;    ///< of the blueprint
  std::string name;  ///< of a ServiceAccount there; empty: the operator itself
};
/// Of what a function made, the Releases in the blueprint's namespace that name no account get that of the
/// blueprint: there they would have the operator's own rights.
void give_account(Value& made, const BlueprintAccount& account);

}  // namespace mist::reconcile
