#pragma once
// Commands in hints, as they find the same cluster and release again: with the context that the user gave.
// Pure; any thread.

#include <string>
#include <string_view>

#include "cli/parse/invocation.h"
#include "release/record.h"

namespace mist::cli {

/// " --context prod --kubeconfig ./k": what the user said about the cluster, after a space; empty: nothing.
std::string cluster_words(const Invocation& invocation);

/// "mistctl recover web -n shop --context prod --undo".
std::string command_hint(const Invocation& invocation, std::string_view verb, const release::ReleaseId& id,
                         std::string_view flags = {});

}  // namespace mist::cli
