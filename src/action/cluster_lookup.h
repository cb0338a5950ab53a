#pragma once
// Answers `lookup` of charts from the cluster, within what the user granted: the release's namespace always,
// more by --allow-lookup. What is not granted is an error, never an empty answer. Any thread.

#include "render/release_renderer.h"

namespace mist::action {

using render::LookupGrant;

/// The answer to {"apiVersion", "kind", "namespace", "name"}: the object as the server gives it; null if
/// there is none; with an empty name a list ("…List" with `items`), of all namespaces if that is empty too.
/// Forbidden: not granted, or the server's refusal; Invalid: another form, or no such kind; those of Client.
Result<kube::Value> cluster_lookup(kube::Client& client, const LookupGrant& grant, const kube::Value& request,
                                   const Context& context);

}  // namespace mist::action
