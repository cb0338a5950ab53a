#pragma once
// Whether a kind that discovery doesn't name may be served all the same. Any thread.

#include <string_view>

#include "kube/client.h"

namespace mist::kube {

/// Whether no version of a kind of that group is served, by `failure` of looking for it, and no server that
/// might serve one is down just now. False: it is served, or nobody can tell.
bool is_served_nowhere(Client& client, std::string_view group, const Error& failure, const Context& context);

}  // namespace mist::kube
