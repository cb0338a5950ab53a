#pragma once
// Answers `lookup` of packages from the cluster. A release's own objects are answered always; those that its
// user let it read (render::LookupGrants) and, but of charts, its package declares, too; records of releases
// never. An object that exists and isn't granted is an error, never an empty answer; one that doesn't exist
// is answered as such, granted or not. docs/charts.md says why. Any thread.

#include "render/release_renderer.h"

namespace mist::action {

/// The answer to {"apiVersion", "kind", "namespace", "name"}: the object as the server gives it; null if
/// there is none; with an empty name a list ("…List" with `items`), of all namespaces if that is empty too.
/// Forbidden: not granted, or the server's refusal; Invalid: another form, or no such kind; those of Client.
Result<render::LookupAnswer> cluster_lookup(kube::Client& client, const render::LookupScope& scope,
                                            const package::LookupAsker& asker, const kube::Value& request,
                                            const Context& context);

}  // namespace mist::action
