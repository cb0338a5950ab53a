#pragma once
// Adopting an object means that the release describes it from now on. Its earlier manager (Helm, kubectl)
// still owns the fields that it wrote, and a field that anybody owns stays when we no longer want it: a
// container that the package never had would run for ever. So what the earlier managers own becomes ours, in
// one guarded patch of metadata.managedFields before the apply, as `kubectl apply --server-side` does with
// what kubectl applied before (client-go's csaupgrade) and Helm 4 with what Helm 3 wrote; the apply then
// removes what isn't wanted. What controllers own, and what was written through subresources (status, scale),
// is never touched. Pure; any thread.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apply/difference.h"

namespace mist::apply {

struct FieldTransfer {
  /// Whose fields become ours: manager and operation ("Apply" or "Update"), sorted.
  std::vector<std::pair<std::string, std::string>> managers = {};
  Value fields = {};          ///< that they own, as fieldsV1
  Value managed_fields = {};  ///< metadata.managedFields afterwards
  /// The annotation in which kubectl keeps what it applied last goes; it is of no use to anybody then.
  bool last_applied = false;
};

inline constexpr std::string_view kLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/// Says of an entry of metadata.managedFields whether its fields are taken.
using ChosenManagers = std::function<bool(const Value& entry)>;
/// Helm and kubectl, but for what people changed by hand (kubectl-edit, kubectl-patch, …), and `named` ones.
ChosenManagers predecessors_and(std::set<std::string> named);
ChosenManagers only_named(std::set<std::string> named);
/// Those of a transfer that was planned.
ChosenManagers managers_of(const FieldTransfer& transfer);

/// nullopt: there is nothing to take. `desired` as it would be applied.
std::optional<FieldTransfer> field_transfer(const Value& desired, const Value& live,
                                            const ChosenManagers& chosen, std::string_view manager);

/// The object as it is after the transfer and before the apply.
Value with_transfer(Value live, const FieldTransfer& transfer);

/// The merge patch that does it, at exactly this version of this object.
Value transfer_patch(const Value& live, const FieldTransfer& transfer);

/// The merge patch (RFC 7386) that makes `after` of `before`; {}: they are equal.
Value merge_patch_between(const Value& before, const Value& after);

/// Drops the removals that the server would fill in again (defaults, which their manager owned because it
/// created the object): `after` is what the server made of the object without them.
void keep_removed(std::vector<FieldDifference>& differences, const Value& live, const Value& after);

/// "helm, kubectl-create".
std::string managers_words(const FieldTransfer& transfer);

}  // namespace mist::apply
