#pragma once
// The roles of least privilege with which the operator can carry out one blueprint. Needs no cluster. One
// thread.

#include "action/authoring/blueprint_source.h"
#include "reconcile/permissions.h"
#include "reconcile/scenario.h"

namespace mist::action {

struct BlueprintRights {
  std::vector<encoding::Value> manifests;  ///< Role, RoleBinding, ClusterRole, ClusterRoleBinding
  std::vector<std::string> unknown;        ///< nodes whose kinds depend on values that nobody gave
  std::vector<std::string>
      by_example;                    ///< nodes whose kinds are those of the scenario; others may have others
  std::vector<std::string> guessed;  ///< "widgets.example.com": plurals that no CRD confirms
  /// Nodes that give rights to others by roles that they make, or bind, of which nobody can tell: an account
  /// may give none that it doesn't have.
  std::vector<std::string> giving = {};
  /// Package nodes: what their packages make takes rights of its own.
  std::vector<std::string> packages = {};
};

/// The operator's account, and where the blueprint's ConfigMap is.
struct OperatorAccount {
  std::string name, ns;
  std::string run_as =
      {};  ///< the blueprint's own account there; empty: the operator does its work as itself
};

/// `scenario`: an example instance and its events, for kinds that depend on values. Errors: of the blueprint,
/// of the scenario, Cancelled.
Result<BlueprintRights> blueprint_rights(package::Renderer& renderer, const BlueprintSource& source,
                                         const std::optional<reconcile::Scenario>& scenario,
                                         const OperatorAccount& account, const Context& context);

}  // namespace mist::action
