#pragma once
// The custom resource Release (mistletoe.dev/v1alpha1): what its author wants a release to be. It is to
// Mistletoe what HelmRelease is to Flux; the release itself is recorded as `mistctl` records it
// (docs/formats/release.md), so that either can continue what the other began. docs/release-resource.md is
// for its users. Pure; any thread.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "action/deploy/deploy.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/result.h"
#include "encoding/value.h"
#include "reconcile/release_node.h"
#include "render/lookup_grants.h"

namespace mist::releases {

using encoding::Value;

inline constexpr std::string_view kGroup = reconcile::kReleaseGroup;
inline constexpr std::string_view kVersion = reconcile::kReleaseVersion;
inline constexpr std::string_view kKind = reconcile::kReleaseKind;
inline constexpr std::string_view kFinalizer = "mistletoe.dev/release";
/// Any new value of it asks for another reconciliation now, and for new tries of what was given up.
inline constexpr std::string_view kReconcileAnnotation = "mistletoe.dev/reconcile-at";

/// The namespace and the name of a Release.
using Key = std::pair<std::string, std::string>;
inline std::string display(const Key& key) { return key.first + "/" + key.second; }
/// Of a line of the log that names it.
inline MessageFields fields_of(const Key& key) { return {{"namespace", key.first}, {"release", key.second}}; }

struct ValuesFrom {
  bool secret = false;  ///< a Secret; else a ConfigMap
  std::string name;     ///< in the namespace of the Release
  std::string key;
  std::string target_path =
      {};                 ///< the one value that the key's text becomes; empty: it is a document of values
  bool optional = false;  ///< it may be missing

  std::string display() const;  ///< "Secret db-values, key values.yaml"
};

enum class OnDrift : std::uint8_t { Warn, Fix, Ignore };
enum class OnDelete : std::uint8_t {
  Uninstall,
  Keep,  ///< the objects and the record stay, for mistctl
};

struct Spec {
  std::string package;
  std::string engine;  ///< package::Source::engine
  release::ReleaseId release;
  std::string account;  ///< a ServiceAccount of the namespace of the Release; empty: it names none
  Value values = Value::object();
  std::vector<ValuesFrom> values_from;
  std::vector<Key> depends_on;
  Duration interval{};
  Duration timeout{};
  bool wait = true;
  bool create_namespace = false;
  OnDrift on_drift = OnDrift::Warn;
  OnDelete on_delete = OnDelete::Uninstall;
  apply::PruneRules prune = {};
  bool adopt = false, replace = false, force_conflicts = false;
  render::LookupGrants lookups = {};
  int retries = 1;       ///< of an upgrade that failed; installs are tried until they succeed
  bool rollback = true;  ///< of an upgrade that failed
  int history = 10;
  bool suspend = false;
};

/// Of an object of the kind. Errors: Invalid, naming the field.
Result<Spec> spec_of(const Value& object);
/// Of one that is deleted: only what its deletion needs, whatever else is wrong with it. The fields that say
/// what to delete, and as whom, have to be right; an unreadable timeout is the default, and an unreadable
/// permission to delete more is none. One that keeps the release needs neither name nor account. Errors:
/// Invalid, naming the field.
Result<Spec> spec_of_deletion(const Value& object);
/// The release that it is about, also where the rest of it can't be read: what spec_of() has.
Key release_of(const Value& object);

/// As `kubectl apply` takes it: the CustomResourceDefinition.
std::string_view crd_text();

}  // namespace mist::releases
