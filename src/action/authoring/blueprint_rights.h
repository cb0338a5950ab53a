#pragma once
// The roles of least privilege with which the operator can carry out one blueprint. Needs no cluster. One
// thread.

#include "action/authoring/blueprint_source.h"
#include "reconcile/permissions.h"
#include "reconcile/scenario.h"

namespace mist::action {

/// An item of valuesFrom of a Release.
struct ReleaseValues {
  bool secret = false;  ///< a Secret; else a ConfigMap
  std::string name;     ///< in the namespace of the Release
  std::string key;
  std::string target_path = {};  ///< the one value that the text is; empty: it is a document of values
  bool optional = false;         ///< it may be missing
  /// As the example has it: by its nodes and events; nullopt: it doesn't.
  std::optional<std::string> text = {};

  std::string display() const;  ///< "Secret db-values, key values.yaml"
};

/// A Release that a package node makes for the example.
struct PackageRelease {
  std::string node;
  encoding::Value release;
  std::vector<ReleaseValues> values_from = {};

  /// Values that have to be there and that the example doesn't have: with them the package may make others.
  std::vector<std::string> missing_values() const;
};

struct BlueprintRights {
  /// Role, RoleBinding, ClusterRole, ClusterRoleBinding; for an operator with `--watch-namespace` Roles and
  /// RoleBindings only.
  std::vector<encoding::Value> manifests;
  std::vector<std::string> unknown;  ///< nodes whose kinds depend on values that nobody gave
  std::vector<std::string>
      by_example;                    ///< nodes whose kinds are those of the scenario; others may have others
  std::vector<std::string> guessed;  ///< "widgets.example.com": plurals that no CRD confirms
  /// Nodes that give rights to others by roles that they make, or bind, of which nobody can tell: an account
  /// may give none that it doesn't have.
  std::vector<std::string> giving = {};
  /// Package nodes: what their packages make takes rights of its own.
  std::vector<std::string> packages = {};
  std::vector<PackageRelease> releases = {};
  /// With `--watch-namespace`: nodes whose objects are in no namespace, which such an operator refuses.
  std::vector<std::string> outside = {};
  /// With `--watch-namespace`: the CRD that the blueprint wants the operator to apply; empty: none.
  std::string unmanaged_crd = {};
};

/// The operator's account, and where the blueprint's ConfigMap is.
struct OperatorAccount {
  std::string name, ns;
  std::string run_as =
      {};  ///< the blueprint's own account there; empty: the operator does its work as itself
  /// Its `--watch-namespace`; empty: it works in all namespaces.
  std::vector<std::string> watched = {};
};

/// `scenario`: an example instance and its events, for kinds that depend on values. Errors: of the blueprint,
/// of the scenario, Cancelled.
Result<BlueprintRights> blueprint_rights(package::Renderer& renderer, const BlueprintSource& source,
                                         const std::optional<reconcile::Scenario>& scenario,
                                         const OperatorAccount& account, const Context& context);

/// The roles that the account of a Release needs to read the values that the Release names, and to install,
/// upgrade and uninstall a package that renders these objects, with bindings. `account`: as whom it acts
/// where it names no ServiceAccount; it must be in the namespace of the Release, or there is none: empty
/// then.
std::vector<encoding::Value> release_rights(const PackageRelease& made,
                                            const std::vector<encoding::Value>& objects,
                                            const OperatorAccount& account);

}  // namespace mist::action
