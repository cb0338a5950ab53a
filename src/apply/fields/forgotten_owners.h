#pragma once
// An object whose metadata.managedFields somebody cleared (a patch to [{}]; some tools do it for brevity).
// Its fields belong to nobody until the next apply, with which the server gives all that is there to a
// manager of its own, "before-first-apply": what we no longer want would stay for ever. The dry run of that
// apply tells what the server will give it, and with it the object is as every copy is (field_transfer.h):
// what was ours becomes ours again.

#include "apply/plan/desired.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

/// The server's name for the owner of what nobody owned (k8s.io/apimachinery, managedfields).
inline constexpr std::string_view kForgottenOwner = "before-first-apply";

/// Whether an object has no managedFields at all.
bool owners_are_forgotten(const Value& live);

/// `live` with the managers that it has after the next apply, but for `manager`, which applies. Sends one dry
/// run of an apply that names no field. As it is where the server refuses that: the real apply will say why.
/// Any thread.
Value with_known_owners(kube::Client& client, const kube::ObjectRef& ref, Value live,
                        std::string_view manager, const Context& context);

}  // namespace mist::apply
