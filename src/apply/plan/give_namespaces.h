#pragma once
// Where objects of a blueprint's functions go that name no namespace. One thread.

#include <string>

#include "kube/client.h"

namespace mist::apply {

/// Gives objects of namespaced kinds that name no namespace this one. `made`: an object, or a list of them.
/// False: a kind isn't known to the server, and may come later.
bool give_namespaces(encoding::Value& made, const std::string& ns, kube::Client& client,
                     const Context& context);

}  // namespace mist::apply
