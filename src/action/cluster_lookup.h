#pragma once
// Answers `lookup` of charts from the cluster, within what the user granted: the release's namespace always,
// more by --allow-lookup. What is not granted is an error, never an empty answer. Any thread.

#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "kube/client.h"

namespace mist::action {

struct LookupGrant {
  static constexpr std::string_view kEverything = "*";

  std::string ns;                 ///< of the release
  std::vector<std::string> more;  ///< other namespaces; kEverything: all of them, and what is in none
};

/// The answer to {"apiVersion", "kind", "namespace", "name"}: the object as the server gives it; null if
/// there is none; with an empty name a list ("…List" with `items`), of all namespaces if that is empty too.
/// Forbidden: not granted, or the server's refusal; Invalid: another form, or no such kind; those of Client.
Result<kube::Value> cluster_lookup(kube::Client& client, const LookupGrant& grant, const kube::Value& request,
                                   const Context& context);

}  // namespace mist::action
