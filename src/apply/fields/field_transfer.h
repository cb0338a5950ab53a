#pragma once
// Adopting an object means that the release describes it from now on. Its earlier manager (Helm, kubectl)
// still owns the fields that it wrote, and a field that anybody owns stays when we no longer want it: a
// container that the package never had would run for ever. So the fields of the earlier managers become ours,
// in one guarded patch of metadata.managedFields before the apply, as `kubectl apply --server-side` does with
// fields that kubectl applied before (client-go's csaupgrade) and Helm 4 with those that Helm 3 wrote; the
// apply then removes the unwanted ones. Fields that controllers own, or that were written through
// subresources (status, scale), are never touched.
//
// The same goes for copies: a backup that is restored (Velero, `kubectl create`, `kubectl replace --force`)
// recreates the objects with all their fields, and its client owns them. Fields that were ours in the
// original become ours again; those that controllers had set there stay with the copier. Pure; any thread.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apply/fields/difference.h"

namespace mist::apply {

struct FieldTransfer {
  /// Managers whose fields become ours, with the operation ("Apply" or "Update"), sorted.
  std::vector<std::pair<std::string, std::string>> managers = {};
  Value fields = {};          ///< that they own, as fieldsV1
  Value managed_fields = {};  ///< metadata.managedFields afterwards
  /// The annotation in which kubectl keeps what it applied last goes; it is of no use to anybody then.
  bool last_applied = false;
  /// Of a copy: no more than `fields` is taken of what the managers own.
  bool copied = false;
};

inline constexpr std::string_view kLastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/// Which fields are taken of an entry of metadata.managedFields, as fieldsV1; null: none.
using ChosenFields = std::function<Value(const Value& entry)>;
/// Helm and kubectl, but for what people changed by hand (kubectl-edit, kubectl-patch, …), and `named` ones.
ChosenFields predecessors_and(std::set<std::string> named);
ChosenFields only_named(std::set<std::string> named);
/// Whether another manager than ours wrote our mark, which only happens to copies.
bool is_copy(const Value& live, std::string_view manager);
/// Of a manager that wrote our mark: those of its fields that are wanted, and what was recorded and is wanted
/// no longer. `recorded`: the object as earlier revisions applied it; they outlive the result.
ChosenFields copied_of(const Value& wanted, std::vector<const Value*> recorded);
/// Those of a transfer that was planned.
ChosenFields fields_of(const FieldTransfer& transfer);

/// nullopt: there is nothing to take. `desired` as it would be applied.
std::optional<FieldTransfer> field_transfer(const Value& desired, const Value& live,
                                            const ChosenFields& chosen, std::string_view manager);

/// The object as it is after the transfer and before the apply.
Value with_transfer(Value live, const FieldTransfer& transfer);

/// The merge patch that does it, at exactly this version of this object.
Value transfer_patch(const Value& live, const FieldTransfer& transfer);

/// Names in `patch` the uid and the version of `live`: the server changes that object as it was read, or
/// answers with a conflict. Merge patches write lists as a whole, so whatever computes one from an object
/// that others write needs it.
void pin(Value& patch, const Value& live);

/// The merge patch (RFC 7386) that makes `after` of `before`; {}: they are equal.
Value merge_patch_between(const Value& before, const Value& after);

/// Drops the removals that the server would fill in again (defaults, which their manager owned because it
/// created the object): `after` is what the server made of the object without them.
void keep_removed(std::vector<FieldDifference>& differences, const Value& live, const Value& after);

/// "helm, kubectl-create".
std::string managers_words(const FieldTransfer& transfer);

}  // namespace mist::apply
