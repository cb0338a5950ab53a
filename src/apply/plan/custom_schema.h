#pragma once
// Custom resources that a release brings together with their CRDs: the server can't check them before the CRD
// is there, so they are checked here against its openAPIV3Schema, as the server will. Rules in CEL
// (x-kubernetes-validations) are left to the server. So are fields that a mutating webhook or policy may
// still change: the server calls those first. Pure but for the one function that asks a cluster; any thread.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/plan/desired.h"

namespace mist::apply {

/// Takes nulls out of custom resources whose CRDs are among `desired`, as the server does for a POST:
/// those that the schema neither allows nor has a default for. Server-side apply would refuse them.
void take_nulls_of_custom_resources(std::vector<DesiredObject>& desired);

/// Whether something may change an object, or fill in what it lacks, before the server compares it with its
/// schema. Asked only for objects that don't fit theirs.
using ChangesOnAdmission = std::function<Result<bool>(const DesiredObject&)>;
/// By the mutating webhooks and policies among `desired`, which outlives the result.
ChangesOnAdmission changes_by(const std::vector<DesiredObject>& desired);
/// And by those of the cluster. A caller who may not list these can't know, so that the server has to tell.
ChangesOnAdmission changes_by(const std::vector<DesiredObject>& desired, kube::Client& client,
                              const Context& context);

/// Whether a MutatingWebhookConfiguration or a MutatingAdmissionPolicy may change new or changed objects of
/// that resource; its selectors and conditions aren't looked at.
bool changes_on_admission(const Value& configuration, std::string_view group, std::string_view resource);

/// A value of a custom resource that its schema, or that of every object's metadata, doesn't allow: of a
/// wrong type, missing, unknown, out of bounds; or a version that the CRD doesn't have.
struct CustomResourceFault {
  const DesiredObject* object = nullptr;  ///< one of those that were looked at
  std::string crd;                        ///< name of the CustomResourceDefinition
  std::string message;                    ///< "spec.sise: the schema has no such field (did you mean size?)"
  encoding::Position position = {};

  /// With the object.
  std::string words() const;
};

/// Up to a bound for each object, in the order of `desired`. Objects whose kind is defined elsewhere are not
/// looked at. Errors of `changes`.
Result<std::vector<CustomResourceFault>> custom_resource_faults(const std::vector<DesiredObject>& desired,
                                                                const ChangesOnAdmission& changes);

/// Invalid, with file and line of each of these faults (up to a bound).
Status check_custom_resources(const std::vector<DesiredObject>& desired, const ChangesOnAdmission& changes);

}  // namespace mist::apply
