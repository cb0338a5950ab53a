#pragma once
// From rendered objects to what a release wants in the cluster: kinds resolved, namespaces filled in,
// ownership labels added, identities unique. Nothing is written here; the only requests are discovery's.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apply/fields/server_fields.h"
#include "apply/inventory.h"
#include "apply/owner.h"
#include "apply/plan/hooks.h"
#include "base/context.h"
#include "kube/client.h"

namespace mist::apply {

using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using encoding::Value;

/// Written by people on objects: changes that can't be made in place delete the object and recreate it.
inline constexpr std::string_view kReplaceAnnotation = "mistletoe.dev/replace";

/// A wanted object, ready to be applied but for the version label.
struct DesiredObject {
  RenderedObject rendered;
  kube::ResourceInfo resource;
  /// Its kind arrives with a CustomResourceDefinition or an APIService of the same release. Of the latter
  /// only the server behind it knows plural and scope: `resource.resource` is empty until it is asked
  /// (execute.h).
  bool late = false;
  ObjectKey key;
  std::optional<HookRole> hook = {};   ///< nullopt: an ordinary object
  std::vector<LeftOut> left_out = {};  ///< what was rendered and isn't applied
};

/// Invalid, with file and line: it carries what only Mistletoe writes (find_reserved()). A package
/// that could would make a release's record, with a seed that its author knows.
Status refuse_reserved(const RenderedObject& rendered);

/// Checks a rendered object without a look at the cluster. Invalid, with file and line: everything that
/// refuse_reserved() refuses, stringData that is none, waiting annotations that can't be read, two items of
/// one key in a list that is merged by key.
Status check_rendered(const RenderedObject& rendered);

/// Adds kPartOfLabel, kReleaseAnnotation and kNameLabel, fills in `release.ns` for namespaced objects, and
/// puts a Secret's stringData into its data (the server does the same, but can't compare it). Leaves out
/// fields that only servers write, and the namespace of a cluster-scoped object (DesiredObject::left_out).
/// Doesn't sort: the order of the package stays. Invalid, with file and line: one of our labels set by the
/// package; two objects with one identity (both places are named). NotFound: a kind that neither the cluster
/// nor the release defines. Objects that an APIService of the release will serve keep the namespace that the
/// package wrote, or none: place_of() fills it in.
Result<std::vector<DesiredObject>> prepare(std::vector<RenderedObject> objects, const Owner& release,
                                           kube::Client& client, const Context& context);

/// The wanted objects of a chart: its ordinary objects, and those of its hooks that run now.
struct WithHooks {
  std::vector<DesiredObject> desired;  ///< hooks that run before, ordinary objects, hooks that run after
  /// Hooks of other moments, without uids: what is there of them stays as it is.
  std::vector<InventoryItem> waiting;
};
/// prepare(), with hooks. A hook that comes before everything else may have the name of an ordinary object,
/// and one that comes after everything else that of one before it.
Result<WithHooks> prepare_with_hooks(std::vector<RenderedObject> objects,
                                     const std::vector<RenderedObject>& hooks, HookVerb verb,
                                     const Owner& release, kube::Client& client, const Context& context);

/// Looks again at `kinds`, of which observe() found that the server doesn't serve them, whatever discovery
/// said when they were prepared: what the release itself brings is late, the others are asked for again.
/// NotFound, with file and line, as prepare(); Conflict: one of them has another scope by now.
Status renew_kinds(std::vector<DesiredObject>& desired, const std::set<apimachinery::GroupKind>& kinds,
                   kube::Client& client, const Context& context);

/// The fact of an error: a kind got another scope since it was looked at.
struct OtherScope {};
/// True for such an error: with discovery invalidated, look again.
inline bool has_other_scope(const Error& failure) { return failure.detail<OtherScope>() != nullptr; }

/// prepare() and prepare_with_hooks() without a cluster (generate -r): scope is taken from what built-in
/// kinds are known to have, unknown kinds count as namespaced unless a CRD among the objects says otherwise.
Result<std::vector<DesiredObject>> prepare_offline(std::vector<RenderedObject> objects, const Owner& release);
Result<WithHooks> prepare_with_hooks_offline(std::vector<RenderedObject> objects,
                                             const std::vector<RenderedObject>& hooks, HookVerb verb,
                                             const Owner& release);

/// The object as it is sent for revision N: with kVersionLabel.
Value with_version(const RenderedObject& rendered, int revision);

}  // namespace mist::apply
